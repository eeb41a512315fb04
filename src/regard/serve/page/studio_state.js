// The state of the studio: what a link holds, and what is sent to the server.
import { Refused } from "./client.js";
import { readState, writeState } from "./state.js";

const DEFAULTS = {
  model: "", beside: "", text: "", picture: "", picture_name: "", source: "", target: "", beam: 5, alpha: 1, sample: false, samples: 1,
  temperature: 1, top_k: 0, top_p: 1, seed: 0, max_length: 60, mask: [], replace: [], without: [], prefix: "", view: "", pace: 90,
};
const OF_PAGE = new Set(["beside", "view", "pace", "wrong"]); // the server does not ask for these
const LONGEST_LINK = 120_000; // characters: a larger picture is left out of the link

export function emptyState() {
  return { ...structuredClone(DEFAULTS), wrong: {} }; // wrong: number -> what is wrong with what its field holds
}

// The state of the address. What is no number where there should be one is left at its default.
export function linkedState() {
  const given = readState();
  const state = emptyState();
  for (const [name, usual] of Object.entries(DEFAULTS)) {
    const text = given[name];
    if (text === undefined) continue;
    if (Array.isArray(usual)) state[name] = text.split("\n").filter(Boolean);
    else if (typeof usual === "boolean") state[name] = text === "true";
    else if (typeof usual === "number") state[name] = text.trim() && Number.isFinite(Number(text)) ? Number(text) : usual;
    else state[name] = text;
  }
  return state;
}

export function linkState(state) {
  const changed = Object.entries(state).filter(([name, value]) => name in DEFAULTS && JSON.stringify(value) !== JSON.stringify(DEFAULTS[name]));
  const texts = Object.fromEntries(changed.map(([name, value]) => [name, Array.isArray(value) ? value.join("\n") : String(value)]));
  if ((texts.picture ?? "").length > LONGEST_LINK) delete texts.picture;
  writeState(texts);
}

// Refuses a state whose fields hold another number than the one that would be used.
export function checkNumbers({ wrong }) {
  const [message] = Object.values(wrong);
  if (message) throw new Refused(400, message);
}

// The body of a request about one model.
export function requestOf(state, model) {
  const entries = Object.entries(state).filter(([name, value]) => !OF_PAGE.has(name) && value !== "");
  return { ...Object.fromEntries(entries), model };
}

// How often a word stands in the text, as it is written there. Changes are made in all of these places.
export function timesOf(word, text) {
  return text.split(/\s+/u).filter((one) => one === word).length;
}

// Whether something in the sentence or the network is changed.
export function changesOf(state) {
  const each = (word) => (timesOf(word, state.text) > 1 ? `each “${word}”` : `“${word}”`);
  const named = (pair) => { const at = pair.indexOf("="); return `${each(pair.slice(0, at))} becomes “${pair.slice(at + 1)}”`; };
  return [
    ...state.mask.map((word) => ({ name: `without ${each(word)}`, list: "mask", value: word })),
    ...state.replace.map((pair) => ({ name: named(pair), list: "replace", value: pair })),
    ...state.without.map((head) => ({ name: `${head.replace(/^(\w+)\.(\d+)\.(\d+)$/, "$1 layer $2 head $3")} silent`, list: "without", value: head })),
    ...(state.prefix ? [{ name: `begins with “${state.prefix}”`, list: "prefix", value: state.prefix }] : []),
  ];
}
