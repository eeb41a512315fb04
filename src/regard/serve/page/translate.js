// The page `/`: translates as you type, sentence by sentence.
import { openChoices } from "./choices.js";
import { Refused, load } from "./client.js";
import { documents } from "./documents.js";
import { editor } from "./editor.js";
import { draw, make } from "./explain/dom.js";
import { grouped, languageName } from "./explain/format.js";
import { masthead } from "./explain/masthead.js";
import { keyForm } from "./key.js";
import { output } from "./output.js";
import { pinnedChoices } from "./pinned.js";
import { sentencesOf, wordsOf } from "./sentences.js";
import { copy, readState, writeState } from "./state.js";
import { termList } from "./terms.js";
import { translations } from "./translations.js";
import { continuations, linksOf } from "./words.js";

const PAUSE = 30; // milliseconds without a key, after which a text is sent

const root = document.documentElement;
const status = make("div", { class: "status", role: "status", "aria-live": "polite" });
const count = make("span", { class: "note count" });
const detected = make("span", { class: "note" });
const from = make("select", { id: "from", "aria-label": "From", change: () => { edited(0); } });
const to = make("select", { id: "to", "aria-label": "To", change: () => { edited(0); } });
const swapButton = make("button", { type: "button", class: "round", id: "swap", "aria-label": "Swap the languages", title: "Swap the languages", click: swap },
  icon("M4 7h11M12 3.5 15.5 7 12 10.5M16 13H5M8 9.5 4.500 13 8 16.500"));
const clear = make("button", { type: "button", class: "plain", id: "clear", click: () => { source.set(""); source.area.focus(); edited(0); } }, "Clear");
const copyButton = make("button", { type: "button", class: "plain", id: "copy", click: (event) => told(event.target, target.text, "Copied") }, "Copy");
const linkButton = make("button", { type: "button", class: "plain", id: "link", click: (event) => { link(); told(event.target, location.href, "Link copied"); } }, "Copy link");
const source = editor({ input: () => edited(PAUSE), point: pointSource });
const target = output({ point: pointTarget, choose: chooseWord });

let languages = []; // of the server
let terms = termList({ change: () => {}, most: 0, longest: 0, forms: 0 }); // until the server has told its limits
let most; // sentences of a request that the server allows; undefined: it does not tell
let timer = null;
let linking = null;
let running = null; // AbortController of the request
let shown = []; // [{ text, after, source, language }]: the sentences on the page
let speaks = null; // the language that was detected of the first sentence
const pinned = pinnedChoices();
let givenUp = []; // sentences: the choices that a term has ended, to be said until the text changes

