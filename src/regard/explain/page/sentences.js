// Sentences beside their references: samples over training, and the worst and best results.
import { make, prose, shorten } from "./dom.js";
import { exact, grouped } from "./format.js";

const DIFF_CELLS = 1e6; // above this the table of the diff is too slow

// For each word of two texts whether the other has it too, in the same order (longest common subsequence).
export function compareWords(left, right) {
  const [a, b] = [left.split(/\s+/).filter(Boolean), right.split(/\s+/).filter(Boolean)];
  const result = { left: a.map((word) => ({ word, same: true })), right: b.map((word) => ({ word, same: true })) };
  if (left === right || a.length * b.length > DIFF_CELLS) return result;
  const columns = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * columns);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const apart = Math.max(longest[(i + 1) * columns + j], longest[i * columns + j + 1]);
      longest[i * columns + j] = a[i] === b[j] ? longest[(i + 1) * columns + j + 1] + 1 : apart;
    }
  }
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) [i, j] = [i + 1, j + 1];
    else if (j >= b.length) result.left[i++].same = false;
    else if (i < a.length && longest[(i + 1) * columns + j] >= longest[i * columns + j + 1]) result.left[i++].same = false;
    else result.right[j++].same = false;
  }
  return result;
}

// A sentence with the words marked that the other one lacks.
export function marked(words, className, language) {
  const line = make("span", { class: "sentence", dir: "auto", lang: language });
  if (words.length === 0) line.append(make("em", { class: "nothing" }, "(nothing)"));
  words.forEach(({ word, same }, index) => line.append(index ? " " : "", same ? word : make("mark", { class: className }, word)));
  return line;
}

function row(label, sentence) {
  return [make("dt", {}, label), make("dd", {}, sentence)];
}

// A list of sentences with their differences from the references.
export function sentenceList(parent, sentences, languages) {
  const items = sentences.map((sentence) => {
    const words = compareWords(sentence.hypothesis, sentence.reference);
    const same = sentence.hypothesis === sentence.reference;
    const reference = same ? make("span", { class: "same" }, "the same") : marked(words.right, "missing", languages.target);
    const figures = [`chrF ${exact(sentence.chrf)}`, `score ${exact(sentence.score)}`];
    return make("li", { class: "card sentence-card" },
      make("dl", {},
        row("source", prose("span", sentence.source, languages.source, "sentence")),
        row("output", marked(words.left, "wrong", languages.target)),
        row("reference", reference)),
      make("p", { class: "figures" }, figures.map((text) => make("span", {}, text))));
  });
  parent.append(make("ol", { class: "sentences" }, items));
}

// For every sample sentence: the attempts, from the first validation to the last.
export function samplesView(parent, samples, languages) {
  samples.forEach((sample, index) => {
    const attempts = sample.attempts.map(({ first, last, hypothesis }) => {
      const words = compareWords(hypothesis, sample.reference);
      const right = hypothesis === sample.reference;
      const when = first === last ? grouped(first) : `${grouped(first)} – ${grouped(last)}`;
      const tickMark = right && make("span", { class: "tick-mark", title: "equal to the reference" }, " ✓");
      return make("tr", {},
        make("th", { scope: "row" }, when), make("td", {}, marked(words.left, "wrong", languages.target), tickMark));
    });
    const head = ["step", "what the model said"].map((title) => make("th", { scope: "col" }, title));
    const table = make("table", { class: "attempts" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, attempts));
    const summary = make("summary", {}, prose("span", shorten(sample.source, 160), languages.source, "sentence"));
    const reference = make("p", { class: "reference" },
      make("span", { class: "label" }, "reference "), prose("span", sample.reference, languages.target, "sentence"));
    parent.append(make("details", { class: "card", open: index < 3 }, summary, reference, table));
  });
}
