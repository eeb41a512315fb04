// A list of choices beside an element: arrows go through it, Enter takes one, Escape closes it. Only one is open.
import { make } from "./explain/dom.js";

let open = null;

export function closeChoices(focus = true) {
  if (!open) return;
  const { box, anchor, leave } = open;
  open = null;
  box.remove();
  anchor.classList.remove("chosen");
  anchor.removeAttribute("aria-expanded");
  if (focus && anchor.isConnected) anchor.focus();
  leave?.();
}

// Opens an empty list that says that it waits; `fill` gives it its choices [{ label (nodes), say (its name), take }] or a sentence instead.
// `field` adds a line for words that are not in the list.
export function openChoices(anchor, title, leave = null) {
  closeChoices(false);
  const list = make("div", { class: "choices-list", role: "listbox", "aria-label": title });
  const note = make("p", { class: "note", role: "status" }, "…");
  const box = make("div", { class: "choices card" }, make("p", { class: "note choices-title" }, title), list, note);
  document.body.append(box);
  anchor.classList.add("chosen");
  anchor.setAttribute("aria-expanded", "true");
  open = { box, anchor, leave };
  place(box, anchor);

  box.addEventListener("keydown", (event) => {
    const items = [...list.children];
    const at = items.indexOf(document.activeElement);
    const next = at < 0 ? null : { ArrowDown: items[at + 1], ArrowUp: items[at - 1], Home: items[0], End: items.at(-1) }[event.key];
    if (event.key === "Escape" || (event.key === "Tab" && !box.querySelector("input"))) {
      event.preventDefault();
      closeChoices();
    } else if (next) {
      event.preventDefault();
      next.focus();
    } else if (event.key === "ArrowDown" && at < 0 && items.length) {
      event.preventDefault();
      items[0].focus();
    } else if ((event.key === "Enter" || event.key === " ") && at >= 0) {
      event.preventDefault();
      items[at].click();
    }
  });

  return {
    box,
    get stands() { return open?.box === box; },
    field(name, take) {
      const input = make("input", { type: "text", "aria-label": name, placeholder: name, autocomplete: "off", maxlength: 100 });
      const form = make("div", { class: "choice-field" }, input, make("button", { type: "button", class: "plain", click: () => ready() }, "OK"));
      const ready = () => {
        const word = input.value.trim();
        if (!word) return;
        closeChoices();
        take(word);
      };
      input.addEventListener("keydown", (event) => { if (event.key === "Enter") ready(); });
      list.before(form);
      place(box, anchor);
    },
    fill(items, sentence = "") {
      if (open?.box !== box) return;
      list.replaceChildren(...items.map(({ label, say, take, plain }) => make("div", {
        class: `choice-item${plain ? " plain-item" : ""}`, role: "option", tabindex: -1, "aria-selected": "false", "aria-label": say,
        click: () => {
          closeChoices();
          take();
        },
      }, label)));
      note.textContent = sentence;
      note.hidden = !sentence;
      place(box, anchor);
      (list.firstElementChild ?? box.querySelector("input"))?.focus();
    },
  };
}

// Below the element and inside of the window; above it, where there is more room.
function place(box, anchor) {
  const [{ left, top, bottom }, width] = [anchor.getBoundingClientRect(), document.documentElement.clientWidth];
  const { offsetWidth, offsetHeight } = box;
  const above = bottom + offsetHeight + 12 > innerHeight && top > offsetHeight + 12;
  box.style.left = `${scrollX + Math.max(8, Math.min(left - 12, width - offsetWidth - 8))}px`;
  box.style.top = `${scrollY + (above ? top - offsetHeight - 6 : bottom + 6)}px`;
}

addEventListener("pointerdown", (event) => {
  if (open && !open.box.contains(event.target) && !open.anchor.contains(event.target)) closeChoices(false);
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeChoices();
});
