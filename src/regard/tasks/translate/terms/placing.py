"""Puts strings into a translation at the place of the source words that they belong to, by word alignment.

Words are separated by white space, as in `Links`. It aligns nothing itself.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property

from regard.tasks.translate.translation import Links
from regard.text.protected import Span, occurrences

_LEADING = re.compile(r"[(\[\"'\u2018\u201c\u201e\u00ab\u00bf\u00a1]*")
_TRAILING = re.compile(r"[)\]\"'\u2019\u201d\u00bb.,;:!?\u2026]*$")

SIMILAR, LONGEST_COMPARED = 0.5, 200


def words_of(text: str, span: Span) -> range:
    """The places of the words of a text that a span is of."""
    first = len(text[: span.start].split()) - (span.start > 0 and not text[span.start - 1].isspace())
    return range(max(0, first), max(0, first) + max(1, len(text[span.start : span.end].split())))


def aligned_run(links: Links, source_words: range, blocked: Collection[int] = ()) -> range | None:
    """The most consecutive target words that are linked to these source words, the first of equally many; None: there are none."""
    linked = sorted({target for source, target in links if source in source_words and target not in blocked})
    best: range | None = None
    for target in linked:
        end = target + 1
        while end in linked:
            end += 1
        if best is None or end - target > len(best):
            best = range(target, end)
    return best


def in_order(links: Collection[tuple[int, int]]) -> Links:
    """The links by target word."""
    return sorted(links, key=lambda link: (link[1], link[0]))


def with_terms_linked(links: Links, text: str, terms: Sequence[tuple[range, str]]) -> Links:
    """The links of a translation in which each term is linked to its own source words. terms: these words, and the form that is said.

    A model's attention knows little of a word that it was made to say. Of several places of a form the one counts that is linked most.
    """
    found = set(links)
    taken: set[int] = set()
    for source_words, form in terms:
        runs = [words_of(text, span) for span in occurrences(text, [form])]
        free = [run for run in runs if taken.isdisjoint(run)]
        if not free:
            continue
        own = {target for source, target in links if source in source_words}
        best = max(free, key=lambda run: (len(own.intersection(run)), -abs(run.start - source_words.start)))
        taken |= set(best)
        found = {link for link in found if link[1] not in best}
        found |= {(source, target) for source in source_words for target in best}
    return in_order(found)


@dataclass
class Placer:
    """Collects changes of one translation, and makes them together."""

    words: Sequence[str]
    """The words of the translation."""
    links: Links
    """Links between source words and these."""
    source_count: int
    """The number of source words."""
    blocked: set[int] = field(default_factory=set)
    """Words that must stay."""
    _changes: list[tuple[int, int, int, str]] = field(default_factory=list)
    _placed: dict[int, range] = field(default_factory=dict)
    """The number of a change -> the source words of its string."""

    def place(self, source_words: range, string: str, like: str | None = None) -> bool:
        """Put a string in place of the words that are linked to its source words, or else where it is likeliest.

        Returns whether it replaced words.

        like: replace words only if they are similar to this; others were said for something else, and stay.
        """
        run = aligned_run(self.links, source_words, self.blocked)
        if run is None or (like is not None and not _similar(" ".join(self.words[run.start : run.stop]), like)):
            self.insert(source_words, string)
            return False
        self.blocked |= set(run)
        before = _LEADING.match(self.words[run.start])
        after = _TRAILING.search(self.words[run.stop - 1])
        kept = (before[0] if before else "", after[0] if after else "")
        if len(self.words[run.start]) == len(kept[0]) or len(self.words[run.stop - 1]) == len(kept[1]):
            kept = ("", "")  # nothing but punctuation
        self._placed[len(self._changes)] = source_words
        self._changes.append((run.start, run.stop, len(self._changes), f"{kept[0]}{string}{kept[1]}"))
        return True

    def insert(self, source_words: range, string: str, stop: str = "") -> None:
        """Put a string where it is likeliest. stop: what follows it in the source, and moves behind it from the word before."""
        at = self._likely_place(source_words)
        word = self.words[at - 1] if at else ""
        if (
            stop
            and word.endswith(stop)
            and word != stop
            and not any(change[:2] == (at - 1, at) for change in self._changes)
        ):
            self._changes.append((at - 1, at, len(self._changes), word[: -len(stop)]))
            string += stop
        self._placed[len(self._changes)] = source_words
        self._changes.append((at, at, len(self._changes), string))

    def text(self) -> str:
        """The translation with all changes."""
        return " ".join(string for string, _, _ in self._changed())

    def linked(self) -> Links:
        """The links of `text`: those of the words that stay, and of each string that was placed to its own source words."""
        found: set[tuple[int, int]] = set()
        words = 0
        for string, own, number in self._changed():
            size = len(string.split())
            if number in self._placed:
                found |= {(source, words + place) for source in self._placed[number] for place in range(size)}
            elif len(own) == 1:
                found |= {(source, words) for source, target in self.links if target == own.start}
            words += size
        return in_order(found)

    def moved(self) -> dict[int, int]:
        """For each word of the translation that stays, its place among those of `text`. A changed word has the place of its change."""
        return {old: new for new, (_, own, _) in enumerate(self._changed()) for old in own}

    def _changed(self) -> list[tuple[str, range, int]]:
        """The parts of `text`, each with the words that it was, and the number of its change; -1: it is a word that stays."""
        parts = [(word, range(place, place + 1), -1) for place, word in enumerate(self.words)]
        for start, end, number, string in sorted(self._changes, reverse=True):
            parts[start:end] = [(string, range(start, end), number)]
        return [part for part in parts if part[0]]

    @cached_property
    def _targets(self) -> tuple[list[int], dict[int, list[int]]]:
        """The source words that have links, in order, and the target words of each."""
        targets: dict[int, list[int]] = {}
        for source, target in self.links:
            targets.setdefault(source, []).append(target)
        return sorted(targets), targets

    def _likely_place(self, source_words: range) -> int:
        """The place in the translation behind the words of the nearest linked source word before, or before those of the next one."""
        linked, targets = self._targets
        before = bisect_left(linked, min(source_words.start, self.source_count))
        if before:
            return min(max(targets[linked[before - 1]]) + 1, len(self.words))
        after = bisect_left(linked, source_words.stop)
        if after < len(linked) and linked[after] < self.source_count:
            return min(*targets[linked[after]], len(self.words))
        return round(len(self.words) * source_words.start / max(1, self.source_count - 1))


def _similar(words: str, string: str) -> bool:
    """Whether words look like what is left of a string: half of the characters are the same, in order."""
    core = _TRAILING.sub("", words)
    core = core[len(_LEADING.match(core)[0]) :]  # type: ignore[index]  # it always matches
    left, right = core.lower()[:LONGEST_COMPARED], string.lower()[:LONGEST_COMPARED]
    return SequenceMatcher(None, left, right, autojunk=False).ratio() >= SIMILAR
