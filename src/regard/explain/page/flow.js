// Gradient flow: heat maps of the network's parts by step, input at the top, on a logarithmic colour scale.
import { sharedCursor } from "./curves.js";
import { draw, make, onWidth, textWidth } from "./dom.js";
import { exact, grouped, plural, tick } from "./format.js";
import { hideTip, showTip } from "./tip.js";

const LEVELS = 32; // shades of a map: one path each, so that a map of thousands of cells stays light
const LABEL = 11.5; // the size of .tick
const RULE_OF_THUMB = 1e-3;
const NUMBERS = [["gradient", "gradient"], ["weight", "weights"], ["update", "update"], ["ratio", "update / weights"]];

// Logarithms of the lowest and highest number without outliers, which get the colours of the ends.
function usualRange(rows) {
  const logs = rows.flat().filter((value) => value > 0).map(Math.log10).sort((a, b) => a - b);
  const at = (part) => logs[Math.round(part * (logs.length - 1))] ?? 0;
  return [at(0.02), at(0.98)];
}

// At least two powers of ten, so that noise does not fill the whole scale.
function sequential(rows) {
  const [low, high] = usualRange(rows);
  const wider = Math.max(0, 2 - (high - low)) / 2;
  return { low: low - wider, high: high + wider };
}

// The rule of thumb in the middle, one to three powers of ten to either side.
function aroundRule(rows) {
  const middle = Math.log10(RULE_OF_THUMB);
  const farthest = Math.max(...usualRange(rows).map((end) => Math.abs(end - middle)));
  const reach = Math.max(1, Math.min(3, Math.ceil(2 * farthest) / 2));
  return { low: middle - reach, high: middle + reach };
}

// The colour of a level, mixed from the three of a ramp that the style names.
function shade(ramp, level) {
  const along = (2 * level) / (LEVELS - 1);
  const first = Math.min(1, Math.floor(along));
  return `fill: color-mix(in oklab, var(--${ramp}-${first}), var(--${ramp}-${first + 1}) ${(100 * (along - first)).toFixed(1)}%)`;
}

function flowMap(parent, flow, spec, cursor) {
  const rows = flow[spec.field];
  const scale = spec.scale(rows);
  const frame = make("div", { class: "plot" });
  const title = make("span", { class: "chart-title" }, spec.title, " ", make("span", { class: "unit" }, spec.unit));
  parent.append(make("figure", { class: "chart flow" }, make("figcaption", {}, title), frame, legend()));
  let parts = null;
  let focus = null; // [part, column] of the cell under the pointer

  function legend() {
    const ends = [scale.low, (scale.low + scale.high) / 2, scale.high].map((power) => tick(Number((10 ** power).toPrecision(1))));
    return make("div", { class: "shades-key" },
      make("i", { class: `band ${spec.ramp}` }),
      ends.map((end, index) => make("span", {}, index === 1 && spec.middle ? `${end} ${spec.middle}` : end)));
  }

  function layout(width) {
    const left = Math.ceil(Math.max(...flow.parts.map((part) => textWidth(part, LABEL)))) + 12;
    const cell = Math.min(40, (width - left - 6) / flow.steps.length);
    const row = flow.parts.length > 32 ? 13 : 16;
    const block = (part) => part.split(".").slice(0, 2).join(".");
    const tops = [];
    let top = 4;
    flow.parts.forEach((part, index) => {
      if (index && block(part) !== block(flow.parts[index - 1])) top += 4;
      tops.push(top);
      top += row;
    });
    return { left, cell, row, tops, width, bottom: top, height: top + 26 };
  }

  function render(width) {
    const place = layout(width);
    const x = (column) => place.left + column * place.cell;
    const cells = Array.from({ length: LEVELS }, () => []);
    rows.forEach((row, part) => row.forEach((value, column) => {
      if (value === null) return;
      const along = value > 0 ? (Math.log10(value) - scale.low) / (scale.high - scale.low) : 0;
      const level = Math.round(Math.max(0, Math.min(1, along)) * (LEVELS - 1));
      // Slightly wider than the cell, so that no background shows between two cells.
      cells[level].push(`M${x(column).toFixed(2)},${place.tops[part]}h${(place.cell + 0.3).toFixed(2)}v${place.row - 1}h${(-place.cell - 0.3).toFixed(2)}z`);
    }));
    const shades = cells.map((found, level) => found.length > 0
      && draw("path", { class: "shade", d: found.join(""), style: shade(spec.ramp, level) }));
    const labels = flow.parts.map((part, index) => draw("text", {
      class: "tick", x: place.left - 8, y: place.tops[index] + place.row / 2 + 3.5, "text-anchor": "end",
    }, part));
    const marks = spec.jumps.map(({ part, step }) => [part, flow.steps.indexOf(step)]).filter(([, column]) => column >= 0)
      .map(([part, column]) => draw("rect", {
        class: "jump", x: x(column) - 1, y: place.tops[part] - 0.5, width: place.cell + 2, height: place.row,
      }));
    const pointer = draw("g", { class: "bands" });
    const svg = draw("svg", {
      viewBox: `0 0 ${width} ${place.height}`, width, height: place.height, tabindex: 0, role: "img",
      "aria-label": `${spec.title} of ${flow.parts.length} parts by step. Arrow keys move from cell to cell.`,
      pointermove: (event) => look(cellAt(event), event), pointerdown: (event) => look(cellAt(event), event),
      pointerleave: () => look(null), blur: () => look(null), keydown: walk,
    }, shades, marks, labels, feet(place, x), pointer);
    parts = { svg, place, x, labels, pointer };
    frame.replaceChildren(svg);
    mark(focus);
  }

  // Steps under the columns, as many as there is room for.
  function feet(place, x) {
    const room = Math.max(1, Math.ceil(58 / place.cell));
    const columns = flow.steps.map((_, column) => column).filter((column) => column % room === 0);
    return columns.map((column) => draw("text", {
      class: "tick", x: x(column) + place.cell / 2, y: place.height - 9, "text-anchor": "middle",
    }, tick(flow.steps[column])));
  }

  function cellAt(event) {
    const { svg, place } = parts;
    const box = svg.getBoundingClientRect();
    const zoom = place.width / box.width;
    const column = Math.floor(((event.clientX - box.left) * zoom - place.left) / place.cell);
    const down = (event.clientY - box.top) * zoom;
    const part = place.tops.findLastIndex((top) => top <= down);
    return part >= 0 && down <= place.bottom && column >= 0 && column < flow.steps.length ? [part, column] : null;
  }

  function look(cell, event) {
    cursor.move(cell);
    if (cell === null) {
      hideTip();
      return;
    }
    const [part, column] = cell;
    const lines = NUMBERS.map(([field, name]) =>
      make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, exact(flow[field][part][column]))));
    showTip(event.clientX, event.clientY,
      make("strong", {}, `${flow.parts[part]}, step ${grouped(flow.steps[column])}`), make("table", {}, lines));
  }

  function mark(cell) {
    focus = cell;
    const { place, x, labels, pointer } = parts;
    labels.forEach((label, index) => label.classList.toggle("lit", cell !== null && index === cell[0]));
    pointer.replaceChildren(...(cell === null ? [] : [draw("rect", {
      x: x(cell[1]) - 1, y: place.tops[cell[0]] - 1, width: place.cell + 2, height: place.row + 1,
    })]));
  }

  function walk(event) {
    const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!move) return;
    event.preventDefault();
    const bound = (value, count) => Math.max(0, Math.min(count - 1, value));
    const cell = focus === null ? [0, 0]
      : [bound(focus[0] + move[0], flow.parts.length), bound(focus[1] + move[1], flow.steps.length)];
    const { svg, place, x } = parts;
    const box = svg.getBoundingClientRect();
    const zoom = box.width / place.width;
    look(cell, { clientX: box.left + x(cell[1] + 1) * zoom, clientY: box.top + place.tops[cell[0]] * zoom });
  }

  cursor.listen(mark);
  onWidth(frame, render);
}

