// The parts of the explanation of a picture's label.
import { arrayOf } from "./arrays.js";
import { make } from "./dom.js";
import { exact } from "./format.js";
import { withCaption, mapView, picture } from "./maps.js";

function largestOf(values) {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

function section(parent, title, lead, ...content) {
  parent.append(make("section", {}, make("h2", {}, title), make("p", { class: "lead" }, lead), make("div", { class: "card" }, ...content.flat())));
}

function labels(probabilities, label) {
  const ranked = Object.entries(probabilities).sort((one, other) => other[1] - one[1]).slice(0, 10);
  return make("table", { class: "numbers bars" }, make("tbody", {}, ranked.map(([name, value]) => make("tr", {},
    make("th", { scope: "row" }, name),
    make("td", { class: "barcell" }, make("span", { class: name === label ? "share-bar chosen" : "share-bar", style: `width:${Math.max(1, 240 * value)}px` })),
    make("td", {}, `${(100 * value).toFixed(2)} %`)))));
}

// What the network read, what it said, where it looked, and which patches matter.
export function pictureView(parent, one) {
  const occlusion = arrayOf(one.occlusion);
  const [rows, columns] = occlusion.shape;
  const base = { png: one.png, name: one.picture, size: one.size, rows, columns };
  const share = (value) => `${(100 * value).toFixed(2)} % of the attention`;
  const map = (packed, places, side) => {
    const values = Array.from(places.length ? arrayOf(packed).at(...places) : arrayOf(packed).data);
    return mapView({ ...base, values, scale: largestOf(values), side, tell: share });
  };
  section(parent, "What it said", `The picture as the network reads it, ${one.size[0]} x ${one.size[1]} pixels in ${rows} x ${columns} patches.`,
    make("div", { class: "maprow" }, picture(one.png, one.picture, 168), labels(one.probabilities, one.label)));
  const fall = Array.from(occlusion.data);
  section(parent, "What matters", `How much the log-probability of “${one.label}” falls when a patch is blanked: red patches speak for it, blue ones `
    + "against it. This asks the network itself; attention says only where it looks.",
    make("div", { class: "maprow" }, withCaption(mapView({ ...base, values: fall, scale: largestOf(fall), side: 224,
      tell: (value) => `${exact(value)} nats` }), "occlusion, patch by patch")));
  const looked = [];
  if (one.rollout) looked.push(withCaption(map(one.rollout, [], 224), "rollout: all layers joined"));
  if (one.pooling) looked.push(withCaption(map(one.pooling, [], 224), "attention pooling"));
  if (looked.length) {
    section(parent, "Where it looks", "Rollout multiplies the attention of all layers, with the residual connections counted as half. "
      + "The colours of each map are of its own largest value.", make("div", { class: "maprow" }, looked));
  }
  if (one.heads) {
    const [layers, heads] = one.heads.shape;
    const lines = Array.from({ length: layers }, (_, layer) => make("div", { class: "maprow" },
      Array.from({ length: heads }, (__, head) => withCaption(map(one.heads, [layer, head], 132), `layer ${layer + 1}, head ${head + 1}`))));
    section(parent, "Every head", "What each head alone carries from the patches to the vector of the picture.", lines);
  }
}
