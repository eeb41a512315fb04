// The page of a run: builds each part from the data in the page.
import { alignmentView } from "./alignment.js";
import { treeView } from "./tree.js";
import { confusionView } from "./confusion.js";
import { empty, make, prose } from "./dom.js";
import { flowView } from "./flow.js";
import { attendedView, baselinesView, forecastsView, stepErrorsView } from "./forecasts.js";
import { exact, plural } from "./format.js";
import { learningView } from "./learning.js";
import { overview } from "./overview.js";
import { reproductionView } from "./reproduction.js";
import { samplesView, sentenceList } from "./sentences.js";
import { explainedPictures, picturedConfusion, worstPictures } from "./thumbnails.js";
import { transitionsView } from "./transitions.js";
import { SENTENCE_PARTS } from "./views.js";
import { wordMapsView } from "./wordmaps.js";

const data = JSON.parse(document.getElementById("data").textContent);
const { languages } = data;

// Adds a part and its entry in the contents. An error in one part is shown there and does not affect the others.
function part(id, name, title, lead, build) {
  const section = make("section", { id, "aria-labelledby": `${id}-title` },
    make("h2", { id: `${id}-title` }, title), lead && make("p", { class: "lead" }, lead));
  document.getElementById("main").append(section);
  document.getElementById("contents").append(make("a", { href: `#${id}` }, name));
  try {
    build(section);
  } catch (error) {
    document.documentElement.dataset.error = String(error);
    console.error(error);
    section.append(empty("This part could not be drawn."));
  }
}

// A white box for a view that has none of its own.
function card(section) {
  const box = make("div", { class: "card" });
  section.append(box);
  return box;
}

function searchLead({ beam, alpha, source }) {
  const explanation = `”. At every step each kept hypothesis is continued with its likeliest words; the ${beam} best `
    + "continuations are kept and the rest is cut. A score is the log-probability divided by the length to the power "
    + `${exact(alpha)}.`;
  return [`Beam search of width ${beam} on “`, prose("bdi", source, languages.source), explanation];
}

overview(document.getElementById("top"), data);

if (data.status.reason !== "counted") { // counting has no curve
  part("learning", "Learning", "How it learned",
    "One step is one update of the weights. Point at a curve for its exact numbers; click on a name to hide or show it.",
    (section) => learningView(section, data));
}

if (data.flow) {
  part("gradients", "Gradients", "How its gradients flow",
    "Each row is a part of the network, the input at the top; each column is a step that was looked at. A gradient runs upwards: "
    + "where rows fade towards the top it vanishes, where they grow stronger it explodes. An update of about a thousandth of the "
    + "weights is customary: blue moved less, orange more.",
    (section) => flowView(section, data.flow));
}

if (data.forecasts) {
  const { windows, shares, covered, by_step: steps, baselines, attended } = data.forecasts;
  part("forecasts", "Forecasts", "Forecasts against truth",
    "Windows of the test part, evenly spaced. The model saw the past of each, and nothing after the vertical line.",
    (section) => forecastsView(section, windows, shares, covered));
  if (baselines) {
    part("baselines", "Baselines", "Beside simple forecasts",
      "MSE and MAE are of standardised values; sMAPE is of the values themselves, and MASE in units of the seasonal naive error in training.",
      (section) => baselinesView(card(section), baselines));
  }
  if (steps) {
    part("horizon", "Horizon", "Errors by horizon", "The mean squared error of each step after the last value that was read, and how often the true value lies in the interval.",
      (section) => stepErrorsView(section, steps));
  }
  if (attended) {
    part("attended", "Attention", "The past that it looks at",
      `The stronger a cell, the more of the weight lies on these past steps: ${attended.label}. Of a linear model these are the sizes of its weights.`,
      (section) => attendedView(card(section), attended));
  }
}

if (data.alignments.length) {
  part("alignment", "Alignment", "Where it looks",
    "Each row is a word that the model wrote; the stronger a cell, the more it looked at that source word while writing.",
    (section) => {
      alignmentView(card(section), data.alignments);
      const more = data.alignments_left_out;
      if (more) section.append(make("p", { class: "note" }, `${plural(more, "sentence")} too long to be drawn.`));
    });
}

if (data.explanation) {
  for (const { id, name, title, lead, build } of SENTENCE_PARTS.filter((one) => one.id in { heads: 0, step: 0 } && one.has(data.explanation))) {
    const { source, model } = data.explanation;
    part(id, name, title, [lead, " The sentence: “", prose("bdi", source.text, model.source_language), "”."],
      (section) => build(card(section), data.explanation));
  }
}

if (data.captioned.length) {
  part("looks", "Where it looks", "Where each word looks",
    "The attention of each word of the caption to the patches of the picture. The first pictures are those whose captions are "
    + "furthest from what people said.",
    (section) => {
      for (const picture of data.captioned) {
        const box = card(section);
        box.append(make("p", {}, prose("b", picture.text || "(nothing)", languages.target),
          make("span", { class: "note" }, ` ${picture.name}`),
          picture.reference !== picture.text && picture.reference !== null && prose("div", `reference: ${picture.reference}`, languages.target, "note")));
        wordMapsView(box, picture);
      }
    });
}

if (data.beam_tree) {
  part("search", "Search", "How it chose", searchLead(data.beam_tree), (section) => treeView(card(section), data.beam_tree));
}

if (data.confusion) {
  part("confusion", "Confusion", "What it takes for what",
    "Each row is a label, each column what the model said: the diagonal is right.",
    (section) => (data.pictures ? picturedConfusion(card(section), data.confusion, data.pictures.cells)
      : confusionView(card(section), data.confusion)));
}

if (data.pictures?.worst.length) {
  part("pictures", "Wrong", "Where it fails",
    "The pictures whose label it found least probable, the worst first. Red: what it said, and how surely. Green: what it is.",
    (section) => worstPictures(card(section), data.pictures.worst));
}

if (data.pictures?.explained.length) {
  part("seen", "Seen", "What it saw in them",
    "Red patches speak for what it said, blue ones against it. “regard explain DIR PICTURE --out page.html” draws every head of any picture.",
    (section) => explainedPictures(card(section), data.pictures.explained));
}

if (data.transitions) {
  part("transitions", "Transitions", "What comes next",
    "Each row is what was read last, each column the token that may follow, each cell its probability. A whole row adds up to 1.",
    (section) => transitionsView(card(section), data.transitions));
}

if (!data.forecasts) { // whose samples are the windows above
  part("samples", "Samples", "The same sentences over time",
    data.samples.length ? "What the model said at each validation. Underlined words are not in the reference." : null,
    (section) => {
      if (data.samples.length) samplesView(section, data.samples, languages);
      else section.append(empty("No validation has translated a sample yet."));
    });
}

if (data.worst.length) {
  part("worst", "Worst", "Where it fails",
    "The evaluated sentences with the lowest chrF, worst first. Marked red: words that the reference lacks; green: words of "
    + "the reference that the output lacks.",
    (section) => sentenceList(section, data.worst, languages));
}

if (data.best.length) {
  part("best", "Best", "Where it succeeds", null, (section) => sentenceList(section, data.best, languages));
}

part("reproduce", "Reproduce", "The same run again", null, (section) => reproductionView(section, data));

document.getElementById("foot").append(
  "This page is one file and loads nothing from elsewhere. Its curves come from the run’s ", make("code", {}, "log.jsonl"),
  ", its scores from ", make("code", {}, "metrics.json"), ".");
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
document.documentElement.dataset.ready = "true";
