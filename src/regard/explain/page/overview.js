// The top of a run's page: the model, a summary in words, and the headline numbers.
import { empty, make } from "./dom.js";
import { compact, duration, exact, headline, languageName, plural } from "./format.js";
import { masthead } from "./masthead.js";

const REASONS = {
  max_steps: "the run made all of its steps",
  minutes: "the run used all of its time",
  patience: "the run stopped when validation no longer improved",
  interrupted: "the run was interrupted",
};

// A summary of the run in a few sentences.
function story({ metrics, highlights, status, unit }) {
  const seconds = metrics.seconds ?? status.seconds;
  const steps = metrics.steps ?? status.steps;
  const sentences = [];
  if (typeof steps === "number") {
    const tokens = metrics.tokens ? ` and ${compact(metrics.tokens)} ${unit}` : "";
    const time = seconds ? ` in ${duration(seconds)}` : "";
    const counted = status.reason === "counted";
    sentences.push(counted ? `Counted ${compact(metrics.tokens ?? 0)} tokens${time}.` : `Trained for ${plural(steps, "step")}${tokens}${time}.`);
  }
  sentences.push(...highlights);
  if (status.reason === "counted") return sentences.join(" ");
  if (status.reason) sentences.push(`It ended because ${REASONS[status.reason] ?? status.reason}.`);
  else if (steps) sentences.push("The log does not say that the run ended: it is still going on, or it was killed.");
  else sentences.push("No training step has been logged.");
  return sentences.join(" ");
}

// Scores are emphasised over times and sizes, except scores with a note.
function figureCard(card, score) {
  return make("div", { class: `card figure${score && !score.note ? " score" : ""}` },
    make("dt", {}, card.label),
    make("dd", { title: exact(card.value) }, headline(card.value, card.kind, score?.digits)),
    card.note && make("dd", { class: "under" }, card.note));
}

export function overview(parent, data) {
  const { source, target } = data.languages;
  const pair = source && target ? `${languageName(source)} → ${languageName(target)}` : null;
  const facts = [pair, data.created, data.version && `regard ${data.version}`].filter(Boolean);
  parent.append(
    masthead("run report"),
    make("h1", { dir: "auto" }, data.title),
    make("p", { class: "facts" }, facts.join(" · ")),
    make("p", { class: "story" }, story(data)),
    make("dl", { class: "figures-grid" }, data.cards.map((card) => figureCard(card, data.scores[card.key]))));
  if (!data.highlights.length && !data.cards.some((card) => card.key in data.scores)) parent.append(empty("The model has not been evaluated yet."));
}
