// Heat maps on a canvas, fast with tens of thousands of cells. Labels and the pointer are drawn over it.
import { draw, make, onTheme, onWidth, shorten, textWidth } from "./dom.js";
import { exact } from "./format.js";
import { hideTip, showTip } from "./tip.js";

const SIDE = { least: 4, most: 30, labelled: 10 };
const LABEL_SIZE = 12;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Paints rows x columns cells. `strength` is from -1 to 1; negative values have the second colour.
export function paint(canvas, rows, columns, cell, gap, strength) {
  const dense = Math.min(2, devicePixelRatio || 1);
  const [width, height] = [columns * cell, rows * cell];
  [canvas.width, canvas.height] = [Math.max(1, Math.round(width * dense)), Math.max(1, Math.round(height * dense))];
  [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
  const context = canvas.getContext("2d");
  context.scale(dense, dense);
  const [positive, negative] = [colour("--colour-1"), colour("--colour-2")];
  let last = 0; // the sign of the previous cell: setting a colour is slower than painting a cell
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const value = Math.max(-1, Math.min(1, strength(row, column)));
      if (!value) continue; // nothing to see, or not a number
      context.globalAlpha = Math.abs(value);
      if (Math.sign(value) !== last) {
        last = Math.sign(value);
        context.fillStyle = last > 0 ? positive : negative;
      }
      context.fillRect(column * cell, row * cell, cell - gap, cell - gap);
    }
  }
}

// The largest finite absolute value; 1 if there is none.
export function largest(values) {
  let most = 0;
  for (const value of values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most || 1;
}

// spec: { rows, columns (labels), value(row, column), scale (the value of full colour), label, tell(row, column) -> lines of the tip,
// least (side of a cell; a wider map scrolls), sparse (columns are times: where they stand close, some labels are left out) }
export function matrixView(parent, spec) {
  const frame = make("div", { class: "scroll matrix-frame" });
  parent.append(frame);
  let place = null;
  let focus = null;
  const canvas = make("canvas", { "aria-hidden": "true" });
  const repaint = () => place && paint(canvas, spec.rows.length, spec.columns.length, place.cell, place.cell > 8 ? 1 : 0,
    (row, column) => spec.value(row, column) / spec.scale);

  function layout(width) {
    const widths = (labels) => labels.map((label) => textWidth(shorten(label), LABEL_SIZE));
    const across = widths(spec.columns);
    const left = Math.ceil(Math.max(20, ...widths(spec.rows))) + 10;
    const room = (width - left - 40) / Math.max(1, spec.columns.length);
    const cell = Math.floor(Math.max(spec.least ?? SIDE.least, Math.min(SIDE.most, room)));
    const labelled = cell >= SIDE.labelled;
    const head = labelled ? Math.ceil(Math.max(20, ...across) * 0.72) + 12 : 8;
    const right = labelled ? Math.ceil((across.at(-1) ?? 0) * 0.72) : 0;
    return {
      cell, labelled, head, left: labelled ? left : 8,
      width: (labelled ? left : 8) + right + 8 + cell * spec.columns.length, height: head + cell * spec.rows.length + 4,
    };
  }

  function render(width) {
    place = layout(width);
    const { left, head, cell } = place;
    canvas.style.translate = `${left}px ${head}px`;
    const words = (labels, attributes, every = 1) => (place.labelled ? labels.map((label, index) =>
      draw("text", { class: "word", ...attributes(index) }, index % every ? "" : shorten(label))) : []);
    const columns = words(spec.columns, (index) => ({
      transform: `translate(${left + index * cell + cell / 2 + 2} ${head - 6}) rotate(-45)`,
    }), spec.sparse ? Math.ceil((2 * LABEL_SIZE) / cell) : 1);
    const rows = words(spec.rows, (index) => ({ x: left - 6, y: head + index * cell + cell / 2 + 4, "text-anchor": "end" }));
    const bands = draw("g", { class: "bands" });
    const svg = draw("svg", {
      class: "matrix", width: place.width, height: place.height, viewBox: `0 0 ${place.width} ${place.height}`, tabindex: 0, role: "img",
      "aria-label": `${spec.label}: ${spec.rows.length} rows, ${spec.columns.length} columns. Arrow keys move from cell to cell.`,
      pointermove: (event) => look(cellAt(event), event), pointerdown: (event) => look(cellAt(event), event),
      pointerleave: () => look(null), blur: () => look(null), keydown: walk,
    }, bands, columns, rows);
    Object.assign(place, { svg, rows, columns, bands });
    frame.replaceChildren(canvas, svg);
    repaint();
  }

  function cellAt(event) {
    const box = place.svg.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - place.left) / place.cell);
    const row = Math.floor((event.clientY - box.top - place.head) / place.cell);
    return row >= 0 && column >= 0 && row < spec.rows.length && column < spec.columns.length ? [row, column] : null;
  }

  function look(cell, event) {
    focus = cell;
    place.rows.forEach((label, index) => label.classList.toggle("lit", index === cell?.[0]));
    place.columns.forEach((label, index) => label.classList.toggle("lit", index === cell?.[1]));
    place.bands.replaceChildren();
    if (cell === null) {
      hideTip();
      return;
    }
    const [row, column] = cell;
    const { left, head, cell: size } = place;
    place.bands.replaceChildren(
      draw("rect", { x: left, y: head + row * size, width: size * spec.columns.length, height: size }),
      draw("rect", { x: left + column * size, y: head, width: size, height: size * spec.rows.length }));
    const lines = spec.tell ? spec.tell(row, column) : [["value", spec.value(row, column)]];
    showTip(event.clientX, event.clientY,
      make("strong", {}, make("bdi", {}, spec.columns[column]), " → ", make("bdi", {}, spec.rows[row])),
      make("table", {}, lines.map(([name, value]) =>
        make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, typeof value === "number" ? exact(value) : value)))));
  }

  function walk(event) {
    const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!move) return;
    event.preventDefault();
    const bound = (value, labels) => Math.max(0, Math.min(labels.length - 1, value));
    const cell = focus === null ? [0, 0] : [bound(focus[0] + move[0], spec.rows), bound(focus[1] + move[1], spec.columns)];
    const box = place.svg.getBoundingClientRect();
    look(cell, {
      clientX: box.left + place.left + (cell[1] + 1) * place.cell, clientY: box.top + place.head + cell[0] * place.cell,
    });
  }

  onWidth(frame, render);
  onTheme(canvas, repaint);
}

// A vector as a row of cells with tooltips. `scale`: the value of full colour.
export function strip(values, name, scale = largest(values), cell = 6) {
  const canvas = make("canvas", {
    class: "strip", role: "img", "aria-label": `${name}: ${values.length} numbers`, pointerleave: hideTip,
    pointermove: (event) => {
      const unit = Math.floor(((event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth) * values.length);
      if (unit < 0 || unit >= values.length) return;
      showTip(event.clientX, event.clientY, make("strong", {}, name), make("div", {}, `unit ${unit + 1}: ${exact(values[unit])}`));
    },
  });
  const repaint = () => {
    paint(canvas, 1, values.length, cell, 0, (_, unit) => values[unit] / scale);
    canvas.style.height = "";
  };
  repaint();
  onTheme(canvas, repaint);
  return canvas;
}
