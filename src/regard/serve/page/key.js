// The form for the key of a server that asks for one: Enter uses it.
import { useKey } from "./client.js";
import { make } from "./explain/dom.js";

let tried = false; // a key has just been used, and nothing has been shown since

// used(): called when there is a key. Where the key before was refused, the reader is back in the field.
export function keyForm(used) {
  const field = make("input", { id: "key", type: "password", autocomplete: "off", "aria-label": "API key", placeholder: "API key" });
  const form = make("form", { class: "key-form", submit: (event) => {
    event.preventDefault();
    const key = field.value.trim();
    if (!key) {
      field.focus();
      return;
    }
    tried = true;
    useKey(key);
    used();
  } }, field, make("button", { type: "submit" }, "Use"));
  if (tried) requestAnimationFrame(() => field.focus()); // when it stands on the page
  tried = false;
  return form;
}
