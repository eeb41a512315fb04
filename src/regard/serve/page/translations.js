// The translations of the sentences of a text. What is known is not asked for again; the rest is asked for in parts.
import { ask } from "./client.js";

const KEPT = 500; // translations that are kept, if the text on the page has fewer sentences
const PART = 100; // sentences of a request: a long text does not make the server refuse it as too much at once
const kept = new Map(); // source, target, sentence and glossary -> translation, the last used last

// { translated: sentence -> translation, detected: the language of the first sentence that was asked for }.
// most: sentences of a request. glossary: [[term, [translations]]], which the server obeys.
export async function translations(sentences, source, target, { most = PART, glossary = [], signal = undefined } = {}) {
  const keyOf = (text) => JSON.stringify([source, target, text, glossary]);
  const terms = glossary.length ? { glossary } : {};
  const wanted = [...new Set(sentences.filter((text) => text.trim()))];
  const translated = new Map();
  const keep = (text, translation) => {
    translated.set(text, translation);
    kept.delete(keyOf(text));
    kept.set(keyOf(text), translation);
  };
  for (const text of wanted) if (kept.has(keyOf(text))) keep(text, kept.get(keyOf(text)));
  const missing = wanted.filter((text) => !translated.has(text));
  const size = Math.min(PART, most);
  let detected;
  try {
    for (let from = 0; from < missing.length; from += size) {
      const part = missing.slice(from, from + size);
      const answer = await ask("/translate", { q: part, source, target, format: "text", ...terms }, signal);
      part.forEach((text, index) => keep(text, answer.translatedText[index]));
      detected ??= answer.detectedLanguage?.[0]?.language;
    }
  } finally { // the parts before a refusal are kept
    for (const key of kept.keys()) {
      if (kept.size <= Math.max(KEPT, wanted.length)) break;
      kept.delete(key);
    }
  }
  return { translated, detected };
}
