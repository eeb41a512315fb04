// The reader's glossary: a short list of terms for each pair of languages, kept in this browser and sent with every text.
import { make } from "./explain/dom.js";

const STORE = "regard-terms";
const WORD = /[\p{L}\p{N}]/u;

// The stored lists; null where nothing may be stored.
function stored() {
  let text;
  try { text = localStorage.getItem(STORE) ?? "{}"; } catch { return null; }
  try {
    const found = JSON.parse(text);
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch { return {}; /* it holds something else */ }
}

const isRow = (row) => Array.isArray(row) && row.length === 2 && row.every((text) => typeof text === "string");
const formsOf = (text) => [...new Set(text.split("|").map((form) => form.trim()).filter(Boolean))];

// change(): called when the terms that count have changed. What the server allows in a request: most terms (0: none), each with at most
// `forms` translations; `longest`: characters of a term and of a translation.
export function termList({ change, most, longest, forms: mostForms }) {
  const fits = (text) => WORD.test(text) && text.length <= longest;
  const fitsAll = (forms) => forms.length > 0 && forms.length <= mostForms && forms.every(fits);
  const isWhole = ([term, said]) => fits(term.trim()) && fitsAll(formsOf(said));

  let pair = null;
  let rows = []; // [term, its translations as they were typed]
  let kept = stored() ?? {}; // pair -> rows; lasts as long as the page where nothing may be stored
  let stores = true; // until storage is full or refused
  let told = "[]";
  let timer = null;

  const list = make("ul", { class: "term-rows" });
  const count = make("span", { class: "note" });
  const wrong = make("p", { class: "note refused", id: "wrong-term", role: "status", hidden: true },
    `What is marked is not used: a term, and each translation, has a letter or a digit and at most ${longest} characters; a term has at most ${mostForms} translations.`);
  const add = make("button", { type: "button", class: "plain", id: "add-term", click: () => { append(["", ""]).focus(); } }, "Add a term");
  const box = make("details", { class: "terms card", hidden: most === 0 },
    make("summary", {}, "Terms ", count),
    make("p", { class: "note" }, "Words with a fixed translation, for these two languages. Several translations: put | between them, the best one first. The list stays in this browser."),
    list, wrong, add);

  const glossary = () => rows.filter(isWhole).slice(0, most).map(([term, said]) => [term.trim(), formsOf(said)]);

  function keep() {
    reread();
    kept = Object.fromEntries([...Object.entries(kept).filter(([one]) => one !== pair), ...(rows.some(isFilled) ? [[pair, rows.filter(isFilled)]] : [])]);
    try { localStorage.setItem(STORE, JSON.stringify(kept)); } catch { stores = false; /* the list lasts as long as the page */ }
    tell(300);
  }

  // Another tab may have changed or emptied another pair.
  function reread() {
    if (stores) kept = stored() ?? kept;
  }

  const isFilled = (row) => row.some((text) => text.trim());

  // What is beside the rows: how many count, whether one is wrong, whether there is room for another.
  function look() {
    const number = glossary().length;
    count.textContent = number ? `(${number})` : "";
    wrong.hidden = !list.querySelector("[aria-invalid='true']");
    add.disabled = pair === null || rows.length >= most;
  }

  function tell(pause) {
    look();
    clearTimeout(timer);
    const now = JSON.stringify([pair, glossary()]);
    if (now === told) return;
    timer = setTimeout(() => {
      told = now;
      change();
    }, pause);
  }

  function append(row) {
    rows.push(row);
    const [term, said] = ["Term", "Its translation"].map((name, side) => make("input", {
      type: "text", class: "term", "aria-label": name, placeholder: name, autocomplete: "off", spellcheck: "false", dir: "auto", "aria-describedby": "wrong-term",
      maxlength: side ? (longest + 1) * mostForms : longest, value: row[side],
    }));
    [term, said].forEach((input, side) => {
      input.addEventListener("input", () => {
        row[side] = input.value;
        mark();
        keep();
      });
      input.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.isComposing) return;
        event.preventDefault();
        if (side === 0) said.focus();
        else (item.nextElementSibling?.querySelector("input") ?? (add.disabled ? add : append(["", ""]))).focus();
      });
    });
    const mark = () => { // what is half typed is not wrong yet
      for (const [input, right] of [[term, fits(term.value.trim())], [said, fitsAll(formsOf(said.value))]]) {
        input.setAttribute("aria-invalid", String(input.value.trim() !== "" && !right));
      }
      remove.setAttribute("aria-label", `Remove ${term.value.trim() || "this term"}`);
    };
    const remove = make("button", { type: "button", class: "round small", title: "Remove", click: () => {
      const next = item.nextElementSibling?.querySelector("input") ?? item.previousElementSibling?.querySelector("input") ?? add;
      rows.splice(rows.indexOf(row), 1);
      item.remove();
      next.focus();
      keep();
    } }, "×");
    const item = make("li", {}, term, make("span", { class: "note arrow", "aria-hidden": "true" }, "→"), said, remove);
    mark();
    list.append(item);
    add.disabled = rows.length >= most;
    return term;
  }

  return {
    box, glossary,
    // Shows the terms of a pair of languages. Without a source language there are none yet.
    show(source, target) {
      const next = source && target ? `${source}-${target}` : null;
      if (next === pair) return;
      pair = next;
      rows = [];
      reread();
      list.replaceChildren();
      box.classList.toggle("waiting", pair === null);
      const own = pair === null ? [] : (Array.isArray(kept[pair]) ? kept[pair] : []).filter(isRow).slice(0, most);
      for (const row of own.length || pair === null ? own : [["", ""]]) append([...row]);
      look();
      told = JSON.stringify([pair, glossary()]);
      clearTimeout(timer);
    },
    // As the lines of a file, for documents.
    get lines() { return glossary().map(([term, said]) => `${term}\t${said.join("|")}`).join("\n"); },
  };
}
