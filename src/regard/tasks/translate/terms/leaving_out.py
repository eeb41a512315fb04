"""A source without its protected strings, and the strings put into its translation, beside the words that stand beside them in the source.

For models that cannot carry such strings over: what they have not seen in training spoils the words around it too. It translates nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.tasks.translate.terms.placing import Placer, in_order, words_of
from regard.tasks.translate.terms.restoring import stand_in
from regard.tasks.translate.translation import Links
from regard.text.protected import Span

_OPENING = re.compile(r"[(\[\"'\u2018\u201c\u201e\u00ab\u00bf\u00a1]+$")
_CLOSING = re.compile(r"[)\]\"'\u2019\u201d\u00bb]+(?![^\s.,;:!?\u2026])")
_STOPS = re.compile(r"[.,;:!?\u2026]+(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Unit:
    """A protected string with the brackets and quotation marks around it, and the stop behind it."""

    before: str
    after: str
    stop: str


class LeftOut:
    """The rest of a source."""

    def __init__(self, source: str, spans: Sequence[Span]) -> None:
        self._source, self._spans = source, spans
        self._units: list[Unit] = []
        kept: list[int] = []  # the characters of the source that are left
        last = 0
        for number, (start, end) in enumerate(spans):
            opening = _OPENING.search(source, last, start)
            ending = spans[number + 1].start if number + 1 < len(spans) else len(source)
            closing = _CLOSING.match(source, end, ending)
            before = opening[0] if opening and (opening.start() == 0 or source[opening.start() - 1].isspace()) else ""
            after = closing[0] if closing else ""
            stop = _STOPS.match(source, end + len(after), ending)
            self._units.append(Unit(before, after, stop[0] if stop else ""))
            left = start - len(before)
            if stop or source[end + len(after) : end + len(after) + 1].isspace():
                while left > last and source[left - 1].isspace():
                    left -= 1
            kept += range(last, left)
            last = end + len(after)
        kept += range(last, len(source))
        self.text = "".join(source[place] for place in kept)
        """The source without its protected strings."""
        words = list(re.finditer(r"\S+", self.text))
        self._word_of = [len(source[: kept[word.start()] + 1].split()) - 1 for word in words]

    def put_back(self, translation: str, links: Links) -> tuple[str, Links]:
        """The translation of `text` with a stand-in for each string, and the links of the whole. links: between the words of both."""
        own = [(self._word_of[source], target) for source, target in links if source < len(self._word_of)]
        words = translation.split()
        placer = Placer(words, own, len(self._source.split()))
        for number, (unit, span) in enumerate(zip(self._units, self._spans, strict=True)):
            string = f"{unit.before}{stand_in(number)}{unit.after}"
            placer.insert(words_of(self._source, span), string, unit.stop)
        moved, text = placer.moved(), placer.text()
        whole = {(source, moved[target]) for source, target in own if target in moved}
        places = {stand_in(number): words_of(self._source, span) for number, span in enumerate(self._spans)}
        for place, word in enumerate(text.split()):
            whole |= {(source, place) for mark, own_words in places.items() if mark in word for source in own_words}
        return text, in_order(whole)
