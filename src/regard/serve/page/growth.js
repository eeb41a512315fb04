// A translation that grows token by token, with the tree of its search; its words can be masked, replaced and forced.
import { openChoices } from "./choices.js";
import { Refused, events } from "./client.js";
import { arrayOf } from "./explain/arrays.js";
import { make, prose } from "./explain/dom.js";
import { exact } from "./explain/format.js";
import { compareWords, marked } from "./explain/sentences.js";
import { treeView } from "./explain/tree.js";
import { number, paceField, select, drawingFields } from "./controls.js";
import { share } from "./shares.js";
import { checkNumbers, requestOf, timesOf } from "./studio_state.js";
import { explanationOf } from "./views.js";

export function translationControls(state, change, limits) {
  const kinds = [["false", "beam"], ["true", "sampling"]];
  return [
    select("search", kinds, String(state.sample), (value) => change({ sample: value === "true" }, { controls: true })),
    ...(state.sample
      ? [number("samples", "samples", state, { least: 1, most: limits.beam, step: 1 }, change), ...drawingFields(state, change)]
      : [number("beam", "beam", state, { least: 1, most: limits.beam, step: 1 }, change),
        number("alpha", "alpha", state, { least: 0, most: 10, step: 0.1 }, change)]),
    paceField(state, change),
  ];
}

const still = matchMedia("(prefers-reduced-motion: reduce)");

export function pause(milliseconds, signal) {
  if (!milliseconds || still.matches) return Promise.resolve();
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
  });
}

