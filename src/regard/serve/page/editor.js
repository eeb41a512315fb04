// The text that is translated: a text area over a copy of itself. The copy can mark words, which a text area cannot, and gives it its height.
import { make } from "./explain/dom.js";
import { sentencesOf, wordsOf } from "./sentences.js";

const MARKED = 20000; // characters: the words of a longer text are not marked, for each would be an element

// callbacks: input(text), point({ sentence, word } or null)
export function editor({ input, point }) {
  const area = make("textarea", {
    id: "source", class: "source", rows: 1, spellcheck: "true", autocapitalize: "sentences", "aria-label": "Text to translate",
    placeholder: "Type or paste a text, or drop a document", dir: "auto",
  });
  const copyOf = make("div", { class: "mirror", "aria-hidden": "true", dir: "auto" });
  const frame = make("div", { class: "editor" }, copyOf, area);
  let places = []; // [sentence][word] -> element
  let lit = [];

  function render() {
    [places, lit] = [[], []];
    if (area.value.length > MARKED) {
      copyOf.textContent = `${area.value}\u200b`;
      return;
    }
    const nodes = sentencesOf(area.value).flatMap(({ text, after }, sentence) => {
      let number = -1;
      places.push([]);
      const words = wordsOf(text).map(({ word, space }) => {
        if (word === undefined) return space;
        number += 1;
        const mark = make("span", { "data-sentence": sentence, "data-word": number }, word);
        places[sentence].push(mark);
        return mark;
      });
      return [...words, after];
    });
    copyOf.replaceChildren(...nodes, "\u200b"); // so that an empty last line has a height
  }

  area.addEventListener("input", () => {
    render();
    input(area.value);
  });
  area.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    const mark = document.elementsFromPoint(event.clientX, event.clientY).find((element) => element.parentElement === copyOf);
    point(mark ? { sentence: Number(mark.dataset.sentence), word: Number(mark.dataset.word) } : null);
  });
  area.addEventListener("pointerleave", () => point(null));

  return {
    frame, area,
    get text() { return area.value; },
    set(text) {
      area.value = text;
      render();
    },
    speak(code) { // the language of the text
      area.lang = code || "";
    },
    light(sentence, words) {
      for (const mark of lit) mark.classList.remove("lit");
      lit = words.map((word) => places[sentence]?.[word]).filter(Boolean);
      for (const mark of lit) mark.classList.add("lit");
    },
  };
}
