// The page of one picture: what each model says of it, and where each word looks.
import { empty, make, prose } from "./dom.js";
import { compact, exact, languageName } from "./format.js";
import { masthead } from "./masthead.js";
import { tokenProbabilities, wordMapsView } from "./wordmaps.js";

const { explanations } = JSON.parse(document.getElementById("data").textContent);

function summary({ model, picture, given, logprob }) {
  const facts = [model.name, languageName(model.target_language), model.kind, `${compact(model.parameters)} parameters`];
  return make("div", { class: "card" },
    make("p", { class: "facts" }, facts.filter(Boolean).join(" · ")),
    prose("p", picture.text || "(nothing)", model.target_language, "story translation"),
    make("p", { class: "figures" }, make("span", {}, given ? "given, not found by a search" : "found by beam search"),
      make("span", {}, `log-probability ${exact(logprob)}`)));
}

// Adds a part and its entry in the contents. An error is shown in the part.
function part(id, name, title, lead, build) {
  const section = make("section", { id, "aria-labelledby": `${id}-title` },
    make("h2", { id: `${id}-title` }, title), make("p", { class: "lead" }, lead));
  document.getElementById("main").append(section);
  document.getElementById("contents").append(make("a", { href: `#${id}` }, name));
  for (const explanation of explanations) {
    const box = make("div", { class: "card" }, explanations.length > 1 && make("h3", { class: "whose" }, explanation.model.name));
    section.append(box);
    try {
      build(box, explanation);
    } catch (error) {
      document.documentElement.dataset.error = String(error);
      console.error(error);
      box.append(empty("This part could not be drawn."));
    }
  }
}

document.getElementById("top").append(
  masthead("explanation"), make("h1", { class: "source-text" }, explanations[0].picture.name),
  make("div", { class: explanations.length > 1 ? "beside" : "alone" }, explanations.map(summary)));

part("looks", "Where it looks", "Where each word looks",
  "The decoder's attention to the patches of the picture while it writes each word.",
  (box, { picture, heads }) => wordMapsView(box, picture, heads));
part("tokens", "Words", "How sure it is", "The probability of each token, given the picture and the tokens before it.",
  (box, explanation) => box.append(tokenProbabilities(explanation)));

document.getElementById("foot").append("This page is one file and loads nothing from elsewhere.");
document.documentElement.dataset.ready = "true";
