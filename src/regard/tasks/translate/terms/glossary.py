"""A glossary: terms of the source language and the forms that their translations may have; and where terms stand in a text.

A line of its file is `term TAB translation`, or `translation|other form|..`; lines that begin with # are comments. A text is matched in
time that does not depend on the size of the glossary: terms are found by the keys of their words. It translates nothing.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

from regard.data.readers import display_name, read_lines
from regard.errors import DataError
from regard.tasks.translate.terms.inflection import forms, key
from regard.text.protected import Span

MOST_TERMS, LONGEST_TERM, MOST_FORMS = 1_000_000, 500, 20
MOST_OFFERED = 16
"""The most forms of a translation, inflected ones too, that a search may choose from."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")  # CJK has no spaces
_SENTENCE_START = re.compile(r"(?:^|[.!?\u2026:]\s)[\s\"'\u201c\u201e\u00ab\u00a1\u00bf(\[-]*$")


@dataclass(frozen=True, slots=True)
class Entry:
    """One term."""

    source: str
    targets: tuple[str, ...]
    """The forms of its translation that the glossary lists, the preferred one first."""
    line: int
    """The line of the file, from 1."""


@dataclass(frozen=True, slots=True)
class Match:
    """A term where it stands in a text."""

    entry: Entry
    span: Span
    text: str
    """The words of the text that it matches."""
    begins: bool
    """Whether it begins a sentence."""


class _Word(NamedTuple):
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Term:
    """The words of a term, and the other characters before, between and after them, as in `C++`."""

    words: tuple[str, ...]
    before: str
    gaps: tuple[str, ...]
    after: str
    entry: Entry

    @staticmethod
    def of(entry: Entry) -> "_Term":
        found, source = list(_WORD.finditer(entry.source)), entry.source
        gaps = tuple(source[left.end() : right.start()].strip() for left, right in pairwise(found))
        words = tuple(match.group() for match in found)
        return _Term(words, source[: found[0].start()].strip(), gaps, source[found[-1].end() :].strip(), entry)


class _Sameness(dict[tuple[str, str], bool]):
    """Whether the second word of a pair is a form of the first, a term's. Each pair is looked at once."""

    def __init__(self, same: Callable[[str, str], bool]) -> None:
        self._same = same

    def __missing__(self, pair: tuple[str, str]) -> bool:
        self[pair] = self._same(*pair)
        return self[pair]


class Glossary:
    """The terms of a glossary, for one pair of languages."""

    def __init__(self, entries: Iterable[Entry], source: str | None = None, target: str | None = None) -> None:
        """source, target: the languages, for simple inflection; None: terms are found and accepted as they are."""
        self.source_language, self.target_language = source, target
        self._other: Glossary | None = None
        merged: dict[str, Entry] = {}
        for entry in entries:
            earlier = merged.get(entry.source)
            if earlier is not None:
                targets = tuple(dict.fromkeys((*earlier.targets, *entry.targets)))[:MOST_FORMS]
                entry = Entry(entry.source, targets, earlier.line)
            merged[entry.source] = entry
        self.entries = tuple(merged.values())
        self._terms: dict[tuple[tuple[str, ...], tuple[str, ...]], list[_Term]] = {}
        """The keys of the words and the gaps between them -> the terms, in the order of their lines."""
        for entry in sorted(self.entries, key=lambda entry: entry.line):
            term = _Term.of(entry)
            keys = tuple(key(word, source) for word in term.words)
            self._terms.setdefault((keys, term.gaps), []).append(term)
        self._lengths = sorted({len(keys) for keys, _ in self._terms})

    @staticmethod
    def read(path: str | Path, source: str | None = None, target: str | None = None) -> "Glossary":
        """The glossary in a file. A `DataError` names the line that is wrong."""
        return Glossary(_entries(path), source, target)

    def __len__(self) -> int:
        return len(self.entries) + (0 if self._other is None else len(self._other))

    def before(self, other: "Glossary | None") -> "Glossary":
        """These terms, and behind them those of another glossary of the same languages: where both have a term, these count."""
        joined = copy(self)
        joined._other = other
        return joined

    def matches(self, text: str, without: Sequence[Span] = ()) -> list[Match]:
        """The terms in a text, in order. Of those that overlap the longest counts. `without`: parts of the text that hold no terms."""
        found = self._own_matches(text, without)
        if self._other is not None:
            found += self._other.matches(text, [*without, *(match.span for match in found)])
        return sorted(found, key=lambda match: match.span)

    def _own_matches(self, text: str, without: Sequence[Span]) -> list[Match]:
        """`matches` of these terms alone."""
        words = [_Word(match.group(), *match.span()) for match in _WORD.finditer(text)]
        keys = [key(word.text, self.source_language) for word in words]
        gaps = [text[left.end : right.start].strip() for left, right in pairwise(words)]
        same = _Sameness(self._same)
        candidates: list[tuple[tuple[int, bool, int, int], int, int, Span, Entry]] = []
        for place in range(len(words)):
            for length in self._lengths:
                end = place + length
                if end > len(words):
                    break
                terms = self._terms.get((tuple(keys[place:end]), tuple(gaps[place : end - 1])))
                best = terms and _best(text, words[place:end], terms, same)
                if best:
                    entry, span = best
                    other = text[span.start : span.end] != entry.source
                    candidates.append(((-length, other, place, entry.line), place, end, span, entry))
        taken = [False] * len(words)
        for number, word in enumerate(words):
            taken[number] = any(word.start < end and start < word.end for start, end in without)
        found = []
        for _, first, end, span, entry in sorted(candidates, key=lambda candidate: candidate[0]):
            if not any(taken[first:end]):
                taken[first:end] = [True] * (end - first)
                begins = bool(_SENTENCE_START.search(text[max(0, span.start - 10) : span.start]))
                found.append(Match(entry, span, text[span.start : span.end], begins))
        return found

    def _same(self, term_word: str, word: str) -> bool:
        """Whether a word is a form of a term's. Lower case in the glossary means any case; capitals count, but for words in capitals."""
        own_forms = forms(term_word, self.source_language)
        if term_word.islower() or (word.isupper() and len(word) > 1):
            return word.lower() in map(str.lower, own_forms)
        return word in own_forms

    def accepted(self, match: Match) -> list[str]:
        """The forms that count as the translation of a term here: those listed first, then inflected ones, in the case of the source."""
        listed = list(match.entry.targets)
        inflected = [form for target in listed for form in _inflected(target, self.target_language)]
        found = list(dict.fromkeys([*listed, *inflected]))
        if match.begins:
            found += [form[:1].upper() + form[1:] for form in found]
        if match.text.isupper() and len(match.text) > 1:
            found += [form.upper() for form in found]
        return list(dict.fromkeys(found))

    def offered(self, match: Match) -> list[str]:
        """The forms that a search may choose from: those listed, and inflected ones where one form is listed.

        A word of English has one form for one of the source: a singular, if the source has the form of the glossary.
        """
        english = (self.target_language or "").lower().startswith("en")
        if len(match.entry.targets) > 1 or (english and match.text.lower() == match.entry.source.lower()):
            accepted = self.accepted(match)
            listed = {form.lower() for form in match.entry.targets}
            return [form for form in accepted if form.lower() in listed][:MOST_OFFERED]
        return self.accepted(match)[:MOST_OFFERED]


