// The transition matrix of a Markov model, as a table of probabilities.
import { make } from "./dom.js";
import { exact, grouped } from "./format.js";

// At most two decimals: .33, and <.01 for less than that.
function shortly(probability) {
  if (probability === 0 || probability >= 0.995) return String(Math.round(probability));
  return probability < 0.005 ? "<.01" : probability.toFixed(2).replace(/^0/, "").replace(/0$/, "");
}

export function transitionsView(parent, { contexts, tokens, probabilities, masked, all_contexts: allContexts, all_tokens: allTokens }) {
  const head = make("tr", {}, make("th", {}, ""), tokens.map((token) => make("th", { scope: "col" }, make("bdi", {}, token))));
  const cell = (context, token, probability) => make("td", {
    class: probability === 0 ? "nothing" : null, style: `--p: ${(100 * probability).toFixed(1)}%`,
    title: `p(${token} after ${context}) = ${exact(probability)}`,
  }, shortly(probability));
  const rows = contexts.map((context, row) => make("tr", { class: masked[row] ? "hidden-key" : null },
    make("th", { scope: "row" }, make("bdi", {}, context)), tokens.map((token, column) => cell(context, token, probabilities[row][column]))));
  parent.append(make("div", { class: "scroll" },
    make("table", { class: "numbers transitions" }, make("thead", {}, head), make("tbody", {}, rows))));
  const parts = [];
  if (contexts.length < allContexts) parts.push(`the ${contexts.length} most frequent of ${grouped(allContexts)} rows`);
  if (tokens.length < allTokens) parts.push(`the ${tokens.length} most frequent of ${grouped(allTokens)} columns`);
  const notes = [
    parts.length ? `Shown are ${parts.join(" and ")}.` : "",
    masked.some(Boolean) ? "A pale row is a masked pair, which has no vote." : "",
  ];
  parent.append(make("p", { class: "note" }, notes.filter(Boolean).join(" ")));
}
