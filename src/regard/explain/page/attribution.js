// Attention, occlusion and integrated gradients: three maps of the same words, and their agreement.
import { arrayOf } from "./arrays.js";
import { make } from "./dom.js";
import { exact } from "./format.js";
import { largest, matrixView } from "./matrix.js";

function mapOf(parent, title, lead, spec) {
  const box = make("figure", { class: "plain-figure" }, make("figcaption", {}, make("strong", {}, title), " ", lead));
  parent.append(box);
  matrixView(box, { label: title, ...spec });
}

export function attributionView(parent, explanation) {
  const { attribution, source, target } = explanation;
  const grid = make("div", { class: "beside" });
  parent.append(grid);
  const [attention] = Object.values(explanation.alignments);
  if (attention) {
    mapOf(grid, "Attention", "where it looks, by words", {
      rows: attention.target_words, columns: attention.source_words, scale: 1,
      value: (row, column) => attention.weights[row][column], tell: (row, column) => [["weight", attention.weights[row][column]]],
    });
  }
  for (const [field, title, lead] of [
    ["occlusion", "Occlusion", "what log p of a token loses without the word"],
    ["gradients", "Integrated gradients", "what the word’s embedding adds to log p of a token"],
  ]) {
    const values = arrayOf(attribution[field]);
    mapOf(grid, title, lead, {
      rows: target.tokens, columns: source.words, scale: largest(values.data), value: (row, column) => values.at(row, column),
      tell: (row, column) => [["change of log p", values.at(row, column)]],
    });
  }
  const rows = attribution.agreement.map(({ one, other, kendall, spearman }) => make("tr", {},
    make("th", { scope: "row" }, `${one} and ${other}`), make("td", {}, exact(kendall)), make("td", {}, exact(spearman))));
  const head = ["agreement", "Kendall’s τ", "Spearman’s ρ"].map((text) => make("th", { scope: "col" }, text));
  const gap = largest(arrayOf(attribution.gap).data);
  parent.append(
    make("div", { class: "scroll" },
      make("table", { class: "numbers agreement" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows))),
    make("p", { class: "note" }, "Mean over the words of the translation of how alike two methods rank the source words, "
      + "by absolute values, so a word that speaks against a token ranks as one that speaks for it: 1 is the same order, "
      + "0 none. A word is absent where <unk> stands in its place. Integrated gradients of a row sum to log p less its value with every word absent; "
      + `here up to ${exact(gap)} is missing, the error of the integral.`));
}
