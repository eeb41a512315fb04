// The page of one sentence: reads the explanations inside of the page, and draws each part for every model, side by side.
import { alignmentView } from "./alignment.js";
import { empty, make, prose } from "./dom.js";
import { compact, exact, languageName } from "./format.js";
import { headsView } from "./heads.js";
import { masthead } from "./masthead.js";
import { matrixView } from "./matrix.js";
import { searchesView } from "./searches.js";
import { stepView } from "./step.js";

const SVG_CELLS = 2500; // an alignment of more words is drawn on a canvas
const { explanations } = JSON.parse(document.getElementById("data").textContent);

// A part of the page with its entry in the contents, for those explanations that have it. One that fails says so.
function part(id, name, title, lead, has, build) {
  const shown = explanations.filter(has);
  if (!shown.length) return;
  const columns = make("div", { class: shown.length > 1 ? "beside" : "alone" });
  const section = make("section", { id, "aria-labelledby": `${id}-title` },
    make("h2", { id: `${id}-title` }, title), make("p", { class: "lead" }, lead), columns);
  document.getElementById("main").append(section);
  document.getElementById("contents").append(make("a", { href: `#${id}` }, name));
  for (const explanation of shown) {
    const box = make("div", { class: "card" }, explanations.length > 1 && make("h3", { class: "whose" }, explanation.model.name));
    columns.append(box);
    try {
      build(box, explanation);
    } catch (error) {
      document.documentElement.dataset.error = String(error);
      console.error(error);
      box.append(empty("This part could not be drawn."));
    }
  }
}

function summary({ model, target, given, logprob }) {
  const languages = [model.source_language, model.target_language].map(languageName);
  const facts = [languages.every(Boolean) && languages.join(" → "), model.kind, `${compact(model.parameters)} parameters`];
  return make("div", { class: "card" },
    make("p", { class: "facts" }, [model.name, ...facts].filter(Boolean).join(" · ")),
    prose("p", target.text || "(nothing)", model.target_language, "story translation"),
    make("p", { class: "figures" }, make("span", {}, given ? "given, not found by a search" : "found by beam search"),
      make("span", {}, `log-probability ${exact(logprob)}`)));
}

function alignments(box, { alignments: maps }) {
  const [names, found] = [Object.keys(maps), Object.values(maps)];
  if (found[0].source_words.length * found[0].target_words.length <= SVG_CELLS) {
    alignmentView(box, found, names, "method");
    return;
  }
  const [map] = found;
  matrixView(box, {
    rows: map.target_words, columns: map.source_words, value: (row, column) => map.weights[row][column], scale: 1, label: "Alignment",
    tell: (row, column) => [["weight", map.weights[row][column]]],
  });
}

const [first] = explanations;
document.getElementById("top").append(
  masthead("explanation"), prose("h1", first.source.text, first.model.source_language, "source-text"),
  make("div", { class: explanations.length > 1 ? "beside" : "alone" }, explanations.map(summary)));

part("alignment", "Alignment", "Where each word comes from",
  "Each row is a word of the translation; the stronger a cell, the more of it comes from that source word, by the chosen method.",
  ({ alignments: maps }) => Object.keys(maps).length, alignments);
part("heads", "Heads", "Every head at a glance",
  "A small map for each head, layer by layer; choose one to see it in detail.",
  ({ attention }) => Object.keys(attention).length, headsView);
part("step", "One step", "One step in full",
  "A query is compared with every key; softmax makes weights of the scores; the weighted sum of the values is the head’s context. Blue is "
  + "positive, orange negative; point at a cell for its number.",
  ({ computation }) => Object.keys(computation).length, stepView);
part("search", "Search", "How it chose",
  "Greedy search takes the likeliest token at every step; a beam keeps several hypotheses; exact search finds the most probable of all.",
  ({ searches }) => searches.length, searchesView);

document.getElementById("foot").append("This page is one file and loads nothing from elsewhere.");
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
document.documentElement.dataset.ready = "true";
