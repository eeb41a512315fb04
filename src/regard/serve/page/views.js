// The views of an explanation, one at a time: those of the reports (explain/views.js), asked for when they are looked at.
import { ask, Refused } from "./client.js";
import { empty, make } from "./explain/dom.js";
import { SENTENCE_PARTS } from "./explain/views.js";
import { requestOf } from "./studio_state.js";

// View -> the parts of an explanation of a translation that it needs beside the attention weights.
const NEEDS = {
  alignment: ["mixing"], heads: ["mixing"], step: ["mixing", "computation"], mixing: ["mixing"], search: ["mixing", "searches"],
  attribution: ["mixing", "attribution"], structure: ["mixing", "structure"],
};
export const VIEWS = SENTENCE_PARTS.filter(({ id }) => id in NEEDS);

// Whether a model can have a view at all, as any explanation of it tells: one without attention has no heads.
export function offers(id, explanation) {
  if (id === "step") return Object.keys(explanation.attention).length > 0;
  return !["alignment", "heads", "mixing"].includes(id) || VIEWS.find((view) => view.id === id).has(explanation);
}

const KEPT = 24;
const kept = new Map(); // request -> promise of an explanation

// The explanation of a state by one model; of a translation with the parts of the view. One whose signal is aborted is not kept:
// nobody else shall wait for it.
export function explanationOf(state, model, view, said, signal) {
  const request = { ...requestOf(state, model.name), ...(said === null ? {} : { said }) };
  if (model.task === "translate") request.parts = NEEDS[view] ?? [];
  const key = JSON.stringify(request);
  if (!kept.has(key)) {
    if (kept.size >= KEPT) kept.delete(kept.keys().next().value);
    const promise = ask("/studio/explain", request, signal).then(({ explanations, pictures }) => (explanations ?? pictures)[0]);
    const forget = () => { if (kept.get(key) === promise) kept.delete(key); };
    promise.catch(forget);
    if (signal.aborted) return promise;
    signal.addEventListener("abort", forget, { once: true });
    kept.set(key, promise);
  }
  return kept.get(key);
}

// Draws a view of an explanation into a box. What cannot be drawn says so, and harms nothing else.
export function drawView(box, { has, build }, explanation) {
  if (!has(explanation)) {
    box.append(empty("This model has no such view."));
    return;
  }
  try {
    build(box, explanation);
  } catch (error) {
    document.documentElement.dataset.error = String(error);
    console.error(error);
    box.append(empty("This part could not be drawn."));
  }
}

export function refusedBox(error) {
  if (!(error instanceof Refused)) throw error;
  return make("p", { class: "refused", role: "alert" }, error.message);
}
