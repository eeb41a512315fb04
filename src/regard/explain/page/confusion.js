// The confusion matrix of a classifier, as a table of counts.
import { make } from "./dom.js";
import { grouped } from "./format.js";

export function confusionView(parent, { labels, counts }) {
  const head = make("tr", {}, make("th", {}, ""), labels.map((label) => make("th", { scope: "col" }, label)));
  const rows = labels.map((label, row) => make("tr", {}, make("th", { scope: "row" }, label),
    counts[row].map((count, column) => make("td", { class: row === column ? "right" : null }, grouped(count)))));
  const table = make("table", { class: "numbers" }, make("thead", {}, head), make("tbody", {}, rows));
  parent.append(make("div", { class: "scroll" }, table));
}
