// The label of a text, as it is typed.
import { make } from "./explain/dom.js";
import { arrayOf } from "./explain/arrays.js";
import { explanationOf, refusedBox } from "./views.js";

export function labelColumn(model, _change, named) {
  const body = make("div", {});
  const box = make("section", { class: "card live", "aria-label": model.name }, make("div", { class: "head" }, make("h2", { hidden: !named }, model.name)), body);

  async function run(state, signal) {
    if (!state.text.trim()) {
      body.replaceChildren(make("p", { class: "note" }, "Type a text, and see its label."));
      return null;
    }
    try {
      const { target, outputs } = await explanationOf(state, model, "heads", null, signal);
      if (signal.aborted) return null;
      const values = arrayOf(outputs.probabilities);
      body.replaceChildren(make("p", { class: "grown" }, target.text), bars(outputs.tokens[0].map((label, rank) => [label, values.at(0, rank)])));
    } catch (error) {
      if (signal.aborted) return null;
      body.replaceChildren(refusedBox(error));
      throw error;
    }
    return null;
  }

  return { box, run };
}

function bars(labels) {
  return make("table", { class: "numbers bars" }, make("tbody", {}, labels.map(([label, value], rank) => make("tr", {},
    make("th", { scope: "row" }, label),
    make("td", { class: "barcell" }, make("span", { class: rank ? "share-bar" : "share-bar chosen", style: `width:${Math.max(1, 240 * value)}px` })),
    make("td", {}, `${(100 * value).toFixed(2)} %`)))));
}
