// What-if translations beside the original, with their word differences.
import { alignmentView } from "./alignment.js";
import { arrayOf } from "./arrays.js";
import { make, prose } from "./dom.js";
import { exact } from "./format.js";
import { largest, strip } from "./matrix.js";
import { compareWords, marked } from "./sentences.js";

export function whatIfView(parent, explanation) {
  const { target, model, logprob } = explanation;
  for (const change of explanation.what_if) {
    const words = compareWords(change.text, target.text);
    const differences = arrayOf(change.token_changes).data;
    const lost = make("div", { class: "token-changes" }, target.tokens.map((token, index) => make("span", { class: "token-change" },
      make("bdi", {}, token), strip(differences.subarray(index, index + 1), `log p of “${token}”, changed by`, Math.max(1, largest(differences)), 18))));
    const box = make("div", { class: "change" },
      make("h3", { dir: "auto" }, change.name),
      make("dl", { class: "figures-list" },
        make("dt", {}, "says"), make("dd", {}, marked(words.left, "wrong", model.target_language)),
        make("dt", {}, "before"), make("dd", {}, change.text === target.text ? make("span", { class: "same" }, "the same") : marked(words.right, "missing", model.target_language)),
        make("dt", {}, "source"), make("dd", {}, prose("span", change.source, model.source_language, "sentence"))),
      make("p", { class: "figures" },
        make("span", { class: "now" }, `log-probability ${exact(change.logprob)}, before ${exact(logprob)}`),
        make("span", { class: "kept" }, `of the old translation now ${exact(change.kept_logprob)}`)),
      lost);
    if (change.alignment) {
      const map = make("div", {});
      const details = make("details", { toggle: () => {
        if (details.open && !map.hasChildNodes()) alignmentView(map, [change.alignment]);
      } }, make("summary", {}, "Its alignment"), map);
      box.append(details);
    }
    parent.append(box);
  }
}
