// The studio: one input, one or two models, a search that is watched, and the views behind it.
import { askText, load, Refused } from "./client.js";
import { select } from "./controls.js";
import { drawingColumn, drawingControls } from "./drawing.js";
import { editor } from "./editor.js";
import { make } from "./explain/dom.js";
import { languageName } from "./explain/format.js";
import { masthead } from "./explain/masthead.js";
import { translationColumn, translationControls } from "./growth.js";
import { keyForm } from "./key.js";
import { labelColumn } from "./labels.js";
import { captionColumn, pictureInput, pictureLabelColumn } from "./pictures.js";
import { copy } from "./state.js";
import { changesOf, checkNumbers, emptyState, linkedState, linkState, requestOf } from "./studio_state.js";
import { VIEWS, drawView, explanationOf, offers, refusedBox } from "./views.js";

const PAUSE = 250; // milliseconds without a key, after which a text is sent
const nothing = () => [];
// Task -> its controls, its column, what it reads, and the views that it has.
const TASKS = {
  translate: { controls: translationControls, column: translationColumn, views: VIEWS, hint: "Type a sentence to translate" },
  generate: { controls: drawingControls, column: drawingColumn, views: viewsOf("heads", "step", "mixing"), hint: "Type the beginning of a text" },
  classify: { controls: nothing, column: labelColumn, views: viewsOf("heads", "step", "mixing"), hint: "Type a text to classify" },
  classify_images: { controls: nothing, column: pictureLabelColumn, views: [], picture: true },
  caption: { controls: nothing, column: captionColumn, views: [], picture: true },
};

function viewsOf(...ids) {
  return VIEWS.filter(({ id }) => ids.includes(id));
}

const root = document.documentElement;
const main = document.getElementById("main");
const setup = make("div", { class: "setup" });
const source = editor({ input: (text) => change({ text }, { pause: PAUSE }), point: () => {} });
const picture = pictureInput(change);
const notice = make("p", { class: "notice refused", role: "alert", hidden: true });
const chips = make("div", { class: "changes", "aria-label": "Changes" });
const links = make("div", { class: "bar" },
  make("button", { type: "button", class: "plain", id: "link", click: (event) => told(event.target, "Link copied", share) }, "Copy link"),
  make("button", { type: "button", class: "plain", id: "save", click: (event) => told(event.target, "Saved", save) }, "Save as a page"));
const input = make("section", { class: "card source-card", "aria-label": "Input" });
const live = make("div", {});
const tabs = make("div", { class: "tabs", role: "tablist", "aria-label": "Views" });
const view = make("section", { class: "view", role: "tabpanel", id: "view" });

let models = [];
let limits = { beam: 5 };
let state = linkedState();
let columns = []; // { model, box, run, said }
let timer = null;
let running = new AbortController();

const chosen = () => models.find(({ name }) => name === state.model) ?? models[0];
const task = () => TASKS[chosen().task];

// Changes the state, its link, and what is shown. again: nothing but the pace of the showing has changed; controls: there are others now.
function change(patch, { pause = 0, controls = false } = {}) {
  const fresh = "model" in patch || "beside" in patch;
  if (("text" in patch && patch.text !== state.text) || fresh) patch = { mask: [], replace: [], without: [], prefix: "", ...patch };
  state = { ...state, ...patch };
  if ("text" in patch && source.text !== state.text) source.set(state.text);
  linkState(state);
  if (fresh) build();
  else if (controls) buildSetup();
  showChanges();
  if (fresh) notify("");
  clearTimeout(timer);
  running.abort();
  root.dataset.settled = "false";
  timer = setTimeout(refresh, pause);
}

async function told(button, done, work) {
  const name = button.dataset.name ?? button.textContent;
  button.dataset.name = name;
  button.disabled = true;
  try {
    await work();
    button.textContent = done;
  } catch (error) {
    button.textContent = error.message;
    if (!(error instanceof Refused)) console.warn(error.message);
  }
  button.disabled = false;
  setTimeout(() => { button.textContent = name; }, 2000);
}

async function share() {
  checkNumbers(state);
  await copy(location.href);
}