def _best(text: str, words: Sequence[_Word], terms: Sequence[_Term], same: _Sameness) -> tuple[Entry, Span] | None:
    """The term that these words of a text are, and where it stands: the first that is written as there is, else the first of all.

    terms: of the same keys and gaps, in the order of their lines.
    """
    best: tuple[Entry, Span] | None = None
    first, last = words[0].start, words[-1].end
    texts = [word.text for word in words]
    for term in terms:
        start, end = first - len(term.before), last + len(term.after)
        if start < 0 or text[start:first] != term.before or text[last:end] != term.after:
            continue
        if text[start:end] == term.entry.source:
            return term.entry, Span(start, end)
        if best is None and all(map(same.__getitem__, zip(term.words, texts, strict=True))):
            best = term.entry, Span(start, end)
    return best


def said(text: str, accepted: Sequence[str]) -> str | None:
    """The first of the accepted forms that stands in a text as whole words; None: the text has none. A sentence may capitalise it."""
    for form in accepted:
        at = text.find(form)
        while at >= 0:
            if _is_whole(text, at, at + len(form)):
                return form
            at = text.find(form, at + 1)
        capital = form[:1].upper() + form[1:]
        if capital != form and text.startswith(capital) and _is_whole(text, 0, len(capital)):
            return capital
    return None


def _is_whole(text: str, start: int, end: int) -> bool:
    before = start > 0 and text[start].isalnum() and text[start - 1].isalnum()
    after = end < len(text) and text[end - 1].isalnum() and text[end].isalnum()
    return not (before or after)


def entry_of(term: str, translations: Sequence[str], line: int, place: str) -> Entry:
    """The term, with its white space tidied. place: where it stands, for the `DataError` of one that is wrong."""
    source = " ".join(term.split())
    targets = tuple(dict.fromkeys(filter(None, (" ".join(form.split()) for form in translations))))
    for side, text in (("term", source), ("translation", targets[0] if targets else "")):
        if not _WORD.search(text):
            raise DataError(f"{place}: the {side} {text!r} has no word; write one, or leave it out")
    if max(len(source), *map(len, targets)) > LONGEST_TERM or len(targets) > MOST_FORMS:
        raise DataError(f"{place}: a term may have {LONGEST_TERM} characters and {MOST_FORMS} translations; shorten it")
    return Entry(source, targets, line)


def _entries(path: str | Path) -> Iterable[Entry]:
    name, count = display_name(path), 0
    for number, line in enumerate(read_lines(path), 1):
        line = line.rstrip("\r")
        if not line.strip() or line.startswith("#"):
            continue
        count += 1
        if count > MOST_TERMS:
            raise DataError(f"{name}:{number}: the term number {count:,}; a glossary has at most {MOST_TERMS:,}")
        columns = line.split("\t")
        if len(columns) != 2:
            problem = "no tab" if len(columns) == 1 else f"{len(columns)} columns"
            raise DataError(
                f"{name}:{number}: {problem} in {line[:60]!r}; write the term, one tab and its translation, "
                "with | between several forms"
            )
        yield entry_of(columns[0], columns[1].split("|"), number, f"{name}:{number}")


def _inflected(target: str, language: str | None) -> list[str]:
    """The target with its last word inflected, or with each of its words, as `voitures rouges`."""
    words = target.split(" ")
    last = [" ".join([*words[:-1], form]) for form in forms(words[-1], language)[1:]]
    if not 1 < len(words) <= 3:
        return last
    each = [forms(word, language)[:4] for word in words]
    return [*last, *(" ".join(choice) for choice in product(*each))]