// A summary in words: the gradient at the first block of each stack, relative to the last.
function depthNote(flow) {
  const factor = ([first, last], column) => flow.gradient[first][column] / flow.gradient[last][column];
  const columns = [...new Set([0, flow.steps.length - 1])];
  const sentences = flow.ends.filter((ends) => columns.every((column) => Number.isFinite(factor(ends, column)))).map((ends) => {
    const times = columns.map((column) => `${twoDigits(factor(ends, column))} at step ${grouped(flow.steps[column])}`);
    const [first, last] = ends.map((part) => flow.parts[part]);
    return `From ${last} back to ${first} the length of the gradient is multiplied by ${times.join(" and by ")}.`;
  });
  return sentences.length ? make("p", { class: "depth" }, sentences.join(" ")) : "";
}

function jumpWarning(flow) {
  const size = ({ factor }) => Math.abs(Math.log(factor));
  const { part, step, factor } = flow.jumps.reduce((a, b) => (size(b) > size(a) ? b : a));
  const change = factor > 1 ? `${twoDigits(factor)} times as long as` : `1/${twoDigits(1 / factor)} of what it was`;
  const steps = new Set(flow.jumps.map((jump) => jump.step)).size;
  return make("p", { class: "warning" }, `At ${plural(steps, "step")} a gradient jumped; red frames show which. The greatest `
    + `jump: ${flow.parts[part]} at step ${grouped(step)}, ${change} at the look before.`);
}

function twoDigits(value) {
  return tick(Number(value.toPrecision(2)));
}

// `flow` is the result of `gradient_flow` in flow.py.
export function flowView(parent, flow) {
  if (flow.jumps.length) parent.append(jumpWarning(flow));
  const place = make("div", { class: "charts even" });
  parent.append(depthNote(flow), place);
  const cursor = sharedCursor();
  flowMap(place, flow, {
    field: "gradient", title: "Gradient norm", unit: "before clipping", ramp: "fade", scale: sequential, jumps: flow.jumps,
  }, cursor);
  flowMap(place, flow, {
    field: "ratio", title: "Update / weights", unit: "of one step", ramp: "rule", scale: aroundRule, jumps: [],
    middle: "(rule of thumb)",
  }, cursor);
  if (flow.logged > flow.steps.length) {
    parent.append(make("p", { class: "note" },
      `Of ${grouped(flow.logged)} logged steps, the ${flow.steps.length} most unusual are shown, one of each stretch.`));
  }
}
