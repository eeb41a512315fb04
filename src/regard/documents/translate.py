"""Translates a document: sentences out, translations in, tags put back by their alignment. It knows no model, server or command."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from regard.activity import activity
from regard.documents.formats import format_of
from regard.documents.languages import check_languages
from regard.documents.markup import Segment
from regard.documents.placing import Range, placed
from regard.text.normalise import tidy
from regard.text.sentences import base_language, split_sentences

AT_ONCE = 512
"""Sentences of one call of the translator."""
LONGEST_WORD = 200
"""Characters without white space, of an alphabet with spaces, beyond which a text is no language and is copied."""

_WORD = re.compile(r"\S+")
_LONG_WORD = re.compile(rf"[\x21-\u2e7f]{{{LONGEST_WORD},}}")
_WIDE_STOPS = "。！？｡」』）〉》"
UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my"})
"""Languages that are written without spaces between sentences."""


class Translated(Protocol):
    """A sentence and its translation; `tasks.translate.translation.Translation` is one."""

    @property
    def text(self) -> str:
        """The translation."""
        ...

    @property
    def alignment(self) -> Sequence[tuple[int, int]]:
        """Links (source word, target word), both counted from 0."""
        ...


Translate = Callable[[list[str]], Sequence[Translated]]
"""Translates sentences, in order. The alignment is asked for only where a sentence has tags."""


def translate_document(
    content: bytes,
    format: str,
    translate: Translate,
    *,
    name: str = "document",
    source: str | None = None,
    target: str | None = None,
    aligned: bool = True,
) -> bytes:
    """The document in the other language.

    format: a name of `FORMATS`; name: the file's, for messages; source, target: languages, and a document that states others is a
    `DocumentError`. aligned: whether the model can align words;
    else tags are placed in proportion to the text.
    """
    document = format_of(format).read(content, name)
    check_languages(document, name, [source] if source else [], [target] if target else [])
    segments = translated_segments(document.segments(), translate, source=source, target=target, aligned=aligned)
    return document.write(segments)


def translated_segments(
    segments: Sequence[Segment],
    translate: Translate,
    *,
    source: str | None = None,
    target: str | None = None,
    aligned: bool = True,
) -> list[Segment | None]:
    """The translation of each segment, with its tags; None where it is the same text. The arguments of `translate_document`."""
    cut = [_Cut(segment, source) for segment in segments]
    tagged = _translations(translate, (text for one in cut if one.segment.spans for text in one.wanted()))
    plain = _translations(
        translate, (text for one in cut if not one.segment.spans for text in one.wanted() if text not in tagged)
    )
    found = {**plain, **tagged}
    between = "" if base_language(target) in UNSPACED else " "
    return [one.joined(found, between, aligned=aligned) for one in cut]


def _translations(translate: Translate, texts: Iterator[str]) -> dict[str, Translated]:
    """The translation of each text, every one once."""
    wanted = list(dict.fromkeys(texts))
    found = dict[str, Translated]()
    if not wanted:
        return found
    with activity("translating the document", len(wanted), "sentences") as progress:
        for start in range(0, len(wanted), AT_ONCE):
            some = wanted[start : start + AT_ONCE]
            found.update(zip(some, translate(some), strict=True))
            progress.advance(len(some))
    return found


class _Cut:
    """A segment in sentences."""

    def __init__(self, segment: Segment, language: str | None) -> None:
        self.segment = segment
        self._ranges = split_sentences(segment.text, language)
        self._texts = [tidy(segment.text[start:end]) for start, end in self._ranges]

    def wanted(self) -> Iterator[str]:
        """The sentences that are translated."""
        return filter(is_language, self._texts)

    def joined(self, translations: dict[str, Translated], between: str, *, aligned: bool) -> Segment | None:
        """The translation of the segment; None if it is the same text."""
        parts, length = list[str](), 0
        words: tuple[list[Range], list[Range]] = [], []  # of source and target
        links = list[tuple[int, int]]()
        last, results = 0, list[str]()
        for (start, end), text in zip(self._ranges, self._texts, strict=True):
            translation = translations.get(text)
            result = text if translation is None else tidy(translation.text)
            results.append(result)
            glued = start == last and self.segment.text[start - 1] not in _WIDE_STOPS  # a long word was cut
            if parts and not glued:
                parts.append(between)
                length += len(between)
            last = end
            own = [match.span() for match in _WORD.finditer(self.segment.text, start, end) if tidy(match[0])]
            theirs = [(length + match.start(), length + match.end()) for match in _WORD.finditer(result)]
            if self.segment.spans:
                known = None if translation is None or not aligned else translation.alignment
                among = _in_order(len(own), len(theirs)) if known is None else known
                links.extend((len(words[0]) + one, len(words[1]) + other) for one, other in among if one < len(own))
            words[0].extend(own)
            words[1].extend(theirs)
            parts.append(result)
            length += len(result)
        if results == self._texts:
            return None
        return placed(self.segment, words[0], "".join(parts), words[1], links)


def _in_order(sources: int, targets: int) -> list[tuple[int, int]]:
    """A link of each target word to the source word at its share of the sentence."""
    return [(target * sources // targets, target) for target in range(targets)] if sources else []


def is_language(text: str) -> bool:
    """Whether a text can be translated: it has letters, and no word that is too long to be one."""
    return any(map(str.isalpha, text)) and not _LONG_WORD.search(text)
