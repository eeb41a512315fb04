// How a run learned: its curves, and every validation as a table.
import { chart, sharedCursor } from "./curves.js";
import { empty, make } from "./dom.js";
import { duration, exact, grouped, plural } from "./format.js";

const COLUMNS = [
  ["step", "step", grouped],
  ["seconds", "time", duration],
  ["loss", "loss", exact],
  ["perplexity", "perplexity", exact],
  ["bleu", "BLEU", exact],
  ["chrf", "chrF", exact],
  ["exact_match", "exact match", (part) => `${exact(100 * part)} %`],
  ["perplexity_word", "perplexity per word", exact],
  ["bits_per_byte", "bits per byte", exact],
  ["accuracy", "accuracy", (part) => `${exact(100 * part)} %`],
  ["f1", "F1", exact],
];

function validationTable(validations, best) {
  const columns = COLUMNS.filter(([name]) => validations.some((event) => event[name] !== null));
  const rows = validations.map((event) => make("tr", { class: event.step === best ? "right" : null },
    columns.map(([name, , spell], index) =>
      make(index ? "td" : "th", { scope: index ? null : "row" }, event[name] === null ? "–" : spell(event[name])))));
  const head = make("tr", {}, columns.map(([, title]) => make("th", { scope: "col" }, title)));
  const table = make("table", { class: "numbers" }, make("thead", {}, head), make("tbody", {}, rows));
  const title = `Every validation (${validations.length}${best === null ? "" : "; the best is bold"})`;
  return make("details", { class: "card" }, make("summary", {}, title), make("div", { class: "scroll" }, table));
}

// The large charts of a run and the small ones, by what the log holds.
function chartSpecs(curves) {
  const line = (name, points, look = "line", colour = 1) => ({ name, points, look, colour });
  const large = [
    {
      title: "Loss", unit: "nats per target token", scales: true, lost: curves.lost_steps,
      series: [
        line("every step", curves.loss, "faint"),
        line("training", curves.loss_smooth),
        { ...line("with label smoothing", curves.objective_smooth, "dashed", 3), hidden: true },
        line("validation", curves.validation_loss, "dots", 2),
      ],
    },
    {
      title: "Quality", unit: "validation", fromZero: true,
      series: [line("BLEU", curves.bleu, "dots", 2), line("chrF", curves.chrf, "dots", 3)],
    },
  ];
  const small = [
    { title: "Learning rate", series: [line("learning rate", curves.learning_rate)] },
    {
      title: "Gradient norm", scales: true, lost: curves.lost_steps,
      series: [line("every step", curves.gradient_norm, "faint"), line("mean", curves.gradient_norm_smooth)],
    },
    { title: "Speed", unit: "target tokens per second", series: [line("tokens per second", curves.speed_smooth)] },
  ];
  return {
    large: large.map((spec) => ({ ...spec, height: 300 })),
    small: small.map((spec) => ({ ...spec, height: 170, fromZero: true })),
  };
}

export function learningView(parent, { curves, validations, status }) {
  const specs = chartSpecs(curves);
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
  if (validations.length) parent.append(validationTable(validations, curves.best_step));
}
