// The page of one sentence: draws each part of the explanations for every model, side by side.
import { empty, make, prose } from "./dom.js";
import { compact, exact, languageName } from "./format.js";
import { masthead } from "./masthead.js";
import { SENTENCE_PARTS } from "./views.js";

const { explanations } = JSON.parse(document.getElementById("data").textContent);

// Adds a part and its entry in the contents, for the explanations that have it. An error is shown in the part.
function part({ id, name, title, lead, has, build }) {
  const shown = explanations.filter(has);
  if (!shown.length) return;
  const columns = make("div", { class: shown.length > 1 ? "beside" : "alone" });
  const section = make("section", { id, "aria-labelledby": `${id}-title` },
    make("h2", { id: `${id}-title` }, title), make("p", { class: "lead" }, lead), columns);
  document.getElementById("main").append(section);
  document.getElementById("contents").append(make("a", { href: `#${id}` }, name));
  for (const explanation of shown) {
    const box = make("div", { class: "card" }, explanations.length > 1 && make("h3", { class: "whose" }, explanation.model.name));
    columns.append(box);
    try {
      build(box, explanation);
    } catch (error) {
      document.documentElement.dataset.error = String(error);
      console.error(error);
      box.append(empty("This part could not be drawn."));
    }
  }
}

const ORIGINS = {
  translate: "found by beam search", generate: "the text, token by token", classify: "the most probable label",
  pretrain: "the most probable piece in each gap",
};

function summary({ model, target, given, logprob, task }) {
  const languages = [model.source_language, model.target_language].map(languageName);
  const facts = [languages.every(Boolean) && languages.join(" → "), model.kind, `${compact(model.parameters)} parameters`];
  return make("div", { class: "card" },
    make("p", { class: "facts" }, [model.name, ...facts].filter(Boolean).join(" · ")),
    prose("p", target.text || "(nothing)", model.target_language, "story translation"),
    make("p", { class: "figures" }, make("span", {}, given && task === "translate" ? "given, not found by a search" : ORIGINS[task]),
      make("span", {}, `log-probability ${exact(logprob)}`)));
}

const [first] = explanations;
document.getElementById("top").append(
  masthead("explanation"), prose("h1", first.source.text, first.model.source_language, "source-text"),
  make("div", { class: explanations.length > 1 ? "beside" : "alone" }, explanations.map(summary)));

for (const one of SENTENCE_PARTS) part(one);

document.getElementById("foot").append("This page is one file and loads nothing from elsewhere.");
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
document.documentElement.dataset.ready = "true";
