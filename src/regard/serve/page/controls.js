// Labelled fields of the studio.
import { make } from "./explain/dom.js";

export function field(name, control) {
  return make("label", { class: "field" }, name, control);
}

// A number; `take` gets it only when it is one within its bounds.
export function number(name, value, { least, most, step }, take) {
  const input = make("input", { type: "number", value, min: least, max: most, step, "aria-label": name, input: () => {
    const given = Number(input.value);
    const fits = input.value.trim() !== "" && Number.isFinite(given) && given >= least && given <= most;
    input.setAttribute("aria-invalid", String(!fits));
    if (fits) take(given);
  } });
  return field(name, input);
}

// options: [[value, name]]
export function select(name, options, value, take) {
  const control = make("select", { "aria-label": name, change: () => take(control.value) },
    options.map(([one, text]) => make("option", { value: one }, text)));
  control.value = value;
  return field(name, control);
}

// How tokens are drawn: temperature, top-k, top-p and the seed.
export function drawingFields(state, change) {
  return [
    number("temperature", state.temperature, { least: 0.05, most: 10, step: 0.1 }, (temperature) => change({ temperature })),
    number("top-k (0: all)", state.top_k, { least: 0, most: 100000, step: 1 }, (top_k) => change({ top_k })),
    number("top-p", state.top_p, { least: 0.01, most: 1, step: 0.05 }, (top_p) => change({ top_p })),
    number("seed", state.seed, { least: 0, most: 4294967295, step: 1 }, (seed) => change({ seed })),
  ];
}

const PACES = [[0, "at once"], [90, "quickly"], [350, "slowly"], [1000, "very slowly"]];

export function paceField(state, change) {
  return select("shown", PACES, String(state.pace), (pace) => change({ pace: Number(pace) }, { again: true }));
}
