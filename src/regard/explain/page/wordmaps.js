// Word maps: a copy of the picture for each word, the patches as strong as the attention of the word to them.
import { draw, make } from "./dom.js";
import { arrayOf } from "./arrays.js";
import { exact } from "./format.js";
import { hideTip, showTip } from "./tip.js";

const SIDE = 132; // pixels of the longer side of a map

// One picture with the weights [row, column] of a word over it. gold: boxes [top, left, bottom, right] in pixels of the picture.
function heatMap(picture, weights, [rows, columns], gold, title) {
  const scale = SIDE / Math.max(picture.width, picture.height);
  const [width, height] = [picture.width * scale, picture.height * scale];
  const [across, down] = [width / columns, height / rows];
  const top = Math.max(...weights, 1e-9);
  const cells = Array.from(weights, (weight, place) => draw("rect", {
    class: "heat", x: (place % columns) * across, y: Math.floor(place / columns) * down, width: across, height: down,
    "fill-opacity": (0.78 * weight / top).toFixed(3),
    pointermove: (event) => showTip(event.clientX, event.clientY, `weight ${exact(weight)}`),
    pointerleave: hideTip,
  }));
  const peak = weights.indexOf(Math.max(...weights));
  const ring = draw("rect", {
    class: "peak", x: (peak % columns) * across + 1, y: Math.floor(peak / columns) * down + 1, width: across - 2, height: down - 2,
  });
  const boxes = gold.map(([upper, left, lower, right]) => draw("rect", {
    class: "region", x: left * scale, y: upper * scale, width: (right - left) * scale, height: (lower - upper) * scale,
  }));
  return draw("svg", { class: "word-map", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title },
    draw("image", { href: `data:image/png;base64,${picture.png}`, width, height, class: "pixels" }), cells, boxes, ring);
}

function figureOf(map, name, note) {
  return make("figure", { class: "word" }, map, make("figcaption", {}, make("b", {}, name), note && make("span", { class: "note" }, ` ${note}`)));
}

function plain(picture) {
  const scale = SIDE / Math.max(picture.width, picture.height);
  const [width, height] = [picture.width * scale, picture.height * scale];
  return draw("svg", { class: "word-map", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "the picture" },
    draw("image", { href: `data:image/png;base64,${picture.png}`, width, height, class: "pixels" }));
}

// The picture and the map of each of its words. at: word -> its weights.
export function wordMapRow(picture, grid, at) {
  const maps = picture.words.map((word, number) => {
    const region = picture.gold[number];
    const boxes = region && region[0] === word ? region[2] : [];
    return figureOf(heatMap(picture, at(number), grid, boxes, `where “${word}” looks`), word);
  });
  return make("div", { class: "word-maps" }, figureOf(plain(picture), "picture"), maps);
}

// All words of a picture by the mean of the chosen heads, or by one head that a list chooses.
export function wordMapsView(parent, picture, heads = null) {
  const mean = arrayOf(picture.maps);
  const [, ...grid] = mean.shape;
  const frame = make("div");
  const show = (at) => frame.replaceChildren(wordMapRow(picture, grid, at));
  if (heads) {
    const every = arrayOf(heads);
    const [layers, each] = every.shape;
    const choices = Array.from({ length: layers * each }, (_, place) => [Math.floor(place / each), place % each]);
    const chooser = make("select", { "aria-label": "attention head", change: ({ target }) => {
      const place = Number(target.value);
      show(place < 0 ? (word) => mean.at(word) : (word) => every.at(...choices[place], word));
    } }, make("option", { value: -1 }, "as the model's config says"),
    choices.map(([layer, head], place) => make("option", { value: place }, `layer ${layer + 1}, head ${head + 1}`)));
    parent.append(make("div", { class: "bar" }, make("label", {}, "Weights ", chooser)));
  }
  parent.append(frame, make("p", { class: "legend" },
    make("span", {}, make("i", { class: "heat-key" }), " the stronger, the more the word looks there"),
    make("span", {}, make("i", { class: "peak-key" }), " most of all"),
    picture.gold.length > 0 && make("span", {}, make("i", { class: "region-key" }), " what it names (gold)")));
  show((word) => mean.at(word));
}
