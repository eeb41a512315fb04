// The structure of the network: positions, nearest embeddings, norms of states and gradients, and the receptive field.
import { arrayOf } from "./arrays.js";
import { draw, make, onWidth } from "./dom.js";
import { exact, tick } from "./format.js";
import { largest, matrixView } from "./matrix.js";
import { hideTip, showTip } from "./tip.js";

function figure(parent, title, lead) {
  const box = make("figure", { class: "plain-figure" }, make("figcaption", {}, make("strong", {}, title), " ", lead));
  parent.append(box);
  return box;
}

function numbered(count) {
  return Array.from({ length: count }, (_, index) => String(index + 1));
}

function bars(parent, values, label) {
  const frame = make("div", { class: "plot" });
  parent.append(frame);
  onWidth(frame, (width) => {
    const [left, height, most] = [44, 150, Math.max(...values)];
    const step = (width - left - 4) / values.length;
    const rects = values.map((value, index) => draw("rect", {
      class: "cell", x: left + index * step, y: 6 + (height - 30) * (1 - value / most), width: Math.max(1, step - 1),
      height: Math.max(0.5, (height - 30) * (value / most)),
      pointermove: (event) => showTip(event.clientX, event.clientY, make("strong", {}, label(index)), make("div", {}, exact(value))),
      pointerleave: hideTip,
    }));
    const every = Math.max(1, Math.ceil(30 / step));
    const feet = values.map((_, index) => index % every === 0
      && draw("text", { class: "tick", x: left + (index + 0.5) * step, y: height - 8, "text-anchor": "middle" }, index));
    frame.replaceChildren(draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label(0) },
      draw("text", { class: "tick", x: left - 6, y: 14, "text-anchor": "end" }, tick(Number(most.toPrecision(2)))), rects, feet));
  });
}

function statesMaps(parent, title, states, tokens) {
  for (const [field, name] of [["norms", "length of each state"], ["gradients", "length of the gradient of −log p there"]]) {
    const values = arrayOf(states[field]);
    // The decoder's first state reads the start mark. Its gradient is many times longer than the others and would leave them without colour.
    const aside = title === "Decoder" && field === "gradients" && tokens.length > 1;
    const judged = aside ? Array.from(values.data).filter((_, index) => index % tokens.length) : values.data;
    matrixView(figure(parent, title, aside ? `${name}; full colour is the longest but for the start mark, the first column` : name), {
      rows: states.layers, columns: tokens, scale: largest(judged), value: (row, column) => values.at(row, column),
      label: `${title}: ${name}`, tell: (row, column) => [["length", values.at(row, column)]],
    });
  }
}

function neighbourTable(near, tokens) {
  const cosines = arrayOf(near.cosines);
  const rows = tokens.map((token, index) => make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, token)),
    near.tokens[index].map((other, rank) => make("td", { title: exact(cosines.at(index, rank)) },
      make("bdi", {}, other), " ", make("small", {}, cosines.at(index, rank).toFixed(2))))));
  return make("div", { class: "scroll" }, make("table", { class: "step-table neighbours" }, make("tbody", {}, rows)));
}

export function structureView(parent, { structure, source, target }) {
  const grid = make("div", { class: "beside" });
  const reach = arrayOf(structure.reach);
  matrixView(figure(grid, "Reach", "how much the encoder’s state of a token (rows) changes with the embedding of another (columns)"), {
    rows: source.tokens, columns: source.tokens, scale: largest(reach.data), value: (row, column) => reach.at(row, column), label: "Reach",
    tell: (row, column) => [["change", reach.at(row, column)]],
  });
  bars(figure(grid, "Reach by distance", "the mean over all tokens so far apart"), Array.from(arrayOf(structure.reach_by_distance).data),
    (index) => `${index} token${index === 1 ? "" : "s"} apart`);
  statesMaps(grid, "Encoder", structure.encoder, source.tokens);
  statesMaps(grid, "Decoder", structure.decoder, target.tokens);
  if (structure.positions) {
    const [positions, gram] = [arrayOf(structure.positions), arrayOf(structure.gram)];
    const places = numbered(positions.shape[0]);
    for (const [title, lead, values, columns] of [
      ["Positions", "what is added to the embedding at each place (rows)", positions, numbered(positions.shape[1])],
      ["Gram matrix", "dot products of positions: alike along diagonals, so distance can be read off", gram, places],
    ]) {
      matrixView(figure(grid, title, lead), {
        rows: places, columns, scale: largest(values.data), value: (row, column) => values.at(row, column), label: title,
      });
    }
  }
  parent.append(grid);
  for (const [name, near, tokens] of [["source", structure.source, source.tokens], ["target", structure.target, target.tokens]]) {
    if (near) {
      parent.append(make("details", {}, make("summary", {}, `Neighbours of the ${name}’s embeddings, by cosine`), neighbourTable(near, tokens)));
    }
  }
}
