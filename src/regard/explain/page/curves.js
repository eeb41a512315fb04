// Line charts over training steps. All charts of a page share one cursor: pointing at a step in one shows it in all.
import { draw, make, onWidth } from "./dom.js";
import { exact, grouped, tick } from "./format.js";
import { hideTip, showTip } from "./tip.js";

const MARGIN = { top: 10, right: 16, bottom: 28, left: 54 };

// The step under the cursor, shared by all charts.
export function sharedCursor() {
  const listeners = new Set();
  return {
    listen: (listener) => listeners.add(listener),
    move: (step) => listeners.forEach((listener) => listener(step)),
  };
}

function niceStep(span, count) {
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const lead = raw / power;
  return power * (lead > 5 ? 10 : lead > 2 ? 5 : lead > 1 ? 2 : 1);
}

function linearTicks(low, high, count) {
  const step = niceStep(high - low || 1, count);
  const ticks = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index += 1) ticks.push(index * step);
  return ticks;
}

function logTicks(low, high) {
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const lead of [1, 2, 5]) all.push(lead * 10 ** power);
  }
  const inside = all.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  return inside.length > 8 ? inside.filter((value) => Math.abs(Math.log10(value) % 1) < 1e-9) : inside;
}

// { place: value -> 0..1, ticks } for the values that are drawn.
function verticalScale(values, logarithmic, fromZero, count) {
  if (logarithmic) {
    const positive = values.filter((value) => value > 0);
    const low = Math.min(...positive) / 1.15;
    const high = Math.max(...positive) * 1.15;
    const span = Math.log(high / low);
    return { place: (value) => (value > 0 ? Math.log(value / low) / span : 0), ticks: logTicks(low, high) };
  }
  const top = Math.max(...values);
  const bottom = fromZero ? Math.min(0, ...values) : Math.min(...values);
  const step = niceStep(top - bottom || Math.abs(top) || 1, count);
  const low = Math.floor(bottom / step + 1e-9) * step;
  const high = Math.max(Math.ceil(top / step - 1e-9) * step, low + step);
  return { place: (value) => (value - low) / (high - low), ticks: linearTicks(low, high, count) };
}

// The point of a curve that is nearest to a step.
function nearest(points, step) {
  let [low, high] = [0, points.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= step) low = middle;
    else high = middle;
  }
  return Math.abs(points[low][0] - step) <= Math.abs(points[high][0] - step) ? points[low] : points[high];
}

