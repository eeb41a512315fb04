// Greedy, beam and exact search side by side, and the tree of the beam.
import { beamView } from "./beam.js";
import { make, prose } from "./dom.js";
import { exact, grouped } from "./format.js";

function proof({ nodes, proved }) {
  if (nodes === null) return "";
  return `${proved ? "nothing is more probable" : "not proved: the limit was met"}, ${grouped(nodes)} nodes`;
}

export function searchesView(parent, explanation) {
  const rows = explanation.searches.map((search) => make("tr", { class: search.name },
    make("th", { scope: "row" }, search.name),
    make("td", {}, prose("span", search.text, explanation.model.target_language, "sentence"), !search.finished && " (cut)"),
    make("td", { class: "number" }, exact(search.logprob)), make("td", { class: "number" }, exact(search.score)),
    make("td", { class: "proof" }, proof(search))));
  const head = ["", "translation", "log p", "score", ""].map((text) => make("th", { scope: "col" }, text));
  const table = make("table", { class: "searches" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows));
  parent.append(make("div", { class: "scroll" }, table));
  for (const search of explanation.searches.filter((one) => one.tree)) {
    const tree = make("div", {});
    const details = make("details", { class: "tree-details", toggle: () => {
      if (details.open && !tree.hasChildNodes()) beamView(tree, search.tree); // thousands of nodes: drawn when they are looked at
    } }, make("summary", {}, `The tree of the ${search.name}: ${grouped(search.tree.nodes.length)} hypotheses`), tree);
    parent.append(details);
  }
}
