// Word maps: a copy of the picture for each word, the patches as strong as the attention of the word to them.
import { arrayOf } from "./arrays.js";
import { draw, make } from "./dom.js";
import { exact } from "./format.js";
import { mapView, picture, withCaption } from "./maps.js";

const MAP_SIDE = 132; // pixels across

// The patch of the largest weight and the gold boxes [top, left, bottom, right], in pixels of the picture, drawn over a map.
function marks({ width, height }, weights, [rows, columns], gold) {
  const peak = weights.indexOf(Math.max(...weights));
  const [across, down] = [width / columns, height / rows];
  const ring = draw("rect", {
    class: "peak", x: (peak % columns) * across, y: Math.floor(peak / columns) * down, width: across, height: down,
  });
  const boxes = gold.map(([top, left, bottom, right]) => draw("rect", {
    class: "region", x: left, y: top, width: right - left, height: bottom - top,
  }));
  return draw("svg", { class: "marks", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none" }, boxes, ring);
}

// The picture and the map of each of its words. at: word -> its weights.
function wordMapRow(shown, grid, at) {
  const [rows, columns] = grid;
  const maps = shown.words.map((word, number) => {
    const values = Array.from(at(number));
    const region = shown.gold[number];
    const even = values.reduce((sum, value) => sum + value, 0) / values.length; // an even share of the weights is not coloured
    const above = values.map((value) => Math.max(0, value - even));
    const view = mapView({
      png: shown.png, name: `where “${word}” looks`, size: [shown.width, shown.height], rows, columns, values: above,
      scale: Math.max(...above, even), side: MAP_SIDE, tell: (value) => `${exact(value)} above an even share`,
    });
    view.append(marks(shown, values, grid, region && region[0] === word ? region[2] : []));
    return withCaption(view, word);
  });
  return make("div", { class: "word-maps" }, withCaption(picture(shown.png, shown.name, MAP_SIDE), "the picture"), maps);
}

// All words of a picture by the weights of the model's config, or by one head that a list chooses.
export function wordMapsView(parent, shown, heads = null) {
  const chosen = arrayOf(shown.maps);
  const [, ...grid] = chosen.shape;
  const frame = make("div");
  const show = (at) => frame.replaceChildren(wordMapRow(shown, grid, at));
  if (heads) {
    const every = arrayOf(heads);
    const [layers, each] = every.shape;
    const places = Array.from({ length: layers * each }, (_, place) => [Math.floor(place / each), place % each]);
    const choose = ({ target }) => {
      const place = Number(target.value);
      show(place < 0 ? (word) => chosen.at(word) : (word) => every.at(...places[place], word));
    };
    const chooser = make("select", { "aria-label": "attention head", change: choose },
      make("option", { value: -1 }, "all heads, or those of the model's config"),
      places.map(([layer, head], place) => make("option", { value: place }, `layer ${layer + 1}, head ${head + 1}`)));
    parent.append(make("div", { class: "bar" }, chooser));
  }
  parent.append(frame, make("p", { class: "legend" },
    make("span", {}, "the redder, the more the word looks there"),
    make("span", {}, make("i", { class: "peak-key" }), " most of all"),
    shown.gold.length > 0 && make("span", {}, make("i", { class: "region-key" }), " what it names (gold)")));
  show((word) => chosen.at(word));
}

// A table of the tokens of a caption and their probabilities.
export function tokenProbabilities({ tokens, token_logprobs: logprobs }) {
  return make("div", { class: "scroll" }, make("table", { class: "plain" },
    make("tr", {}, make("th", {}, "token"), tokens.map((token) => make("td", {}, token.replace("\u2581", "")))),
    make("tr", {}, make("th", {}, "probability"), logprobs.map((value) => make("td", {}, Math.exp(value).toFixed(3))))));
}
