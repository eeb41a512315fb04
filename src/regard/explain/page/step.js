// One attention step in full: query, keys, scores, weights, context, and the output of all heads.
import { arrayOf } from "./arrays.js";
import { make } from "./dom.js";
import { exact } from "./format.js";
import { ATTENTIONS, choice, kindsOf, labelsOf } from "./heads.js";
import { largest, strip } from "./matrix.js";

const FORMULAS = {
  scaled_dot: "q · k / √d", dot: "q · k", parameter_free: "q · k", general: "q · k (q mapped by W)", additive: "v · tanh(q + k)",
  concat: "v · tanh(q + k)", cosine: "b cos(q, k)", location: "number of the query for this place", mahalanobis: "−½ |q − k|²",
  gaussian: "−|q − k|² / 2σ²", latent: "q · k in few dimensions",
};

function chooser(label, count, name, change) {
  const select = make("select", { "aria-label": label, change: (event) => change(Number(event.target.value)) });
  for (let index = 0; index < count; index += 1) select.append(make("option", { value: index }, name(index)));
  return select;
}

function bar(share) {
  return make("i", { class: "share", style: `--share: ${(100 * share).toFixed(2)}%` });
}

export function stepView(parent, explanation) {
  const kinds = kindsOf(explanation).filter((kind) => explanation.computation[kind]);
  let [kind, layer, head, row] = [kinds[0], 0, 0, 0];
  const controls = make("div", { class: "bar wraps" });
  const body = make("div", {});
  parent.append(controls, body);

  function chooseKind(next) {
    kind = next;
    const steps = explanation.computation[kind];
    const [layers, heads] = arrayOf(steps.scores).shape;
    const { rows } = labelsOf(explanation, kind);
    [layer, head, row] = [layers - 1, 0, Math.min(row, rows.length - 1)];
    const layerChooser = chooser("layer", layers, (index) => `layer ${steps.layers[index] + 1}`, (value) => { layer = value; render(); });
    layerChooser.value = String(layer);
    const rowChooser = chooser("step", rows.length, (index) => `${index + 1}. ${rows[index]}`, (value) => { row = value; render(); });
    rowChooser.value = String(row);
    controls.replaceChildren(
      choice(kinds.map((one) => [one, ATTENTIONS[one].name]), kind, chooseKind, "attention of the step"),
      rowChooser, layerChooser, chooser("head", heads, (index) => `head ${index + 1}`, (value) => { head = value; render(); }));
    render();
  }

  function render() {
    const steps = explanation.computation[kind];
    const part = Object.fromEntries(["query", "keys", "values", "scores", "masked", "context"].map((name) => [name, arrayOf(steps[name])]));
    const weights = arrayOf(explanation.attention[kind]);
    const { columns, rows } = labelsOf(explanation, kind);
    const [keyScale, valueScale] = [largest(part.keys.at(layer, head)), largest(part.values.at(layer, head))];
    const lines = columns.map((token, key) => {
      const [score, masked] = [part.scores.at(layer, head, row, key), part.masked.at(layer, head, row, key)];
      const weight = weights.at(steps.layers[layer], head, row, key);
      return make("tr", { class: masked === -Infinity && "hidden-key" },
        make("th", { scope: "row" }, make("bdi", {}, token)),
        make("td", {}, strip(part.keys.at(layer, head, key), `key of ${token}`, keyScale, 3)),
        make("td", { class: "number" }, exact(score)),
        make("td", { class: "number" }, masked === -Infinity ? "−∞" : exact(masked)),
        make("td", { class: "number weight" }, exact(weight)), make("td", { class: "bar-cell" }, bar(weight)),
        make("td", {}, strip(part.values.at(layer, head, key), `value of ${token}`, valueScale, 3)));
    });
    const headings = ["", "key k", FORMULAS[explanation.model.score] ?? "score", "with mask", "softmax", "", "value v"]
      .map((text, index) => make("th", { scope: "col", class: index > 1 && index < 5 && "number" }, text));
    const chain = [
      line("q", "query", part.query.at(layer, head, row)),
      make("div", { class: "scroll" },
        make("table", { class: "step-table" }, make("thead", {}, make("tr", {}, headings)), make("tbody", {}, lines))),
      line("Σ weight · v", "context of this head", part.context.at(layer, head, row)),
      steps.joined && line("concatenation", "the contexts of all heads", arrayOf(steps.joined).at(layer, row)),
      steps.output && line("output", "concatenation times W_O", arrayOf(steps.output).at(layer, row)),
    ];
    body.replaceChildren(...chain.filter(Boolean), ...(kind === "encoder" ? [] : [distribution(rows[row])]));
  }

  function line(name, what, values) {
    return make("div", { class: "step-line" },
      make("span", { class: "name" }, name), make("span", { class: "scroll" }, strip(values, `${name}: ${what}`)),
      make("span", { class: "note" }, `${what}, ${values.length} numbers, the largest ${exact(largest(values))}`));
  }

  function distribution(token) {
    const { outputs } = explanation;
    const probabilities = arrayOf(outputs.probabilities);
    const lines = outputs.tokens[row].map((piece, rank) => make("tr", { class: piece === token && "right" },
      make("th", { scope: "row" }, make("bdi", {}, piece)), make("td", { class: "number" }, exact(probabilities.at(row, rank))),
      make("td", { class: "bar-cell" }, bar(probabilities.at(row, rank)))));
    return make("div", {}, make("h3", {}, "Output distribution"),
      make("p", { class: "note" }, "“", make("bdi", {}, token), `” was said, with probability ${exact(arrayOf(outputs.said).at(row))}.`),
      make("table", { class: "step-table outputs" }, make("tbody", {}, lines)));
  }

  chooseKind(kind);
}
