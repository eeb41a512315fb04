// What the server tells of the words of one sentence: which come from which, and what else could stand in the place of one.
import { Refused, ask } from "./client.js";

const KEPT = 300;
const WIDTH = 6; // of the beam, and translations that are offered
const kept = new Map(); // sentence and translation -> promise of links

// [[source word, target word]], words counted from 0 between spaces; empty where the server cannot align.
export function linksOf(text, translation, source, target) {
  const key = JSON.stringify([text, translation, source, target]);
  if (!kept.has(key)) {
    if (kept.size >= KEPT) kept.delete(kept.keys().next().value);
    kept.set(key, found(text, translation, source, target));
  }
  return kept.get(key);
}

async function found(text, translation, source, target) {
  const count = (given) => given.split(/\s+/u).filter(Boolean).length;
  try {
    const answer = await ask("/page/links", { text, translation, source, target });
    // a text whose words are not those of the model, such as one without spaces, has no links that could be shown
    return answer.source_words.length === count(text) && answer.target_words.length === count(translation) ? answer.links : [];
  } catch (error) {
    if (error instanceof Refused) return [];
    throw error;
  }
}

// Different translations that begin with a text, the best first.
export async function continuations(text, prefix, source, target, glossary) {
  const body = { texts: [text], source, target, options: { beam: WIDTH, nbest: WIDTH }, ...(prefix ? { prefixes: [prefix] } : {}) };
  if (glossary.length) body.glossary = glossary;
  const { translations: [found] } = await ask("/v1/regard/translate", body);
  return [found, ...found.alternatives].map((one) => one.text);
}
