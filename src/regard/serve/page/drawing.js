// A text that a language model draws, token by token, and of each token what it was drawn from: what temperature, top-k and top-p left of it.
import { Refused, events } from "./client.js";
import { drawingFields, number, paceField } from "./controls.js";
import { make } from "./explain/dom.js";
import { exact, grouped } from "./explain/format.js";
import { share } from "./shares.js";
import { pause } from "./growth.js";
import { checkNumbers, requestOf } from "./studio_state.js";

export function drawingControls(state, change) {
  return [
    ...drawingFields(state, change),
    number("most tokens", "max_length", state, { least: 1, most: 400, step: 1 }, change),
    paceField(state, change),
  ];
}

export function drawingColumn(model, change, named) {
  const text = make("p", { class: "grown", "aria-label": `Text by ${model.name}`, dir: "auto" });
  const facts = make("p", { class: "figures" });
  const panel = make("div", { class: "card" });
  const problem = make("p", { class: "refused", role: "alert", hidden: true });
  const box = make("section", { class: "live", "aria-label": model.name },
    make("div", { class: "drawn" },
      make("div", { class: "card" }, make("div", { class: "head" }, make("h2", { hidden: !named }, model.name)), text, problem, facts), panel));
  let state = null;
  let steps = [];
  let chosen = null; // the step that the reader has chosen; null: the newest

  async function run(next, signal) {
    state = next;
    [steps, chosen] = [[], null];
    problem.hidden = true;
    facts.replaceChildren();
    panel.replaceChildren();
    text.replaceChildren(make("span", { class: "prompt" }, state.text));
    text.setAttribute("aria-busy", "true");
    try {
      checkNumbers(state);
      for await (const { event, data } of events("/studio/watch", requestOf(state, model.name), signal)) {
        if (signal.aborted) return null;
        if (event === "refused") throw new Refused(400, data.message);
        if (event === "step") {
          add(data);
          await pause(state.pace, signal);
        } else {
          facts.replaceChildren(make("span", {}, `log-probability ${exact(data.logprob)}`), make("span", {}, data.finished ? "ended by the model" : "cut at the most tokens"),
            data.truncated ? make("span", { class: "refused" }, "the prompt was too long; only its end was read") : "");
          return state.text + data.text;
        }
      }
    } catch (error) {
      if (signal.aborted) return null;
      if (!(error instanceof Refused)) throw error;
      problem.textContent = error.message;
      problem.hidden = false;
      throw error;
    } finally {
      text.setAttribute("aria-busy", "false");
    }
    return null;
  }

  // One more token of the text: a button that shows its step.
  function add(step) {
    if (step.step > state.max_length && !step.ends) return; // only looked whether the text ends here
    const number_ = steps.length;
    const old = steps.at(-1)?.text ?? "";
    steps.push(step);
    const added = step.ends ? "⏹" : step.text.startsWith(old) ? step.text.slice(old.length) : step.candidates[step.drawn].token;
    const button = make("button", {
      type: "button", class: "word-button token", "aria-label": `step ${step.step}: ${step.candidates[step.drawn].token}`,
      title: step.ends ? "the end" : null, click: () => show(number_),
    }, added || "·");
    text.append(button);
    if (chosen === null) show(number_, false);
  }

  function show(at, kept = true) {
    if (kept) chosen = at;
    const buttons = text.querySelectorAll(".token");
    buttons.forEach((button, index) => button.classList.toggle("chosen", index === at));
    const step = steps[at];
    const before = state.text + (steps[at - 1]?.text ?? "");
    const cut = { "top-k": "cut by top-k", "top-p": "cut by top-p" };
    const rows = step.candidates.map((one, place) => {
      const go = () => change({ text: before + spelled(one.token) });
      const can = !one.token.startsWith("<");
      return make("tr", {
        class: `${one.cut ? "cut" : ""}${place === step.drawn ? " taken" : ""}`, tabindex: can ? 0 : null, title: can ? "Go on from here with this token" : null,
        click: can ? go : null, keydown: can ? (event) => { if (event.key === "Enter") go(); } : null,
      },
      make("th", { scope: "row" }, make("bdi", {}, one.token)), make("td", { class: "number logit" }, exact(one.logit)),
      make("td", { class: "number" }, share(one.probability)), make("td", { class: "number" }, one.cut ? cut[one.cut] : share(one.drawn)),
      make("td", { class: "bar-cell" }, make("span", { class: "duo" },
        make("i", { style: `--share:${(100 * one.probability).toFixed(2)}%` }), make("b", { style: `--share:${(100 * (one.drawn || one.tempered)).toFixed(2)}%` }))));
    });
    const head = ["token", "logit", "model", "drawn", ""].map((name, index) => make("th", { scope: "col", class: index && index < 4 ? `number${index === 1 ? " logit" : ""}` : null }, name));
    panel.replaceChildren(
      make("div", { class: "head" }, make("h2", {}, `Step ${step.step}`),
        make("span", { class: "note" }, `${grouped(step.left)} of ${grouped(step.all)} tokens may be drawn; entropy ${step.entropy.toFixed(2)} bits`)),
      make("div", { class: "scroll" }, make("table", { class: "candidates" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows))),
      make("p", { class: "legend" }, make("span", {}, make("i", { class: "duo-key model" }), " the model’s probability"),
        make("span", {}, make("i", { class: "duo-key" }), " with temperature and cuts"), make("span", {}, make("i", { class: "duo-key taken" }), " drawn")));
  }

  return { box, run };
}

function spelled(piece) {
  return piece.replaceAll("\u2581", " ");
}
