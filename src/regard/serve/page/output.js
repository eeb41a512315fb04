// The translation: sentences of words that can be pointed at and chosen. The words of a sentence that did not change stay the same elements.
import { make } from "./explain/dom.js";
import { wordsOf } from "./sentences.js";

// callbacks: point({ sentence, word } or null), choose({ sentence, word }, element)
export function output({ point, choose }) {
  const box = make("div", { id: "translation", class: "translated", role: "group", "aria-label": "Translation", dir: "auto" });
  let rows = []; // of sentences: { text, element, words }
  let lit = [];

  function rowOf(text, after, sentence) {
    const words = [];
    const nodes = wordsOf(text).map(({ word, space }) => {
      if (word === undefined) return space;
      const mark = make("span", {
        class: "says", role: "button", tabindex: -1, "aria-haspopup": "listbox", "data-sentence": sentence, "data-word": words.length,
      }, word);
      words.push(mark);
      return mark;
    });
    return { text, after, words, element: make("span", { class: "sentence-out" }, nodes, after) };
  }

  const placeOf = (target) => {
    const mark = target.closest?.(".says");
    return mark && box.contains(mark) ? { sentence: Number(mark.dataset.sentence), word: Number(mark.dataset.word), mark } : null;
  };
  box.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "touch") point(placeOf(event.target));
  });
  box.addEventListener("pointerleave", () => point(null));
  box.addEventListener("focusin", (event) => point(placeOf(event.target)));
  box.addEventListener("focusout", () => point(null));
  box.addEventListener("click", (event) => {
    const place = placeOf(event.target);
    if (place) choose(place, place.mark);
  });
  box.addEventListener("keydown", (event) => {
    const place = placeOf(event.target);
    if (!place) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(place, place.mark);
      return;
    }
    const all = rows.flatMap(({ words }) => words);
    const at = all.indexOf(place.mark);
    const next = { ArrowRight: all[at + 1], ArrowDown: all[at + 1], ArrowLeft: all[at - 1], ArrowUp: all[at - 1], Home: all[0], End: all.at(-1) }[event.key];
    if (!next) return;
    event.preventDefault();
    reach(next);
    next.focus();
  });

  // One word of all can be reached by the tab key; the arrows go on from there.
  function reach(mark) {
    box.querySelector('.says[tabindex="0"]')?.setAttribute("tabindex", "-1");
    mark?.setAttribute("tabindex", "0");
  }

  return {
    box,
    // sentences: [{ text, after }]
    show(sentences) {
      rows = sentences.map(({ text, after }, number) => {
        const old = rows[number];
        return old && old.text === text && old.after === after ? old : rowOf(text, after, number);
      });
      box.replaceChildren(...rows.map(({ element }) => element));
      if (!box.querySelector('.says[tabindex="0"]')) reach(rows[0]?.words[0]);
      lit = [];
    },
    speak(code) { box.lang = code || ""; },
    get text() { return rows.map(({ text, after }) => text + after).join(""); },
    sentence(number) { return rows[number]?.text ?? ""; },
    word(sentence, word) { return rows[sentence]?.words[word]; },
    light(sentence, words) {
      for (const mark of lit) mark.classList.remove("lit");
      lit = words.map((word) => rows[sentence]?.words[word]).filter(Boolean);
      for (const mark of lit) mark.classList.add("lit");
    },
  };
}
