// Documents: dropped anywhere on the page, or chosen. The server translates a file and names the place of the result.
import { Refused, send } from "./client.js";
import { make } from "./explain/dom.js";

export function documents({ settings, languages, glossary, say }) {
  const formats = settings.supportedFilesFormat ?? [];
  const list = make("ul", { class: "files" });
  const chooser = make("input", {
    type: "file", id: "file", class: "unseen", accept: formats.join(","), multiple: true, tabindex: -1, "aria-hidden": "true",
    change: () => { take(chooser.files); chooser.value = ""; },
  });
  const button = make("button", { type: "button", class: "plain", id: "choose-file", click: () => chooser.click() }, "Choose a document");
  const hint = make("p", { class: "note" }, "Or drop one anywhere on this page",
    formats.length ? `: ${formats.map((one) => one.replace(/^\./, "")).join(", ")}.` : ".");
  const box = make("section", { class: "documents", "aria-label": "Documents", hidden: settings.filesTranslation === false }, button, chooser, hint, list);
  if (settings.filesTranslation === false) return box;

  const veil = make("div", { class: "veil", hidden: true }, make("p", {}, "Drop to translate"));
  document.body.append(veil);
  let depth = 0; // entered elements: leaving one for another inside of it is not leaving the page
  const withFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => { if (withFiles(event)) { depth += 1; veil.hidden = false; } });
  addEventListener("dragleave", (event) => { if (withFiles(event) && (depth -= 1) <= 0) { depth = 0; veil.hidden = true; } });
  addEventListener("dragover", (event) => { if (withFiles(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!withFiles(event)) return;
    event.preventDefault();
    [depth, veil.hidden] = [0, true];
    take(event.dataTransfer.files);
  });

  async function take(files) {
    for (const file of files) await translate(file); // one after the other: a server has other readers
  }

  async function translate(file) {
    const [source, target] = languages();
    const control = new AbortController();
    const state = make("span", { class: "note" }, "translating…");
    const stop = make("button", { type: "button", class: "plain", "aria-label": `Stop ${file.name}`, click: () => control.abort() }, "Stop");
    const row = make("li", {}, make("bdi", { class: "file-name" }, file.name), " ", state, " ", stop);
    list.prepend(row);
    try {
      const { translatedFileUrl: url } = await send("/translate_file", file, { source, target, ...(glossary() ? { glossary: glossary() } : {}) }, control.signal);
      const place = new URL(url, location.href);
      state.replaceWith(make("a", { href: place.pathname, download: nameOf(file.name, target) }, nameOf(file.name, target)));
      say("");
    } catch (error) {
      if (error instanceof Refused) state.textContent = error.message;
      else if (error.name === "AbortError") state.textContent = "stopped";
      else throw error;
      state.classList.add("refused");
    } finally {
      stop.remove();
    }
  }

  return box;
}

// "letter.docx" in German is "letter.de.docx".
function nameOf(name, language) {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? `${name.slice(0, dot)}.${language}${name.slice(dot)}` : `${name}.${language}`;
}
