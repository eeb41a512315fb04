// The page of a failure analysis: a summary of all checks, then each check with its numbers, tables and examples.
import { empty, make, prose } from "./dom.js";
import { exact, languageName, plural } from "./format.js";
import { masthead } from "./masthead.js";

const data = JSON.parse(document.getElementById("data").textContent);
const [sourceLanguage, targetLanguage] = data.languages;
const WORDS = { fault: "fault", look: "worth a look", sound: "sound", "left out": "left out" };

// A number with as many digits as a reader needs.
function short(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  const size = Math.abs(value);
  if (Number.isInteger(value)) return exact(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(size >= 10 ? 1 : 2);
}

function badge(status) {
  return make("span", { class: `badge ${status.replace(" ", "-")}` }, WORDS[status]);
}

function withUnit(number) {
  return number.value === null ? "–" : `${short(number.value)} ${number.unit}`.trim();
}

function summaryTable() {
  const rows = data.findings.map((finding) => make("tr", {},
    make("th", { scope: "row" }, finding.status === "left out" ? finding.title : make("a", { href: `#${finding.check}` }, finding.title)),
    make("td", {}, badge(finding.status)),
    make("td", { class: "number" }, finding.numbers.length ? withUnit(finding.numbers[0]) : "–"),
    make("td", { class: "told" }, finding.verdict)));
  return make("table", { class: "checks" }, make("thead", {}, make("tr", {},
    ...["check", "verdict", "number", ""].map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, rows));
}

// The interval as a line on a scale: shares from 0 to 100, differences around 0, others from 0 to the largest bound.
function intervalBar(number) {
  if (!number.interval) return null;
  const [low, high] = number.interval;
  const isShare = number.unit === "%";
  const reach = isShare ? 100 : Math.max(Math.abs(low), Math.abs(high), Math.abs(number.value)) || 1;
  const start = isShare || low >= 0 ? 0 : -reach;
  const at = (value) => `${(100 * (Math.min(reach, Math.max(start, value)) - start)) / (reach - start)}%`;
  return make("span", { class: "interval-bar", "aria-hidden": "true", style: `--low: ${at(low)}; --high: ${at(high)}; --value: ${at(number.value)}` },
    make("i", {}), make("b", {}));
}

function numberTable(numbers) {
  return make("table", { class: "findings-numbers" }, make("tbody", {}, numbers.map((number) => make("tr", {},
    make("th", { scope: "row" }, number.label),
    make("td", { class: "number" }, withUnit(number)),
    make("td", { class: "bar-cell" }, intervalBar(number)),
    make("td", { class: "note-cell" },
      number.interval ? `${short(number.interval[0])} to ${short(number.interval[1])}` : "",
      number.count === null ? "" : `${number.interval ? ", " : ""}of ${number.count.toLocaleString("en-US")}`)))));
}

function plainTable({ caption, columns, rows }) {
  const isNumber = columns.map((_, place) => rows.every((row) => row[place] === null || typeof row[place] === "number"));
  return make("div", { class: "scroll" }, make("table", { class: "findings-table" },
    caption && make("caption", {}, caption),
    make("thead", {}, make("tr", {}, columns.map((name, place) => make("th", { scope: "col", class: isNumber[place] ? "number" : null }, name)))),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map((value, place) =>
      make("td", { class: isNumber[place] ? "number" : null }, short(value))))))));
}

function exampleCard(example) {
  const language = data.task === "translate" ? sourceLanguage : targetLanguage;
  const lines = [["input", example.source, language], ["output", example.output || "(nothing)", targetLanguage]];
  if (example.reference !== null) lines.push(["reference", example.reference, targetLanguage]);
  return make("li", { class: "card sentence-card" },
    make("dl", {}, lines.flatMap(([name, text, lang]) => [make("dt", {}, name), prose("dd", text, lang, "sentence")])),
    example.note && make("p", { class: "figures" }, example.note));
}

function checkSection(finding) {
  const section = make("section", { id: finding.check, "aria-labelledby": `${finding.check}-title` },
    make("h2", { id: `${finding.check}-title` }, finding.title, " ", badge(finding.status)),
    make("p", { class: "lead" }, `${finding.verdict[0].toUpperCase()}${finding.verdict.slice(1)}.`));
  const box = make("div", { class: "card" }, numberTable(finding.numbers), finding.tables.map(plainTable));
  section.append(box);
  if (finding.examples.length) {
    section.append(make("h3", {}, "Examples"), make("ul", { class: "sentences" }, finding.examples.map(exampleCard)));
  }
  return section;
}

function story() {
  const count = (status) => data.findings.filter((finding) => finding.status === status).length;
  const faults = count("fault");
  const told = [faults ? `${plural(faults, "check")} found a fault` : "No check found a fault",
    `${count("look")} ${count("look") === 1 ? "is" : "are"} worth a look`, `${count("sound")} found nothing`];
  return `${told.join(", ")}. ${count("left out") ? `${plural(count("left out"), "check")} did not apply.` : ""}`;
}

const pair = data.task === "translate"
  ? `${languageName(sourceLanguage) ?? "unknown"} → ${languageName(targetLanguage) ?? "unknown"}`
  : `language model${targetLanguage ? `, ${languageName(targetLanguage)}` : ""}`;
const { most, beam, seed } = data.settings;
document.getElementById("top").append(
  masthead("failure analysis"),
  make("h1", { dir: "auto" }, data.model),
  make("p", { class: "facts" }, [pair, `${data.test_set}, ${plural(data.sentences, "sentence")}`, data.engine].join(" · ")),
  make("p", { class: "story" }, story()),
  data.findings.length ? make("div", { class: "card scroll" }, summaryTable()) : empty("No check was run."));

for (const finding of data.findings.filter((one) => one.status !== "left out")) {
  document.getElementById("contents").append(make("a", { href: `#${finding.check}` }, finding.title));
  document.getElementById("main").append(checkSection(finding));
}

document.getElementById("foot").append(
  "This page is one file and loads nothing from elsewhere. ",
  `Training text: ${data.training_text}. At most ${most} sentences, beam ${beam}, seed ${seed}. `,
  "Shares and means have 95 % confidence intervals. docs/probing.md says how each number is computed.");
document.documentElement.dataset.ready = "true";
