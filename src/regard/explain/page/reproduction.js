// How to repeat the run: the command, the signatures of the scores, and every setting.
import { empty, make } from "./dom.js";

function commandCard(command) {
  const code = make("code", {}, command);
  const copy = async (event) => {
    const button = event.currentTarget;
    try {
      await navigator.clipboard.writeText(command);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code); // no clipboard access: select the text so that the user can copy it
      button.textContent = "selected";
    }
  };
  const button = make("button", { type: "button", click: copy }, "copy");
  return make("div", { class: "card command" }, make("pre", { tabindex: 0 }, code), button);
}

function signatureTable(signatures, metrics, scores) {
  const rows = Object.entries(signatures).map(([name, signature]) => make("tr", {},
    make("th", { scope: "row" }, scores[name]?.heading ?? name),
    make("td", { class: "number" }, typeof metrics[name] === "number" ? metrics[name].toFixed(scores[name]?.digits ?? 2) : ""),
    make("td", {}, make("code", {}, signature))));
  return make("div", { class: "scroll" }, make("table", { class: "signatures" }, make("tbody", {}, rows)));
}

function settingsCard(settings) {
  const rows = settings.map(([name, value]) =>
    make("tr", {}, make("th", { scope: "row" }, name), make("td", { dir: "auto" }, value)));
  const table = make("table", { class: "settings" }, make("tbody", {}, rows));
  return make("details", { class: "card" }, make("summary", {}, `Settings (${rows.length})`), table);
}

export function reproductionView(parent, { reproduce, signatures, metrics, scores, settings }) {
  parent.append(reproduce ? commandCard(reproduce) : empty("The command of this run was not recorded."));
  if (Object.keys(signatures).length) {
    parent.append(make("h3", {}, "Signatures of sacreBLEU"), signatureTable(signatures, metrics, scores));
  }
  parent.append(settings.length ? settingsCard(settings) : empty("No settings were recorded."));
}