function icon(path) {
  return draw("svg", { viewBox: "0 0 20 20", width: 20, height: 20, "aria-hidden": "true" },
    draw("path", { d: path, fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-linecap": "round", "stroke-linejoin": "round" }));
}

function layout(settings) {
  terms = termList({
    change: () => edited(0, true), most: settings.glossaryLimit ?? 0, longest: settings.glossaryCharacters ?? 0, forms: settings.glossaryForms ?? 0,
  });
  const nav = make("a", { class: "elsewhere", href: "/studio" }, "Studio");
  const head = masthead("translate");
  head.insertBefore(nav, head.querySelector(".theme"));
  document.getElementById("top").append(head);
  document.getElementById("main").append(
    make("div", { class: "languages" }, from, swapButton, to),
    make("div", { class: "panes" },
      make("section", { class: "card pane", "aria-label": "Source" }, source.frame, make("div", { class: "tools" }, detected, count, clear)),
      make("section", { class: "card pane out", "aria-label": "Target" }, target.box, make("div", { class: "tools" }, linkButton, copyButton))),
    status,
    terms.box,
    documents({ settings, languages: () => [from.value, to.value], glossary: documentTerms, say }));
  document.getElementById("foot").append(
    "Point at a word to see where it comes from. Click it, or press Enter on it, for other words. Everything stays between this page and its server.");
}

// The terms of a document. Its language is detected from the document itself, and may be another one than that of the text.
const documentTerms = () => (from.value === "auto" ? "" : terms.lines);

const keyOf = (sentence) => JSON.stringify([from.value, to.value, sentence]);

function say(text, kind = "") {
  status.textContent = text;
  status.className = `status ${kind}`;
}

async function told(button, text, done) {
  const before = button.dataset.name ?? button.textContent;
  button.dataset.name = before;
  try {
    await copy(text);
    button.textContent = done;
  } catch (error) {
    button.textContent = error.message;
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}

// The text, a language or a term has changed.
function edited(pause, byTerm = false) {
  if (!byTerm) givenUp = [];
  clearTimeout(timer);
  running?.abort();
  const { text } = source;
  count.textContent = text ? `${grouped(Array.from(text).length)} characters` : "";
  clear.hidden = !text;
  clearTimeout(linking);
  linking = setTimeout(link, 300); // browsers bound how often an address may change
  speak();
  root.dataset.translated = "false";
  if (text.trim()) timer = setTimeout(translate, pause);
  else render([]);
}

function link() {
  writeState({ source: from.value, target: to.value, text: source.text });
}

function speak() {
  source.speak(language());
  swapButton.disabled = !languages.find(({ code }) => code === to.value)?.targets.includes(language());
  terms.show(language(), to.value);
  target.speak(to.value);
}

async function translate() {
  const [sourceLanguage, targetLanguage] = [from.value, to.value];
  const sentences = sentencesOf(source.text);
  const control = new AbortController();
  running = control;
  box(true);
  try {
    const answer = await obeyed(sentences.map(({ text }) => text), sourceLanguage, targetLanguage, control.signal);
    if (control.signal.aborted) return;
    const spoken = speaks;
    if (answer.detected) speaks = answer.detected;
    detected.textContent = sourceLanguage === "auto" && speaks ? `Detected: ${languageName(speaks)}` : "";
    speak();
    const [asked, own] = [[spoken, answer.asked], [speaks, terms.glossary()]].map((one) => JSON.stringify(one));
    if (!answer.without && asked !== own && answer.asked.length + terms.glossary().length) { // those of a language that is known only now
      edited(0);
      return;
    }
    const rows = sentences.map(({ text, after }) => ({
      source: text, text: answer.translated.get(text) ?? "", after, language: answer.languages.get(text) ?? language(),
    }));
    if (!answer.without) giveUp(rows, answer.asked);
    say(answer.without ?? givenUp.join(" "), answer.without ? "refused" : "");
    render(rows.map((row) => ({ ...row, said: row.text, text: pinned.of(keyOf(row.source)) ?? row.text })));
    root.dataset.translated = "true";
  } catch (error) {
    if (control.signal.aborted) return;
    refused(error);
  } finally {
    if (running === control) box(false);
  }
}

// Ends the choices of words that a new term is about: the term is obeyed.
function giveUp(rows, glossary) {
  for (const { source: text, text: said, language: spoken } of rows) {
    const term = spoken === language() ? pinned.outdated(keyOf(text), text, said, glossary) : null;
    if (term) givenUp.push(`The words that you chose for “${text}” are given up, for the term “${term}”.`);
  }
}

// The translations with the reader's terms. Where the server cannot follow them, those without, and why.
async function obeyed(texts, sourceLanguage, targetLanguage, signal) {
  const asked = terms.glossary();
  try {
    return { asked, ...await translations(texts, sourceLanguage, targetLanguage, { most, glossary: asked, speaks, signal }) };
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 400 || !error.message.startsWith("glossary")) throw error;
    const without = `Translated without your terms. ${error.message}`;
    return { asked, without, ...await translations(texts, sourceLanguage, targetLanguage, { most, signal }) };
  }
}

function box(busy) {
  target.box.setAttribute("aria-busy", String(busy));
}

// What the server refused is said; what may pass is tried again.
function refused(error) {
  if (!(error instanceof Refused)) throw error;
  say(error.message, "refused");
  if (error.status === 403) askForKey();
  if (!error.passes) return;
  clearTimeout(timer);
  timer = setTimeout(() => (languages.length ? translate() : begin()), 1000 * error.retryAfter);
}

function askForKey() {
  if (document.getElementById("key")) return;
  status.append(keyForm(() => {
    say("");
    source.area.focus();
    if (languages.length) edited(0);
    else begin();
  }));
}

function render(sentences) {
  shown = sentences;
  target.show(sentences);
  copyButton.disabled = !sentences.length;
}

function swap() {
  if (from.value === "auto" && !speaks) return;
  const [was, text] = [from.value === "auto" ? speaks : from.value, target.text];
  fill(to.value, was);
  if (text.trim()) source.set(text);
  edited(0);
}

// Pointing at a word lights what it is linked to. Links are asked for once a sentence, when somebody points.
let pointed = null;

async function point(place, side) {
  pointed = place;
  if (!place) {
    source.light(0, []);
    target.light(0, []);
    return;
  }
  const sentence = shown[place.sentence];
  if (!sentence?.text) return;
  const own = side === "target" ? target : source;
  own.light(place.sentence, [place.word]);
  const other = own === target ? source : target;
  other.light(0, []);
  const links = await linksOf(sentence.source, sentence.text, sentence.language, to.value);
  if (pointed !== place || shown[place.sentence]?.text !== sentence.text) return;
  const words = links.filter(([from_, to_]) => (side === "target" ? to_ : from_) === place.word).map(([from_, to_]) => (side === "target" ? from_ : to_));
  other.light(place.sentence, words);
}

const language = () => (from.value === "auto" ? speaks : from.value);
function pointTarget(place) { point(place, "target"); }
function pointSource(place) { point(place, "source"); }

// Other words in the place of one: the translations that begin as this one does up to it.
async function chooseWord({ sentence, word }, mark) {
  const { source: text, text: translation, said, language: spoken } = shown[sentence];
  const glossary = spoken === language() ? terms.glossary() : [];
  const words = wordsOf(translation);
  const places = words.flatMap((piece, index) => (piece.word === undefined ? [] : [index]));
  const before = words.slice(0, places[word]).map(({ word: one, space }) => one ?? space).join("");
  const list = openChoices(mark, before.trim() ? "Instead, from here on" : "Another translation");
  try {
    const found = await continuations(text, before.trimEnd(), spoken, to.value, glossary);
    if (!list.stands) return;
    const others = [...new Set(found)].filter((one) => one !== translation);
    list.fill(others.map((one) => {
      const [head, rest] = split(one, word);
      return {
        label: [make("strong", {}, head), rest], say: one,
        take: () => {
          pinned.pin(keyOf(text), one, said, glossary);
          render(shown.map((row, index) => (index === sentence ? { ...row, text: one } : row)));
          target.word(sentence, word)?.focus();
        },
      };
    }), others.length ? "" : "The model has no other words here.");
  } catch (error) {
    list.fill([], error.message);
  }
}

// The word in a place of a translation, and what follows.
function split(text, word) {
  const pieces = wordsOf(text);
  const places = pieces.flatMap((piece, index) => (piece.word === undefined ? [] : [index]));
  const at = places[word] ?? pieces.length;
  return [pieces[at]?.word ?? "(ends here)", pieces.slice(at + 1).map(({ word: one, space }) => one ?? space).join("")];
}

// The choosers, with a pair that the server can do.
function fill(sourceCode, targetCode) {
  const sources = [["auto", "Detect language"], ...languages.map(({ code, name }) => [code, name || languageName(code)])];
  const known = new Set(sources.map(([code]) => code));
  from.replaceChildren(...sources.map(([value, name]) => make("option", { value }, name)));
  from.value = known.has(sourceCode) ? sourceCode : sources[1]?.[0] ?? "auto";
  const allowed = from.value === "auto" ? new Set(languages.flatMap(({ targets }) => targets))
    : new Set(languages.find(({ code }) => code === from.value)?.targets ?? []);
  const codes = [...allowed].filter((code) => code !== from.value);
  to.replaceChildren(...(codes.length ? codes : [...allowed]).map((code) => make("option", { value: code }, languages.find((one) => one.code === code)?.name || languageName(code))));
  to.value = allowed.has(targetCode) ? targetCode : to.options[0]?.value ?? "";
}

from.addEventListener("change", () => fill(from.value, to.value));

async function begin() {
  try {
    const settings = await load("/frontend/settings").catch(() => ({}));
    most = settings.batchLimit;
    languages = await load("/languages");
    if (!document.querySelector(".panes")) layout(settings);
    const state = readState();
    fill(state.source ?? from.value, state.target ?? to.value);
    if (!languages.length) say("This server has no translator. The studio shows the models that it has.", "refused");
    if (state.text) source.set(state.text);
    edited(0);
    source.area.focus({ preventScroll: true });
    root.dataset.ready = "true";
  } catch (error) {
    if (!document.querySelector(".panes")) layout({});
    refused(error);
  }
}

addEventListener("hashchange", () => {
  const state = readState();
  if (state.text === source.text && state.source === from.value && state.target === to.value) return;
  fill(state.source, state.target);
  source.set(state.text ?? "");
  edited(0);
});

begin();
