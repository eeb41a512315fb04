// Labelled fields of the studio.
import { make } from "./explain/dom.js";

export function field(name, control) {
  return make("label", { class: "field" }, name, control);
}

const PAUSE = 250; // milliseconds without a key, after which a number counts: 10 is not searched as 1 first

// The number `key` of the state. One that is out of bounds stays out of the state; `state.wrong` says what is wrong with it, so that
// nothing is shown as if it had been used (`checkNumbers`).
export function number(name, key, state, { least, most, step }, change) {
  const whole = step === 1;
  const input = make("input", { type: "number", value: state[key], min: least, max: most, step, "aria-label": name, input: () => {
    const fits = check();
    change(fits ? { [key]: Number(input.value) } : {}, { pause: PAUSE });
  } });
  function check() {
    const [typed, given] = [input.value.trim(), Number(input.value)]; // letters leave "" in a field of numbers
    const fits = typed !== "" && given >= least && given <= most && (!whole || Number.isInteger(given));
    input.setAttribute("aria-invalid", String(!fits));
    if (fits) delete state.wrong[key];
    else state.wrong[key] = `${name}${typed && ` = ${typed}`}: must be a ${whole ? "whole " : ""}number from ${least} to ${most}`;
    return fits;
  }
  check(); // a link may hold anything
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
    number("temperature", "temperature", state, { least: 0.05, most: 10, step: 0.1 }, change),
    number("top-k (0: all)", "top_k", state, { least: 0, most: 100000, step: 1 }, change),
    number("top-p", "top_p", state, { least: 0.01, most: 1, step: 0.05 }, change),
    number("seed", "seed", state, { least: 0, most: 4294967295, step: 1 }, change),
  ];
}

const PACES = [[0, "at once"], [90, "quickly"], [350, "slowly"], [1000, "very slowly"]];

export function paceField(state, change) {
  return select("shown", PACES, String(state.pace), (pace) => change({ pace: Number(pace) }, { again: true }));
}
