// Layers by what they mix: the effective receptive field of each, and the gates and filters of those that have no attention weights.
import { arrayOf } from "./arrays.js";
import { draw, make, onWidth } from "./dom.js";
import { exact, tick } from "./format.js";
import { choice, labelsOf } from "./heads.js";
import { largest, matrixView } from "./matrix.js";

const STACKS = { encoder: "Encoder", decoder: "Decoder" };

function titled(parent, title, lead) {
  const box = make("figure", { class: "plain-figure" }, make("figcaption", {}, make("strong", {}, title), " ", lead));
  parent.append(box);
  return box;
}

// Curves of equal lengths over lags: the darker a line, the later it fades.
function filterCurves(parent, names, filters) {
  const [count, lags] = filters.shape;
  const most = largest(filters.data);
  const frame = make("div", { class: "plot" });
  parent.append(frame);
  onWidth(frame, (width) => {
    const [left, top, height] = [44, 8, 170];
    const x = (lag) => left + ((width - left - 8) * lag) / Math.max(1, lags - 1);
    const y = (value) => top + (height - top - 28) * (0.5 - value / (2 * most));
    const lines = names.map((name, number) => draw("path", {
      class: "curve colour-1", style: `stroke-opacity:${(0.2 + (0.8 * (number + 1)) / count).toFixed(2)};stroke-width:1.5`,
      d: `M${Array.from(filters.at(number), (value, lag) => `${x(lag).toFixed(1)},${y(value).toFixed(1)}`).join("L")}`,
    }, draw("title", {}, name)));
    const feet = [0, Math.floor((lags - 1) / 2), lags - 1].filter((lag, index, all) => all.indexOf(lag) === index)
      .map((lag) => draw("text", { class: "tick", x: x(lag), y: height - 8, "text-anchor": "middle" }, lag));
    frame.replaceChildren(draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Filters: ${names.join("; ")}` },
      draw("line", { class: "grid", x1: left, x2: width - 8, y1: y(0), y2: y(0) }),
      [most, 0, -most].map((value) => draw("text", { class: "tick", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, tick(Number(value.toPrecision(2))))),
      lines, feet));
  });
}

function filterFigures(parent, layer) {
  const filters = arrayOf(layer.filters);
  const groups = new Map();
  layer.filter_names.forEach((name, number) => {
    const group = name.slice(0, name.lastIndexOf(","));
    groups.set(group, [...(groups.get(group) ?? []), number]);
  });
  for (const [group, numbers] of groups) {
    const some = { shape: [numbers.length, filters.shape[1]], at: (number) => filters.at(numbers[number]) };
    some.data = numbers.flatMap((number) => Array.from(filters.at(number)));
    filterCurves(titled(parent, `Filters of ${group}`, "by lag in tokens; the darker a line, the longer its channel remembers"),
      numbers.map((number) => layer.filter_names[number]), some);
  }
}

function layerView(parent, explanation, layer) {
  const { rows, columns } = labelsOf(explanation, layer.stack);
  const reach = arrayOf(layer.reach);
  const grid = make("div", { class: "beside" });
  parent.replaceChildren(grid); // first: what is drawn asks for its width
  const near = `90 % of it within ${layer.width.toFixed(1)} tokens`;
  matrixView(titled(grid, "Receptive field", `how much the layer’s output at a token (rows) changes with its input at another (columns); ${near}`), {
    rows: layer.states.map((place) => rows[place] ?? ""), columns, scale: largest(reach.data), value: (row, column) => reach.at(row, column),
    label: "Receptive field", tell: (row, column) => [["change", reach.at(row, column)]],
  });
  if (layer.gates) {
    const gates = arrayOf(layer.gates);
    matrixView(titled(grid, "Gates", "at each token (columns): the mean size of a gate, or the decay and strength of a head’s memory"), {
      rows: layer.gate_names, columns, scale: largest(gates.data), value: (row, column) => gates.at(row, column), label: "Gates",
      tell: (row, column) => [["value", exact(gates.at(row, column))]],
    });
  }
  if (layer.filters) filterFigures(grid, layer);
}

export function mixingView(parent, explanation) {
  const layers = explanation.mixing;
  const names = layers.map((layer, number) => [number, `${STACKS[layer.stack]} ${layer.layer + 1}: ${layer.mixer}`]);
  const first = Math.max(0, layers.findIndex((layer) => !layer.weighted));
  const box = make("div", { class: "mixing-layer" });
  parent.append(choice(names, first, (number) => layerView(box, explanation, layers[number]), "layer"), box);
  layerView(box, explanation, layers[first]);
}
