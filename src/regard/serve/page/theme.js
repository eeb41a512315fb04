// Before anything is drawn: report what goes wrong on the root element, and choose dark or light. Not a module, so that it runs first.
(() => {
  const root = document.documentElement;
  addEventListener("error", (event) => { root.dataset.error = event.message; });
  addEventListener("unhandledrejection", (event) => { root.dataset.error = String(event.reason); });
  addEventListener("securitypolicyviolation", (event) => { root.dataset.error = `${event.violatedDirective}: ${event.blockedURI}`; });
  let kept = null;
  try { kept = localStorage.getItem("regard-theme"); } catch { /* storage may be forbidden: the choice lasts as long as the page */ }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => { if (!root.dataset.chosen) root.dataset.theme = dark.matches ? "dark" : "light"; };
  if (kept === "dark" || kept === "light") { root.dataset.theme = kept; root.dataset.chosen = "true"; }
  dark.addEventListener("change", follow);
  follow();
})();
