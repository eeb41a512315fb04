// The pictures of a classifier's report: the wrong ones, the confusion matrix with a picture in each cell, and what the network saw.
import { arrayOf } from "./arrays.js";
import { make } from "./dom.js";
import { exact, grouped } from "./format.js";
import { withCaption, mapView, picture } from "./maps.js";

const THUMBNAIL = 40;

export function worstPictures(parent, worst) {
  parent.append(make("div", { class: "maprow" }, worst.map((one) => make("figure", { class: "mapfigure" },
    picture(one.png, one.picture, 96),
    make("figcaption", {}, make("span", { class: "wrong" }, one.found), ` ${(100 * one.probability).toFixed(0)} %`, make("br"),
      "is ", make("span", { class: "right" }, one.expected), ` ${(100 * one.probability_of_expected).toFixed(1)} %`)))));
}

export function picturedConfusion(parent, { labels, counts }, cells) {
  const cell = (count, row, column) => {
    const one = cells[`${row},${column}`];
    return make("td", { class: row === column ? "right" : null }, one && picture(one.png, `${one.picture}: ${one.expected}, taken for ${one.found}`, THUMBNAIL),
      make("div", {}, count ? grouped(count) : make("span", { class: "none" }, "0")));
  };
  const head = make("tr", {}, make("th", {}, ""), labels.map((label) => make("th", { scope: "col" }, label)));
  const rows = labels.map((label, row) => make("tr", {}, make("th", { scope: "row" }, label),
    counts[row].map((count, column) => cell(count, row, column))));
  parent.append(make("div", { class: "scroll" },
    make("table", { class: "numbers pictured" }, make("thead", {}, head), make("tbody", {}, rows))));
}

export function explainedPictures(parent, explained) {
  for (const one of explained) {
    const occlusion = arrayOf(one.occlusion);
    const [rows, columns] = occlusion.shape;
    const base = { png: one.png, name: one.picture, size: one.size, rows, columns, side: 132 };
    const most = (values) => values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
    const map = (packed, tell) => {
      const values = Array.from(arrayOf(packed).data);
      return mapView({ ...base, values, scale: most(values), tell });
    };
    parent.append(make("div", { class: "maprow" }, withCaption(picture(one.png, one.picture, 132), `taken for “${one.predicted}”`),
      withCaption(map(one.occlusion, (value) => `${exact(value)} nats`), "what matters (occlusion)"),
      one.rollout && withCaption(map(one.rollout, (value) => `${(100 * value).toFixed(2)} %`), "where it looks (rollout)"),
      one.pooling && withCaption(map(one.pooling, (value) => `${(100 * value).toFixed(2)} %`), "attention pooling")));
  }
}
