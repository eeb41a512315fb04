// The header of every page: title, kind of page, and the dark or light switch.
import { draw, make } from "./dom.js";

function eye() {
  const lid = "M2 10C8 1.5 24 1.5 30 10C24 18.5 8 18.5 2 10Z";
  return draw("svg", { class: "eye", viewBox: "0 0 32 20", width: 32, height: 20, "aria-hidden": "true" },
    draw("path", { d: lid, fill: "none", stroke: "currentColor", "stroke-width": 2 }),
    draw("circle", { cx: 16, cy: 10, r: 4.6, fill: "currentColor" }));
}

function themeButton() {
  const root = document.documentElement;
  const flip = () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    root.dataset.chosen = "true";
    try {
      localStorage.setItem("regard-theme", root.dataset.theme);
    } catch {
      // a file opened from disk may have no storage: the choice lasts as long as the page
    }
  };
  const icon = draw("svg", { viewBox: "0 0 20 20", width: 18, height: 18, "aria-hidden": "true" },
    draw("circle", { cx: 10, cy: 10, r: 7.5, fill: "none", stroke: "currentColor", "stroke-width": 1.5 }),
    draw("path", { d: "M10 2.5a7.5 7.5 0 0 1 0 15z", fill: "currentColor" }));
  const name = "Dark or light";
  return make("button", { type: "button", class: "theme", "aria-label": name, title: name, click: flip }, icon);
}

export function masthead(kind) {
  return make("div", { class: "brand" },
    eye(), make("span", {}, "regard"), make("span", { class: "kind" }, kind), themeButton());
}
