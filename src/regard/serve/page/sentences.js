// A text as sentences, and a sentence as words. The pieces joined are the text.

// What ends a sentence, with the closing marks and spaces behind it; and what only looks like it: an initial, "Dr.", the 3. of a month.
const END = /[.!?…]+["'”’»)\]]*\s+|[。！？]+["”’»)\]]*\s*/gu;
const SHORT = /(?:^|[\s(])(?:\p{L}|\d{1,2}|Dr|Mr|Mrs|Ms|Prof|St|Nr|No|bzw|usw|ca|etc|vs|cf|vgl|Fig|Abb|Mme|Mlle)\.\s*$/u;
const LONGEST = 600; // characters: what has no end is cut at a space

// [{ text, after }]: sentences, and the spaces and line ends after each. The first may be empty, if the text begins with spaces.
export function sentencesOf(text) {
  const pieces = text.split(/(?<=\n)/).flatMap((line) => {
    const sentences = [];
    let from = 0;
    for (const { 0: mark, index } of line.matchAll(END)) {
      if (SHORT.test(line.slice(from, index + mark.length))) continue;
      sentences.push(line.slice(from, index + mark.length));
      from = index + mark.length;
    }
    return [...sentences, line.slice(from)].filter(Boolean).flatMap(cut);
  });
  return pieces.map((piece) => {
    const core = piece.trimEnd();
    return { text: core, after: piece.slice(core.length) };
  });
}

function cut(piece) {
  const parts = [];
  let rest = piece;
  while (rest.length > LONGEST) {
    const space = rest.lastIndexOf(" ", LONGEST);
    const end = space > 0 ? space + 1 : LONGEST;
    parts.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return [...parts, rest];
}

// [{ word } or { space }], in order: words are what stands between spaces.
export function wordsOf(text) {
  return text.split(/(\s+)/u).filter(Boolean).map((piece) => (/^\s/u.test(piece) ? { space: piece } : { word: piece }));
}
