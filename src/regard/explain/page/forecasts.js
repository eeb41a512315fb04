// Forecasts of a run: windows with truth and intervals, errors by step of the horizon, baselines, and the past that was looked at.
import { chart, sharedCursor } from "./curves.js";
import { draw, make, onWidth } from "./dom.js";
import { exact, grouped, tick } from "./format.js";
import { matrixView } from "./matrix.js";
import { hideTip, showTip } from "./tip.js";

const FRAME = { top: 8, right: 10, bottom: 22, left: 52, height: 210 };

// One window: the past, the truth, the forecast and a band for each interval.
function windowPlot(parent, { series, origin, times, past, truth, forecast, bands, mse }) {
  const title = make("span", { class: "chart-title" }, make("bdi", {}, series), ` from ${origin} on`);
  const note = make("span", { class: "unit" }, ` MSE ${Number(mse.toPrecision(3))}`);
  const plot = make("div", { class: "plot" });
  parent.append(make("figure", { class: "chart" }, make("figcaption", {}, make("span", {}, title, note)), plot));
  const all = [...past, ...truth, ...forecast, ...bands.flatMap(({ low, high }) => [...low, ...high])];
  const [bottom, top] = [Math.min(...all), Math.max(...all)];
  const count = past.length + truth.length;

  onWidth(plot, (width) => {
    const inner = { width: width - FRAME.left - FRAME.right, height: FRAME.height - FRAME.top - FRAME.bottom };
    const x = (step) => FRAME.left + (inner.width * step) / Math.max(1, count - 1);
    const y = (value) => FRAME.top + inner.height * (1 - (value - bottom) / (top - bottom || 1));
    const place = (value, step) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`;
    const line = (values, first) => `M${values.map((value, index) => place(value, first + index)).join("L")}`;
    const band = ({ low, high }) => {
      const down = low.map((value, index) => place(value, past.length + index)).reverse();
      return draw("path", { class: "interval", d: `${line(high, past.length)}L${down.join("L")}Z` });
    };
    const levels = [bottom, (bottom + top) / 2, top].map((value) => [
      draw("line", { class: "grid", x1: FRAME.left, x2: width - FRAME.right, y1: y(value), y2: y(value) }),
      draw("text", { class: "tick", x: FRAME.left - 6, y: y(value) + 4, "text-anchor": "end" }, tick(Number(value.toPrecision(3)))),
    ]);
    const room = x(count - 1) - x(past.length) > 170; // else the time of the origin, which the title has, would run into the last one
    const feet = [[0, "start"], room && [past.length, "middle"], [count - 1, "end"]].filter(Boolean).map(([step, anchor]) =>
      draw("text", { class: "tick", x: x(step), y: FRAME.height - 6, "text-anchor": anchor }, times[step] ?? ""));
    const look = (event) => {
      const box = event.currentTarget.getBoundingClientRect();
      const along = ((event.clientX - box.left) * width / box.width - FRAME.left) / inner.width;
      const step = Math.max(0, Math.min(count - 1, Math.round(along * (count - 1))));
      const ahead = step - past.length;
      const lines = ahead < 0 ? [["past", past[step]]] : [["truth", truth[ahead]], ["forecast", forecast[ahead]],
        ...bands.flatMap(({ share, low, high }) => [[`${share} %`, `${exact(low[ahead])} to ${exact(high[ahead])}`]])];
      showTip(event.clientX, event.clientY, make("strong", {}, times[step] ?? ""), make("table", {}, lines.map(([name, value]) =>
        make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, typeof value === "number" ? exact(value) : value)))));
    };
    const joined = [past.at(-1), ...truth].filter((value) => value !== undefined);
    plot.replaceChildren(draw("svg", {
      viewBox: `0 0 ${width} ${FRAME.height}`, width, height: FRAME.height, role: "img", pointermove: look, pointerleave: hideTip,
      "aria-label": `${series} from ${origin} on: truth from ${exact(truth[0])} to ${exact(truth.at(-1))}, forecast from ${exact(forecast[0])} to ${exact(forecast.at(-1))}`,
    }, levels.flat(), feet, bands.map(band),
    draw("line", { class: "crosshair", x1: x(past.length), x2: x(past.length), y1: FRAME.top, y2: FRAME.height - FRAME.bottom }),
    past.length > 1 && draw("path", { class: "curve line past", d: line(past, 0) }),
    draw("path", { class: "curve line past", d: line(joined, count - joined.length) }),
    draw("path", { class: "curve line colour-2", d: line(forecast, past.length) })));
  });
}

export function forecastsView(section, windows, shares, covered) {
  const grid = make("div", { class: "charts forecast-grid" });
  section.append(grid);
  for (const one of windows) windowPlot(grid, one);
  const intervals = shares.length ? ` Bands: the intervals of ${shares.map((share) => `${share} %`).join(" and ")}.` : "";
  const shown = (rows) => rows.map(({ share, value }) => `${value} % for ${share} %`).join(" and ");
  const before = covered.filter(({ before: value }) => value !== null).map(({ share, before: value }) => ({ share, value }));
  const told = covered.length ? ` Over all windows they cover ${shown(covered)}${before.length ? `; before calibration ${shown(before)}` : ""}.` : "";
  section.append(make("p", { class: "note" }, "Dark: the series. Orange: the forecast from the vertical line on.", intervals, told));
}

export function baselinesView(parent, { columns, rows }) {
  const head = make("tr", {}, make("th", {}, ""), columns.map((name) => make("th", { scope: "col" }, name)));
  const body = rows.map(({ name, values, windows, own }) => make("tr", { class: own ? "right" : null }, make("th", { scope: "row" }, name),
    values.map((value) => make("td", {}, value)), make("td", {}, grouped(windows))));
  parent.append(make("div", { class: "scroll" }, make("table", { class: "numbers" }, make("thead", {}, head), make("tbody", {}, body))));
}

export function stepErrorsView(section, { model, baselines, coverage }) {
  const points = (values) => values.map((value, index) => [index + 1, value]);
  const others = baselines.map(({ name, values }, index) => ({ name, points: points(values), look: index < 2 ? "dashed" : "dots", colour: 2 + (index % 2) }));
  const [place, cursor] = [make("div", { class: "charts forecast-grid" }), sharedCursor()];
  section.append(place);
  chart(place, {
    title: "MSE by step of the horizon", unit: "standardised", height: 260, fromZero: true, scales: false, domain: [1, model.length],
    series: [{ name: "this model", points: points(model), look: "line", colour: 1 }, ...others],
  }, cursor);
  if (!coverage) return;
  const { share, values, before } = coverage;
  chart(place, {
    title: `Coverage of the ${share} % interval`, unit: "% of the true values", height: 260, fromZero: true, scales: false,
    domain: [1, model.length],
    series: [
      { name: "as forecast", points: points(values), look: "line", colour: 1 },
      { name: "before calibration", points: points(before ?? []), look: "dashed", colour: 2 },
      { name: `${share} %`, points: points(values.map(() => Number(share))), look: "dashed", colour: 3 },
    ],
  }, cursor);
}

export function attendedView(parent, { rows, columns, weights, label }) {
  const most = Math.max(...weights.flat());
  matrixView(parent, {
    rows, columns, label, least: 14, sparse: true, scale: most || 1, value: (row, column) => weights[row][column],
    tell: (row, column) => [["share of the weight", weights[row][column]]],
  });
}
