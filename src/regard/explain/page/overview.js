// The top of a run's page: what was trained, what it came to in a sentence, and the headline numbers.
import { draw, empty, make } from "./dom.js";
import { compact, duration, exact, grouped, headline, languageName, plural } from "./format.js";

const REASONS = {
  max_steps: "the run made all of its steps",
  minutes: "the run used all of its time",
  patience: "the run stopped when validation no longer improved",
  interrupted: "the run was interrupted",
  counted: "its corpus was counted",
};

function eye() {
  const lid = "M2 10C8 1.5 24 1.5 30 10C24 18.5 8 18.5 2 10Z";
  return draw("svg", { class: "eye", viewBox: "0 0 32 20", width: 32, height: 20, "aria-hidden": "true" },
    draw("path", { d: lid, fill: "none", stroke: "currentColor", "stroke-width": 2 }),
    draw("circle", { cx: 16, cy: 10, r: 4.6, fill: "currentColor" }));
}

function themeButton() {
  const root = document.documentElement;
  const flip = () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    root.dataset.chosen = "true";
    try {
      localStorage.setItem("regard-theme", root.dataset.theme);
    } catch {
      // a file opened from disk may have no storage: the choice lasts as long as the page
    }
  };
  const icon = draw("svg", { viewBox: "0 0 20 20", width: 18, height: 18, "aria-hidden": "true" },
    draw("circle", { cx: 10, cy: 10, r: 7.5, fill: "none", stroke: "currentColor", "stroke-width": 1.5 }),
    draw("path", { d: "M10 2.5a7.5 7.5 0 0 1 0 15z", fill: "currentColor" }));
  const name = "Dark or light";
  return make("button", { type: "button", class: "theme", "aria-label": name, title: name, click: flip }, icon);
}

// What the run came to, in a few sentences.
function story({ metrics, status }) {
  const seconds = metrics.seconds ?? status.seconds;
  const steps = metrics.steps ?? status.steps;
  const sentences = [];
  if (typeof steps === "number") {
    const tokens = metrics.tokens ? ` and ${compact(metrics.tokens)} target tokens` : "";
    sentences.push(`Trained for ${plural(steps, "step")}${tokens}${seconds ? ` in ${duration(seconds)}` : ""}.`);
  }
  if (typeof metrics.exact_match === "number" && metrics.sentences) {
    const right = grouped(Math.round(metrics.exact_match * metrics.sentences));
    const among = metrics.set === "test" ? "held-out test sentences" : `${metrics.set ?? "evaluated"} sentences`;
    sentences.push(`${right} of ${grouped(metrics.sentences)} ${among} are translated word for word as the reference.`);
  }
  if (status.reason) sentences.push(`It ended because ${REASONS[status.reason] ?? status.reason}.`);
  else if (steps) sentences.push("The log does not say that the run ended: it is still going on, or it was killed.");
  else sentences.push("No training step has been logged.");
  return sentences.join(" ");
}

function figureCard(card) {
  return make("div", { class: `card figure ${card.key}` },
    make("dt", {}, card.label),
    make("dd", { title: exact(card.value) }, headline(card.value, card.kind)),
    card.note && make("dd", { class: "under" }, card.note));
}

export function overview(parent, data) {
  const { source, target } = data.languages;
  const pair = source && target ? `${languageName(source)} → ${languageName(target)}` : null;
  const facts = [pair, data.created, data.version && `regard ${data.version}`].filter(Boolean);
  parent.append(
    make("div", { class: "brand" },
      eye(), make("span", {}, "regard"), make("span", { class: "kind" }, "run report"), themeButton()),
    make("h1", { dir: "auto" }, data.title),
    make("p", { class: "facts" }, facts.join(" · ")),
    make("p", { class: "story" }, story(data)),
    make("dl", { class: "figures-grid" }, data.cards.map(figureCard)));
  if (!data.cards.some((card) => ["perplexity", "accuracy"].includes(card.key))) parent.append(empty("The model has not been evaluated yet."));
}
