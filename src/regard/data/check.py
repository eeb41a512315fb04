"""Checks a corpus before training: `regard data check`.

Unlike the readers it does not stop at the first bad line. It keeps about 60 bytes of each pair (hashes, lengths and
scores), never the text, and reads the corpus three times; a stream is copied first. It knows lines and characters, not tokens.
"""

import tempfile
from array import array
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.check_report import CheckReport, LineNumbers, SideReport, lengths_of, text_hash
from regard.data.cooccurrence import MOST_WORDS
from regard.data.corpus_config import CorpusData
from regard.data.entries import seekable_inputs
from regard.data.formats import LanguagePair
from regard.data.holdout import LONGEST_PIECE
from regard.data.inputs import CORPUS_ROLES
from regard.data.lenient import SeenBytes, decoded, pairs_or_faults, raw_sides
from regard.data.readers import Pair, display_name, without_surrogates
from regard.data.suspects import Flags, PairScorer, Suspects, find_suspects
from regard.errors import DataError

RATIO = 3.0  # a pair is an outlier if its length ratio exceeds or falls below the median ratio by this factor
RATIO_CHARACTERS = 20  # below this length of the longer side, ratios mean little


def check_corpus(
    source: str | Path | None = None,
    target: str | Path | None = None,
    pairs: str | Path | None = None,
    languages: LanguagePair = (None, None),
    max_length: int = 256,
    model: PairScorer | None = None,
) -> CheckReport:
    """Read the whole corpus and report on it. Over-long: above `max_length` tokens in any tokenisation.

    model: scores of a translator, by which pairs are judged too.
    """
    files = [None if path is None else str(path) for path in (source, target, pairs)]
    corpus = CorpusData(src=files[0], tgt=files[1], pairs=files[2])
    names = [
        display_name(path) for path in (corpus.src or corpus.pairs, corpus.tgt or corpus.pairs) if path is not None
    ]
    with tempfile.TemporaryDirectory() as home, seekable_inputs(corpus, CORPUS_ROLES, Path(home)) as readable:
        collected = _Collector(max_length)
        if readable.pairs is None:
            seen = collected.source.bytes, collected.target.bytes
            for number, raws in enumerate(raw_sides(readable.src or "", readable.tgt or "", seen), 1):
                collected.add_raw(number, raws)
        else:
            for number, pair, wide in pairs_or_faults(readable.pairs, languages, collected.source.bytes):
                collected.add_pair(number, pair, wide)
            collected.target.bytes = collected.source.bytes
        sound = partial(_sound, readable, languages)
        suspects = find_suspects(sound, len(collected.sound), collected.links, model)
        return collected.report((names[0], names[1]), suspects, by_model=model is not None)


def _sound(corpus: CorpusData, languages: LanguagePair) -> Iterator[Pair]:
    """The pairs that are UTF-8 and have text on both sides, without spaces around them."""
    found: Iterator[Pair]
    if corpus.pairs is not None:
        found = (
            without_surrogates(pair)
            for _, pair, _ in pairs_or_faults(corpus.pairs, languages)
            if isinstance(pair, tuple)
        )
    else:
        found = (
            (decoded(left or b"") or "", decoded(right or b"") or "")
            for left, right in raw_sides(corpus.src or "", corpus.tgt or "")
        )
    for source, target in found:
        if source.strip() and target.strip():
            yield source.strip(), target.strip()


class _SideCollector:
    """Collects the bad lines of one side, and two lengths of each sound pair."""

    def __init__(self) -> None:
        self.lines = 0
        self.bytes = SeenBytes()
        self.empty, self.misencoded, self.over_long = array("q"), array("q"), array("q")
        self.words, self.characters = array("I"), array("I")

    def report(self, name: str, sound: NDArray[np.integer[Any]]) -> SideReport:
        return SideReport(
            name=name,
            lines=self.lines,
            empty=LineNumbers.of(_numbers(self.empty)),
            misencoded=LineNumbers.of(_numbers(self.misencoded)),
            utf16=self.bytes.is_utf16,
            advice=self.bytes.advice,
            over_long=LineNumbers.of(_numbers(self.over_long)),
            words=lengths_of(_numbers(self.words), sound),
            characters=lengths_of(_numbers(self.characters), sound),
        )


