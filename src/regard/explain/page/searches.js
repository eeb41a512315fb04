// Greedy, beam and exact search side by side, and the tree of each.
import { treeView } from "./tree.js";
import { make, prose } from "./dom.js";
import { exact, grouped } from "./format.js";

function proof({ nodes, proved }) {
  return `${proved ? "nothing is more probable" : "not proved: the limit was met"}, ${grouped(nodes)} nodes`;
}

function size({ tree, nodes }) {
  const continued = tree.nodes.filter((node) => node.hopeful !== null).length; // 0 for a search without a bound
  if (nodes !== null && continued < nodes) return `${grouped(continued)} of ${grouped(nodes)} nodes`;
  return `${grouped(tree.nodes.length)} hypotheses`;
}

export function searchesView(parent, explanation) {
  const rows = explanation.searches.map((search) => make("tr", { class: search.name },
    make("th", { scope: "row" }, search.name),
    make("td", {}, prose("span", search.text, explanation.model.target_language, "sentence"), !search.finished && " (cut)",
      search.nodes !== null && make("div", { class: "note" }, proof(search))),
    make("td", { class: "number" }, exact(search.logprob)), make("td", { class: "number" }, exact(search.score))));
  const head = ["", "translation", "log p", "score"].map((text, index) => make("th", { scope: "col", class: index > 1 && "number" }, text));
  const table = make("table", { class: "searches" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows));
  parent.append(make("div", { class: "scroll" }, table));
  for (const search of explanation.searches) {
    const tree = make("div", {});
    const details = make("details", { class: `tree-details ${search.name}`, toggle: () => {
      if (details.open && !tree.hasChildNodes()) treeView(tree, search.tree); // large trees are drawn when they are opened
    } }, make("summary", {}, `The tree of ${search.name} search: ${size(search)}`), tree);
    parent.append(details);
  }
}