// spec: { title, unit, height, fromZero, scales, domain: [first step, last step], best: step | null, lost: [steps],
//         series: [{ name, points: [[step, value]], look: "faint" | "line" | "dashed" | "dots", colour: 1 | 2 | 3, hidden }] }
export function chart(parent, spec, cursor) {
  const series = spec.series.filter((curve) => curve.points.length > 0);
  const hidden = new Set(series.filter((curve) => curve.hidden).map((curve) => curve.name));
  const steps = [...new Set(series.flatMap((curve) => curve.points.map((point) => point[0])))].sort((a, b) => a - b);
  const stops = steps.map((step) => [step]);
  let logarithmic = false;
  let layout = null;
  let pointed = null;

  const frame = make("div", { class: "plot" });
  const figure = make("figure", { class: "chart" }, caption(), frame);
  parent.append(figure);

  function caption() {
    const keys = series.map((curve) => {
      const flip = (event) => {
        if (!hidden.delete(curve.name)) hidden.add(curve.name);
        event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(curve.name)));
        render(layout.width);
      };
      const swatch = make("i", { class: `swatch ${curve.look} colour-${curve.colour}` });
      const attributes = { class: "key", type: "button", "aria-pressed": String(!hidden.has(curve.name)), click: flip };
      return make("button", attributes, swatch, curve.name);
    });
    const scale = spec.scales && make("button", {
      class: "key scale", type: "button", "aria-pressed": "false",
      click: (event) => {
        logarithmic = !logarithmic;
        event.currentTarget.setAttribute("aria-pressed", String(logarithmic));
        render(layout.width);
      },
    }, "log scale");
    const unit = spec.unit && make("span", { class: "unit" }, spec.unit);
    const title = make("span", { class: "chart-title" }, spec.title, unit && " ", unit);
    return make("figcaption", {}, title, make("span", { class: "keys" }, keys.length > 1 && keys, scale));
  }

  function render(width) {
    const height = spec.height;
    const visible = series.filter((curve) => !hidden.has(curve.name));
    const values = visible.flatMap((curve) => curve.points.map((point) => point[1]));
    const inner = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
    const log = logarithmic && values.some((value) => value > 0);
    const scale = verticalScale(values.length ? values : [0, 1], log, spec.fromZero, height > 240 ? 6 : 4);
    const [first, last] = spec.domain;
    const x = (step) => MARGIN.left + (inner.width * (step - first)) / (last - first || 1);
    const y = (value) => MARGIN.top + inner.height * (1 - scale.place(value));
    layout = { width, inner, x, y, visible, pointer: draw("g", { class: "pointer" }) };

    const svg = draw("svg", {
      viewBox: `0 0 ${width} ${height}`, width, height, tabindex: 0, role: "img", "aria-label": describe(visible),
      pointermove: (event) => point(stepAt(event), event),
      pointerdown: (event) => point(stepAt(event), event),
      pointerleave: leave, blur: leave, keydown: walk,
    });
    svg.append(axes(scale, first, last, height), ...visible.map(curveMark), ...lostMarks(), layout.pointer);
    frame.replaceChildren(svg);
    mark(pointed);
  }

  function axes(scale, first, last, height) {
    const { x, y, width, inner } = layout;
    const lines = scale.ticks.map((value) => [
      draw("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }),
      draw("text", { class: "tick", x: MARGIN.left - 8, y: y(value) + 4, "text-anchor": "end" }, tick(value)),
    ]);
    const across = linearTicks(first, last, Math.max(2, Math.min(10, inner.width / 55))).filter(Number.isInteger);
    const feet = across.map((step) =>
      draw("text", { class: "tick", x: x(step), y: height - 9, "text-anchor": "middle" }, tick(step)));
    return draw("g", { "aria-hidden": "true" }, lines.flat(), feet);
  }

  function curveMark(curve) {
    const place = ([step, value]) => `${layout.x(step).toFixed(1)},${layout.y(value).toFixed(1)}`;
    const line = `M${curve.points.map(place).join("L")}`;
    const path = draw("path", { class: `curve ${curve.look} colour-${curve.colour}`, d: line });
    if (curve.look !== "dots" && curve.points.length > 1) return path;
    const dots = curve.points.map(([step, value]) =>
      draw("circle", {
        class: `dot colour-${curve.colour}${step === spec.best ? " ring" : ""}`,
        cx: layout.x(step), cy: layout.y(value), r: step === spec.best ? 5 : curve.points.length > 60 ? 2 : 3.5,
      }));
    return draw("g", {}, path, dots);
  }

  // Steps whose value is not finite are marked on the axis.
  function lostMarks() {
    const foot = MARGIN.top + layout.inner.height;
    return (spec.lost ?? []).slice(0, 500).map((step) => {
      const [left, right] = [layout.x(step) - 3, layout.x(step) + 3];
      const cross = `M${left},${foot - 3}L${right},${foot + 3}M${left},${foot + 3}L${right},${foot - 3}`;
      return draw("path", { class: "lost", d: cross });
    });
  }

  function describe(visible) {
    const parts = visible.map(({ name, points }) => `${name} from ${exact(points[0][1])} to ${exact(points.at(-1)[1])}`);
    return `${spec.title} by step: ${parts.join("; ")}. Arrow keys move along the curve.`;
  }

  function stepAt(event) {
    const box = event.currentTarget.getBoundingClientRect();
    const along = ((event.clientX - box.left) * layout.width / box.width - MARGIN.left) / layout.inner.width;
    const wanted = spec.domain[0] + along * (spec.domain[1] - spec.domain[0]);
    return nearest(stops, wanted)[0];
  }

  function leave() {
    cursor.move(null);
    hideTip();
  }

  function point(step, event) {
    cursor.move(step);
    const rows = layout.visible.map((curve) => {
      const [at, value] = nearest(curve.points, step);
      const swatch = make("i", { class: `swatch ${curve.look} colour-${curve.colour}` });
      const where = at === step ? null : make("small", {}, ` at ${grouped(at)}`);
      return make("tr", {}, make("th", { scope: "row" }, swatch, curve.name, where), make("td", {}, exact(value)));
    });
    const heading = make("strong", {}, `step ${grouped(step)}`, step === spec.best && " · the best");
    showTip(event.clientX, event.clientY, heading, make("table", {}, rows));
  }

  function mark(step) {
    pointed = step;
    if (step === null) return layout.pointer.replaceChildren();
    const { x, y, inner, visible } = layout;
    const line = draw("line", { class: "crosshair", x1: x(step), x2: x(step), y1: MARGIN.top, y2: MARGIN.top + inner.height });
    const dots = visible.map((curve) => {
      const [at, value] = nearest(curve.points, step);
      return draw("circle", { class: `dot colour-${curve.colour}`, cx: x(at), cy: y(value), r: 4.5 });
    });
    return layout.pointer.replaceChildren(line, ...dots);
  }

  function walk(event) {
    const stride = event.shiftKey ? Math.ceil(steps.length / 20) : 1;
    const here = pointed === null ? -1 : steps.indexOf(nearest(stops, pointed)[0]);
    const target = { ArrowRight: here + stride, ArrowLeft: here - stride, Home: 0, End: steps.length - 1 }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const step = steps[Math.max(0, Math.min(steps.length - 1, target))];
    const box = event.currentTarget.getBoundingClientRect();
    point(step, { clientX: box.left + layout.x(step) * box.width / layout.width, clientY: box.top + MARGIN.top });
  }

  cursor.listen(mark);
  onWidth(frame, render);
}