async function save() {
  checkNumbers(state);
  const said = columns[0]?.said;
  const page = await askText("/studio/save", { ...requestOf(state, chosen().name), ...(said ? { said } : {}) });
  const address = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  const link = make("a", { href: address, download: `${chosen().name.replace(/[^\w.-]+/g, "-")}.html` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// Of what a link asks for: the names that this server, or the model, does not have. Something else is shown instead.
function unknownOf(linked) {
  return [
    linked.model && linked.model !== state.model ? `This server has no model “${linked.model}”. This is “${state.model}”.` : "",
    linked.beside && linked.beside !== state.beside ? `The server has no other model “${linked.beside}” of this task to show beside it.` : "",
    !linked.view || linked.view === state.view ? "" : noView(linked.view, state.view),
  ].filter(Boolean).join(" ");
}

function noView(id, other) {
  const name = (one) => VIEWS.find((view_) => view_.id === one)?.name ?? one;
  return `There is no view “${name(id)}” here.${other ? ` This is “${name(other)}”.` : ""}`;
}

function notify(text) {
  notice.textContent = text;
  notice.hidden = !text;
}

function buildLinked() {
  const linked = { ...state };
  build();
  notify(unknownOf(linked));
}

function build() {
  const model = chosen();
  state.model = model.name;
  const second = models.find(({ name, task: one }) => name === state.beside && one === model.task && name !== model.name);
  state.beside = second?.name ?? "";
  buildSetup();
  const { picture: reads, hint } = task();
  source.area.placeholder = hint ?? "";
  input.replaceChildren(reads ? picture.box : source.frame, make("div", { class: "bar" }, ...links.children));
  const all = [model, ...(second ? [second] : [])];
  columns = all.map((one) => ({ model: one, said: null, ...task().column(one, change, all.length > 1) }));
  live.className = columns.length > 1 ? "beside" : "alone";
  live.replaceChildren(...columns.map(({ box }) => box));
  buildTabs();
}

function buildSetup() {
  const model = chosen();
  state.wrong = {}; // the fields are made anew
  const others = models.filter(({ name, task: one }) => one === model.task && name !== model.name);
  setup.replaceChildren(
    select("model", models.map(({ name, task: one }) => [name, `${name} (${one.replace("_", " ")})`]), model.name, (name) => change({ model: name })),
    others.length ? select("beside", [["", "nothing"], ...others.map(({ name }) => [name, name])], state.beside, (beside) => change({ beside })) : "",
    ...directions(model), ...task().controls(state, change, limits));
}

function directions(model) {
  if (!model.several) return [];
  const pairs = model.languages.map(([from, to]) => [`${from}\n${to}`, `${languageName(from)} → ${languageName(to)}`]);
  const now = `${state.source}\n${state.target}`;
  const value = pairs.some(([one]) => one === now) ? now : pairs[0][0];
  [state.source, state.target] = value.split("\n");
  return [select("direction", pairs, value, (pair) => {
    const [from, to] = pair.split("\n");
    change({ source: from, target: to });
  })];
}

function buildTabs() {
  const { views } = task();
  if (!views.some(({ id }) => id === state.view)) state.view = views[0]?.id ?? "";
  tabs.hidden = view.hidden = !views.length;
  tabs.replaceChildren(...views.map(({ id, name }) => make("button", {
    type: "button", role: "tab", id: `tab-${id}`, "data-view": id, "aria-controls": "view", "aria-selected": String(id === state.view), tabindex: id === state.view ? 0 : -1,
    click: () => chooseView(id), keydown: (event) => turn(event, views),
  }, name)));
}

function turn(event, views) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  const ids = views.map(({ id }) => id).filter((id) => !document.getElementById(`tab-${id}`).hidden);
  chooseView(ids[(ids.indexOf(state.view) + by + ids.length) % ids.length]);
  tabs.querySelector('[aria-selected="true"]').focus();
}

function chooseView(id) {
  notify("");
  state.view = id;
  linkState(state);
  for (const tab of tabs.children) {
    tab.setAttribute("aria-selected", String(tab.id === `tab-${id}`));
    tab.tabIndex = tab.id === `tab-${id}` ? 0 : -1;
  }
  showView(running.signal);
}

function showChanges() {
  chips.replaceChildren(...changesOf(state).map(({ name, list, value }) => make("span", { class: "chip" }, make("bdi", {}, name),
    make("button", {
      type: "button", "aria-label": `Undo: ${name}`,
      click: () => change({ [list]: Array.isArray(state[list]) ? state[list].filter((one) => one !== value) : "" }),
    }, "×"))));
}

async function refresh() {
  const control = new AbortController();
  running.abort();
  running = control;
  picture.show(state);
  view.setAttribute("aria-busy", "true");
  const results = await Promise.allSettled(columns.map(async (column) => {
    column.failed = false;
    try {
      column.said = await column.run(state, control.signal);
    } catch (error) {
      column.failed = true;
      if (!(error instanceof Refused)) throw error;
      tryAgain(error);
    }
  }));
  for (const { reason } of results) if (reason) throw reason;
  if (control.signal.aborted) return;
  await showView(control.signal);
  if (!control.signal.aborted) root.dataset.settled = "true";
}

// What may pass, such as a busy server, is tried again, as its message says.
function tryAgain(error) {
  if (!error.passes) return;
  clearTimeout(timer);
  timer = setTimeout(refresh, 1000 * error.retryAfter);
}

async function showView(signal) {
  const id = state.view;
  const one = task().views.find((other) => other.id === id);
  const full = state.text.trim() && one;
  view.setAttribute("aria-labelledby", `tab-${id}`);
  view.setAttribute("aria-busy", "true");
  const boxes = !full ? [] : await Promise.all(columns.filter(({ failed }) => !failed).map(async ({ model, said }) => {
    const box = make("div", { class: "card" }, columns.length > 1 && make("h3", { class: "whose" }, model.name));
    try {
      const explanation = await explanationOf(state, model, id, said, signal);
      return { box, model, explanation };
    } catch (error) {
      if (signal.aborted) return { box };
      box.append(refusedBox(error));
      tryAgain(error);
      return { box };
    }
  }));
  if (signal.aborted || state.view !== id) return;
  view.setAttribute("aria-busy", "false");
  view.replaceChildren(...(full ? [make("p", { class: "lead" }, one.lead), make("div", { class: boxes.length > 1 ? "beside" : "alone" }, boxes.map(({ box }) => box))] : []));
  const known = boxes.map(({ explanation }) => explanation).filter(Boolean);
  for (const tab of tabs.children) tab.hidden = known.length > 0 && !known.some((one_) => offers(tab.dataset.view, one_));
  if (tabs.querySelector('[aria-selected="true"]')?.hidden) {
    const other = [...tabs.children].find((tab) => !tab.hidden);
    if (other) {
      const before = notice.textContent;
      chooseView(other.dataset.view);
      notify(`${before} ${noView(id, other.dataset.view)}`.trim());
    }
    return;
  }
  for (const { box, explanation } of boxes) {
    if (!explanation) continue;
    if (id === "heads" && chosen().task === "translate") box.append(silencer(box));
    drawView(box, one, explanation);
  }
}

// A button that silences the head that is looked at, or lets it speak again.
function silencer(box) {
  const button = make("button", { type: "button", class: "plain silence-head" });
  const line = make("div", { class: "silence" }, button);
  let head = null;
  button.addEventListener("click", () => {
    const silent = state.without.includes(head);
    change({ without: silent ? state.without.filter((one) => one !== head) : [...state.without, head] });
  });
  box.addEventListener("head", ({ detail: { kind, layer, head: number } }) => {
    head = `${kind}.${layer + 1}.${number + 1}`;
    button.textContent = `${state.without.includes(head) ? "Let speak" : "Silence"} ${kind} layer ${layer + 1} head ${number + 1}`;
  });
  return line;
}

function refuse(error) {
  if (!(error instanceof Refused)) throw error;
  main.replaceChildren(make("div", { class: "empty" }, refusedBox(error), error.status === 403 ? keyForm(begin) : ""));
  document.getElementById("key")?.focus();
  if (error.passes) setTimeout(begin, 1000 * error.retryAfter);
  root.dataset.ready = "true";
}

async function begin() {
  try {
    ({ models, limits } = await load("/studio/models"));
  } catch (error) {
    refuse(error);
    return;
  }
  if (!models.length) {
    main.replaceChildren(make("p", { class: "empty" }, "This server has no model that the studio could show."));
    root.dataset.ready = "true";
    return;
  }
  main.replaceChildren(make("h1", { class: "unseen" }, "Studio"), setup, notice, input, chips, live, tabs, view);
  buildLinked();
  source.set(state.text);
  showChanges();
  refresh();
  (task().picture ? setup.querySelector("select") : source.area).focus({ preventScroll: true });
  root.dataset.ready = "true";
}

const head = masthead("studio");
head.insertBefore(make("a", { class: "elsewhere", href: "/" }, "Translate"), head.querySelector(".theme"));
document.getElementById("top").append(head);
document.getElementById("foot").append("Everything stays between this page and its server. A link holds the input, the search and the changes; a saved page needs no server.");

addEventListener("hashchange", () => {
  state = { ...emptyState(), ...linkedState() };
  buildLinked();
  source.set(state.text);
  showChanges();
  running.abort();
  root.dataset.settled = "false";
  clearTimeout(timer);
  timer = setTimeout(refresh, 0);
});

begin();
