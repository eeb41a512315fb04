// The translations of the sentences of a text. What is known is not asked for again; the rest is asked for in parts.
import { ask } from "./client.js";

const KEPT = 500; // translations that are kept, if the text on the page has fewer sentences
const PART = 100; // sentences of a request: a long text does not make the server refuse it as too much at once
const kept = new Map(); // source, target, sentence and glossary -> { text, language: the one that was detected }, the last used last

// { translated: sentence -> translation, languages: sentence -> its language if it was detected, detected: that of the first sentence }.
// most: sentences of a request. glossary: [[term, [translations]]], which the server obeys. speaks: where the source is "auto", the
// language of the glossary; it counts only for sentences of this language.
export async function translations(sentences, source, target, { most = PART, glossary = [], speaks = null, signal = undefined } = {}) {
  const wanted = [...new Set(sentences.filter((text) => text.trim()))];
  const found = new Map(); // sentence -> { text, language }
  const used = new Set();
  const size = Math.min(PART, most);

  async function find(texts, terms) {
    const keyOf = (text) => JSON.stringify([source, target, text, terms]);
    const keep = (text, translation) => {
      const key = keyOf(text);
      found.set(text, translation);
      used.add(key);
      kept.delete(key);
      kept.set(key, translation);
    };
    const missing = texts.filter((text) => !kept.has(keyOf(text)));
    for (const text of texts) if (kept.has(keyOf(text))) keep(text, kept.get(keyOf(text)));
    for (let from = 0; from < missing.length; from += size) {
      const part = missing.slice(from, from + size);
      const answer = await ask("/translate", { q: part, source, target, format: "text", ...(terms.length ? { glossary: terms } : {}) }, signal);
      part.forEach((text, index) => keep(text, { text: answer.translatedText[index], language: answer.detectedLanguage?.[index]?.language }));
    }
  }

  try {
    if (source !== "auto") await find(wanted, glossary);
    else { // the language of a sentence is known when it has been translated
      await find(wanted, []);
      if (glossary.length) await find(wanted.filter((text) => found.get(text).language === speaks), glossary);
    }
  } finally { // the parts before a refusal are kept
    for (const key of kept.keys()) {
      if (kept.size <= Math.max(KEPT, used.size)) break;
      kept.delete(key);
    }
  }
  const each = (value) => new Map([...found].map(([text, one]) => [text, value(one)]));
  return { translated: each(({ text }) => text), languages: each(({ language }) => language), detected: found.get(wanted[0])?.language };
}