class _Collector:
    """Collects the pairs one by one and makes the report."""

    def __init__(self, max_length: int) -> None:
        self.max_length = max_length
        self.source, self.target = _SideCollector(), _SideCollector()
        self.sound, self.malformed, self.wide, self.copies = array("q"), array("q"), array("q"), array("q")
        self.surrogates = array("q")
        self.fault: str | None = None
        self.pair_hashes, self.source_hashes, self.target_hashes = array("Q"), array("Q"), array("Q")

    def add_raw(self, number: int, raws: tuple[bytes | None, bytes | None]) -> None:
        texts: list[str] = []
        for side, raw in zip((self.source, self.target), raws, strict=True):
            if raw is None:
                continue
            side.lines += 1
            text = side.bytes.decoded(raw)
            if text is None:
                side.misencoded.append(number)
            elif self._has_text(side, number, text):
                texts.append(text)
        if len(texts) == 2:
            self._add_sound(number, (texts[0], texts[1]))

    def add_pair(self, number: int, pair: Pair | DataError | bytes, wide: bool) -> None:
        if wide:
            self.wide.append(number)
        for side in (self.source, self.target):
            side.lines += 1
            if isinstance(pair, bytes):
                side.misencoded.append(number)
        if isinstance(pair, DataError):
            self.malformed.append(number)
            self.fault = self.fault or str(pair)
        elif not isinstance(pair, bytes):
            mended = without_surrogates(pair)
            if mended != pair:
                self.surrogates.append(number)
                pair = mended
            both = [self._has_text(self.source, number, pair[0]), self._has_text(self.target, number, pair[1])]
            if all(both):
                self._add_sound(number, pair)

    def _has_text(self, side: _SideCollector, number: int, text: str) -> bool:
        if not text.strip():
            side.empty.append(number)
            return False
        if len(text) > LONGEST_PIECE * self.max_length or len(text.split()) > self.max_length:
            side.over_long.append(number)
        return True

    def _add_sound(self, number: int, pair: Pair) -> None:
        source, target = (text.strip() for text in pair)
        self.sound.append(number)
        for side, text in ((self.source, source), (self.target, target)):
            side.words.append(len(text.split()))
            side.characters.append(len(text))
        self.pair_hashes.append(text_hash(f"{source}\n{target}"))
        self.source_hashes.append(text_hash(source))
        self.target_hashes.append(text_hash(target))
        if source == target:
            self.copies.append(number)

    @property
    def links(self) -> int:
        """The sum of source words times target words of the sound pairs."""
        words = (np.minimum(_numbers(side.words), MOST_WORDS).astype(np.int64) for side in (self.source, self.target))
        return int(np.dot(*words))

    def report(self, names: tuple[str, str], suspects: Suspects, *, by_model: bool) -> CheckReport:
        sound = _numbers(self.sound)
        repeats, target_repeats = _repeats(self.pair_hashes), _repeats(self.target_hashes)
        characters = np.stack([_numbers(side.characters) for side in (self.source, self.target)]).astype(np.float64)
        ratios = characters[0] / characters[1]
        median = float(np.median(ratios)) if len(sound) else 0.0
        odd = (ratios > RATIO * median) | (ratios * RATIO < median)
        return CheckReport(
            source=self.source.report(names[0], sound),
            target=self.target.report(names[1], sound),
            sound=len(sound),
            too_long=int(np.isin(sound, _either(self.source.over_long, self.target.over_long)).sum()),
            empty=len(_either(self.source.empty, self.target.empty)),
            malformed=LineNumbers.of(_numbers(self.malformed)),
            fault=self.fault,
            wide=LineNumbers.of(_numbers(self.wide)),
            surrogates=LineNumbers.of(_numbers(self.surrogates)),
            duplicates=LineNumbers.of(sound[repeats]),
            repeated_sources=LineNumbers.of(sound[_repeats(self.source_hashes)]),
            repeated_targets=LineNumbers.of(sound[target_repeats & ~repeats]),
            copies=LineNumbers.of(_numbers(self.copies)),
            ratio=median,
            outliers=LineNumbers.of(sound[odd & (characters.max(axis=0) >= RATIO_CHARACTERS)]),
            swapped=_lines(sound, suspects.swapped),
            misaligned=_lines(sound, suspects.misaligned, self.copies),
            shift=suspects.shift,
            by_model=by_model,
            unlikely=_lines(sound, suspects.unlikely, self.copies),
            max_length=self.max_length,
        )


def _lines(
    sound: NDArray[np.integer[Any]], suspect: Flags | None, except_for: "array[int] | None" = None
) -> LineNumbers | None:
    """The numbers of the suspect lines, without those that another count has already."""
    if suspect is None:
        return None
    return LineNumbers.of(sound[suspect & ~np.isin(sound, _numbers(except_for or array("q")))])


def _repeats(hashes: "array[int]") -> Flags:
    """Whether each hash occurred before."""
    repeats = np.ones(len(hashes), dtype=bool)
    repeats[np.unique(_numbers(hashes), return_index=True)[1]] = False
    return repeats


def _either(left: "array[int]", right: "array[int]") -> NDArray[np.integer[Any]]:
    """The line numbers of one side or the other, each once."""
    return np.union1d(_numbers(left), _numbers(right))


def _numbers(values: "array[int]") -> NDArray[np.integer[Any]]:
    return np.frombuffer(values, dtype=values.typecode) if values else np.zeros(0, dtype=values.typecode)
