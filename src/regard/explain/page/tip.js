// A tooltip that follows the pointer or the keyboard focus. It takes no clicks.

const box = document.getElementById("tip");
box.setAttribute("role", "status");
box.setAttribute("aria-live", "polite");

// Shows `content` (elements or strings) beside a point, inside the window.
export function showTip(x, y, ...content) {
  box.replaceChildren(...content);
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const left = x + 16 + width > innerWidth - 8 ? x - 16 - width : x + 16;
  box.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  box.style.top = `${Math.max(8, Math.min(y + 14, innerHeight - height - 8))}px`;
}

export function hideTip() {
  box.hidden = true;
}

addEventListener("scroll", hideTip, { passive: true });
addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
});
