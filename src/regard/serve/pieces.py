"""`Pieces`: a plain text as the sentences that a model reads one by one, and put together again. Breaks and indents stay as they were."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.documents.translate import UNSPACED, is_language
from regard.text.sentences import base_language, split_sentences

_BREAKS = re.compile(r"[\n\r\f\v\x85\u2028\u2029]+")


@dataclass(frozen=True)
class Pieces:
    """A text in pieces. Every second part, from the second on, is a sentence to translate; the others stay."""

    parts: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The sentences to translate."""
        return self.parts[1::2]

    def joined(self, translations: Sequence[str]) -> str:
        """The whole text with these translations."""
        parts = list(self.parts)
        parts[1::2] = translations
        return "".join(parts)


def pieces_of(text: str, source: str | None = None, target: str | None = None) -> Pieces:
    """The sentences of each line. What has no letters, and words that are too long to be any, are no text and stay.

    source, target: languages. Between sentences of a language without spaces, one with spaces gets one.
    """
    between = " " if base_language(source) in UNSPACED and base_language(target) not in UNSPACED else ""
    parts: list[str] = []
    kept: list[str] = []  # joined once: adding to a long text again and again would take hours
    start = 0
    for stop, following in [*(match.span() for match in _BREAKS.finditer(text)), (len(text), len(text))]:
        line, last = text[start:stop], 0
        for begin, end in split_sentences(line, source):
            kept.append(line[last:begin] or (between if last else ""))
            if is_language(line[begin:end]):
                parts += ["".join(kept), line[begin:end]]
                kept = []
            else:
                kept.append(line[begin:end])
            last = end
        kept += [line[last:], text[stop:following]]
        start = following
    return Pieces((*parts, "".join(kept)))
