// The translations that the reader has chosen instead of the model's, and when one is given up: when a new term is about its sentence.

const plain = (text) => text.normalize("NFC").toLowerCase();

// Sentences are known by a key that also tells the languages. A glossary is [[term, [translations]]].
export function pinnedChoices() {
  const pinned = new Map(); // key -> { text, instead: what the model said, terms: those that counted, as JSON }

  // The terms that did not count when the choice was made.
  const added = ({ terms }, glossary) => glossary.filter((one) => !terms.includes(JSON.stringify(one)));

  return {
    pin(key, text, instead, glossary) {
      pinned.set(key, { text, instead, terms: glossary.map((one) => JSON.stringify(one)) });
    },
    // The choice for a sentence; null: none.
    of: (key) => pinned.get(key)?.text ?? null,
    // Gives up the choice if a term that has come since stands in the sentence, or has changed what the model says. The term; null: it stays.
    outdated(key, sentence, said, glossary) {
      const choice = pinned.get(key);
      if (!choice) return null;
      const fresh = added(choice, glossary);
      const about = fresh.find(([term]) => plain(sentence).includes(plain(term))) ?? (said === choice.instead ? undefined : fresh[0]);
      if (!about) return null;
      pinned.delete(key);
      return about[0];
    },
  };
}