// The card of one model. `run` watches a search and returns the text to explain, or null for the model's own.
export function translationColumn(model, change, named) {
  const words = make("p", { class: "words", "aria-label": "Source words" });
  const grown = make("p", { class: "grown", "aria-label": `Translation by ${model.name}`, dir: "auto" });
  const facts = make("p", { class: "figures" });
  const before = make("div", { class: "before note" });
  const others = make("ol", { class: "others" });
  const rest = make("details", { class: "nbest" }, make("summary", {}, "All hypotheses"), others);
  const tree = make("div", { class: "tree-live" });
  const problem = make("p", { class: "refused", role: "alert", hidden: true });
  const box = make("section", { class: "card live", "aria-label": model.name },
    make("div", { class: "head" }, make("h2", { hidden: !named }, model.name)), words, grown, problem, before, facts, rest, tree);
  let state = null;

  async function run(next, signal) {
    state = next;
    problem.hidden = true;
    before.replaceChildren();
    facts.replaceChildren();
    others.replaceChildren();
    rest.hidden = true;
    tree.replaceChildren();
    grown.replaceChildren();
    sourceWords();
    if (!state.text.trim()) return null;
    grown.setAttribute("aria-busy", "true");
    const nodes = [{ id: 0, parent: null, text: "", logprob: 0, score: 0, state: "kept", step: 0, bound: null, hopeful: null }];
    let show = null;
    try {
      checkNumbers(state);
      for await (const { event, data } of events("/studio/watch", requestOf(state, model.name), signal)) {
        if (signal.aborted) return null;
        if (event === "refused") throw new Refused(400, data.message);
        const all = event === "done" ? data.nodes : nodes;
        if (event === "step") {
          nodes.push(...data.nodes);
          if (data.text !== null) grown.textContent = data.text;
        }
        if (show === null) show = treeView(tree, { nodes: all });
        else show({ nodes: all });
        const scroll = tree.querySelector(".scroll");
        if (event === "step") scroll.scrollLeft = scroll.scrollWidth;
        else {
          scroll.scrollLeft = 0;
          done(data);
          return state.sample ? data.hypotheses[0].text : null;
        }
        await pause(state.pace, signal);
      }
    } catch (error) {
      if (signal.aborted) return null;
      if (!(error instanceof Refused)) throw error;
      problem.textContent = error.message;
      problem.hidden = false;
      throw error;
    } finally {
      grown.setAttribute("aria-busy", "false");
    }
    return null;
  }

  function sourceWords() {
    const given = state.text.split(/\s+/u).filter(Boolean);
    words.replaceChildren(...given.flatMap((word) => {
      const gone = state.mask.includes(word) || state.replace.some((pair) => pair.startsWith(`${word}=`));
      const button = make("button", {
        type: "button", class: `word-button${gone ? " gone" : ""}`, "aria-haspopup": "listbox", click: () => wordMenu(word, button),
      }, word);
      return [button, " "];
    }));
  }

  function done({ hypotheses, before: old }) {
    const [best] = hypotheses;
    const forced = state.prefix ? state.prefix.split(/\s+/u).filter(Boolean).length : 0;
    const pieces = best.text.split(/\s+/u).filter(Boolean);
    grown.replaceChildren(...(pieces.length ? pieces.flatMap((word, index) => {
      const button = make("button", {
        type: "button", class: `word-button${index < forced ? " pinned" : ""}`, "aria-haspopup": "listbox", click: () => forceMenu(pieces, index, button),
      }, word);
      return [button, " "];
    }) : ["(nothing)"]));
    facts.replaceChildren(make("span", {}, `log-probability ${exact(best.logprob)}`), make("span", {}, `score ${exact(best.score)}`),
      best.finished ? "" : make("span", {}, "cut at the longest length"));
    if (old !== null) {
      const compared = compareWords(best.text, old);
      before.replaceChildren("before: ", old === best.text ? make("span", { class: "same" }, "the same") : marked(compared.right, "missing", null));
    }
    rest.hidden = hypotheses.length < 2;
    others.replaceChildren(...hypotheses.map((one) => make("li", {}, prose("span", one.text || "(nothing)", null, "sentence"),
      make("span", { class: "note" }, `  ${exact(one.score)}`))));
  }

  // What can be done with a word of the source.
  function wordMenu(word, button) {
    const times = timesOf(word, state.text); // a change is one of a word, in every place that it has
    const [it, whose] = times > 1 ? [`each “${word}”`, "them"] : ["it", "it"];
    const menu = openChoices(button, times > 1 ? `“${word}”, ${times} times` : `“${word}”`);
    const masked = state.mask.includes(word);
    const plain = (text) => make("span", {}, text);
    menu.fill([
      masked ? { label: plain(`Show ${it} to the model again`), say: `Show ${it} again`, plain: true, take: () => change({ mask: state.mask.filter((one) => one !== word) }) }
        : { label: plain(`Mask ${it}: the model does not see ${whose}`), say: `Mask ${it}`, plain: true, take: () => change({ mask: [...new Set([...state.mask, word])] }) },
    ]);
    menu.field(`Replace ${it} by`, (other) => change({
      replace: [...state.replace.filter((pair) => !pair.startsWith(`${word}=`)), `${word}=${other}`], mask: state.mask.filter((one) => one !== word),
    }));
  }

  // What the model could have said in the place of a word, by its own probabilities.
  async function forceMenu(pieces, index, button) {
    const start = pieces.slice(0, index).join(" ");
    const take = (word) => () => change({ prefix: start ? `${start} ${word}` : word });
    const menu = openChoices(button, "Say instead, and go on from there");
    menu.field("Another word", (word) => take(word)());
    try {
      const explanation = await explanationOf(state, model, "heads", state.sample ? pieces.join(" ") : null, null);
      const step = explanation.target.word_of.indexOf(index);
      const probabilities = explanation.outputs.probabilities;
      const values = arrayOf(probabilities);
      const found = step < 0 ? [] : explanation.outputs.tokens[step].map((piece, rank) => ({ piece, share: values.at(step, rank) }));
      const begins = found.filter(({ piece }) => !piece.startsWith("<"));
      const bare = ({ piece }) => piece.replaceAll("\u2581", " ").trim();
      menu.fill(begins.filter((one) => bare(one)).map((one) => ({
        label: [make("strong", {}, bare(one)), make("span", { class: "note" }, ` ${share(one.share)}`)], say: bare(one), take: take(bare(one)),
      })));
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof Refused)) throw error;
      menu.fill([], error.message);
    }
  }

  return { box, run };
}
