// The learning curves of a run, and a table of its validations.
import { chart, sharedCursor } from "./curves.js";
import { empty, make } from "./dom.js";
import { duration, exact, grouped, plural } from "./format.js";

const COLUMNS = [
  ["step", "step", grouped],
  ["seconds", "time", duration],
  ["loss", "loss", exact],
]; // columns of every validation; the logged scores follow
const DRAWN_AT_FIRST = 2; // curves of a chart that are visible at first; a click on a name shows the others
const CURVE_COLOURS = [2, 3, 1];

function validationTable({ validations, logged_scores: names, scores }, best) {
  const spelled = ({ unit }) => (unit === "%" ? (part) => `${exact(100 * part)} %` : exact);
  const columns = [...COLUMNS, ...names.map((name) => [name, scores[name].heading, spelled(scores[name])])].filter(([name]) => validations.some((event) => event[name] !== null));
  const rows = validations.map((event) => make("tr", { class: event.step === best ? "right" : null },
    columns.map(([name, , spell], index) =>
      make(index ? "td" : "th", { scope: index ? null : "row" }, event[name] === null ? "–" : spell(event[name])))));
  const head = make("tr", {}, columns.map(([, title]) => make("th", { scope: "col" }, title)));
  const table = make("table", { class: "numbers" }, make("thead", {}, head), make("tbody", {}, rows));
  const title = `Every validation (${validations.length}${best === null ? "" : "; the best is bold"})`;
  return make("details", { class: "card" }, make("summary", {}, title), make("div", { class: "scroll" }, table));
}

// Charts of the scores that were logged. Those with the same largest value share a chart; one without has its own.
function scoreCharts(curves, scores) {
  const charts = new Map();
  for (const name of Object.keys(curves)) {
    const key = scores[name].highest === null ? name : `${scores[name].better} ${scores[name].highest}`;
    charts.set(key, [...(charts.get(key) ?? []), name]);
  }
  return [...charts.values()].map((names) => {
    const [first] = names.map((name) => scores[name]);
    const series = names.map((name, index) => ({
      name: scores[name].column, look: "dots", colour: CURVE_COLOURS[index % CURVE_COLOURS.length], hidden: index >= DRAWN_AT_FIRST,
      points: scores[name].unit === "%" ? curves[name].map(([step, part]) => [step, 100 * part]) : curves[name],
    }));
    const lower = first.better === "lower";
    const unit = ["validation", names.length === 1 && first.unit, lower && "lower is better"].filter(Boolean).join(", ");
    return { title: names.length > 1 ? "Quality" : first.label, unit, fromZero: !lower, scales: lower, series };
  });
}

// The large charts of a run and the small ones, by the fields of its log.
function chartSpecs(curves, scores, unit) {
  const line = (name, points, look = "line", colour = 1) => ({ name, points, look, colour });
  const large = [
    {
      title: "Loss", unit: unit === "values" ? "mean squared error" : `nats per ${unit.replace(/s$/, "")}`, scales: true, lost: curves.lost_steps,
      series: [
        line("every step", curves.loss, "faint"),
        line("training", curves.loss_smooth),
        { ...line(unit === "values" ? "with quantiles" : "with label smoothing", curves.objective_smooth, "dashed", 3), hidden: true },
        line("validation", curves.validation_loss, "dots", 2),
      ],
    },
    ...scoreCharts(curves.scores, scores),
  ];
  const small = [
    { title: "Learning rate", series: [line("learning rate", curves.learning_rate)] },
    {
      title: "Gradient norm", scales: true, lost: curves.lost_steps,
      series: [line("every step", curves.gradient_norm, "faint"), line("mean", curves.gradient_norm_smooth)],
    },
    { title: "Speed", unit: `${unit} per second`, series: [line(`${unit.split(" ").at(-1)} per second`, curves.speed_smooth)] },
  ];
  return {
    large: large.map((spec) => ({ ...spec, height: 300 })),
    small: small.map((spec) => ({ ...spec, height: 170, fromZero: true })),
  };
}

export function learningView(parent, data) {
  const { curves, validations, scores, status, unit } = data;
  const specs = chartSpecs(curves, scores, unit);
  const points = [...specs.large, ...specs.small].flatMap((spec) => spec.series.flatMap((curve) => curve.points));
  if (points.length === 0) {
    const nothing = "No step has been logged yet: there is nothing to draw.";
    parent.append(empty(status.steps ? "The log holds no finite number." : nothing));
    return;
  }
  const lost = curves.lost_steps;
  if (lost.length) {
    parent.append(make("p", { class: "warning" }, `${plural(lost.length, "step")} had a loss or gradient that is not a finite `
      + `number, the first at step ${grouped(lost[0])}; crosses on the axis show where.`));
  }
  const steps = points.map((point) => point[0]).concat(lost);
  const domain = [Math.min(...steps), Math.max(...steps)];
  const cursor = sharedCursor();
  for (const size of ["large", "small"]) {
    const place = make("div", { class: `charts ${size}` });
    parent.append(place);
    for (const spec of specs[size]) {
      if (spec.series.some((curve) => curve.points.length)) chart(place, { ...spec, domain, best: curves.best_step }, cursor);
    }
    if (size === "large" && validations.length === 0) {
      place.append(empty("No validation has been made yet: its scores will be drawn here."));
    }
  }
  if (validations.length) parent.append(validationTable(data, curves.best_step));
}
