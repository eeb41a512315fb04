"""Tells the language of a sentence by its character trigrams, without a download and without a model.

The statistics of 55 languages are part of the package (`profiles/languages.json.gz`, made by benchmarks/language_profiles.py from the
n-gram counts of langdetect, Apache License 2.0, Cybozu Labs and M. Danilak, counted in Wikipedia). A side of a corpus adds its own counts
to those of its language, so that its names and terms are no evidence for another one. It reads no corpus.

Shapes: N texts, G trigrams of all texts, L languages, R trigrams in the statistics.
"""

import gzip
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.data.trigrams import Values, hashed_trigrams

PROFILES = Path(__file__).parent / "profiles" / "languages.json.gz"
SCALE = 8.0  # the numbers in the file are -8 log p
BITS = 20  # of a hashed trigram
FLOOR = -10.5  # log p of a trigram that is not among the most frequent of a language
MAJORITY = 0.5  # the share of the judged sentences that tell the language of a side
JUDGED = 12  # trigrams: the language of a shorter sentence tells little
_BLOCK = 2_000  # texts that are judged at once
_VARIANTS = ({"zh", "zh-TW"},)

KANA_AND_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""The signs of Chinese and Japanese, which are written without spaces, as part of a regular expression."""

IDEOGRAPH = re.compile(f"[{KANA_AND_HAN}\uac00-\ud7af]")
"""A sign that the statistics count by itself: of Korean, too."""

# langdetect counts all signs of these scripts as one.
_AS_ONE = (
    (re.compile("[\u3041-\u309f]"), "あ"),
    (re.compile("[\u30a0-\u30ff]"), "ア"),
    (re.compile("[\uac00-\ud7af]"), "가"),
)
_AS_OTHERS = str.maketrans("șțی", "şţي")
_NO_LETTERS = re.compile(
    r"[\s\d_!-/:-@\[-`{-~\u00a1-\u00bf\u00d7\u00f7\u2000-\u206f\u20a0-\u2bff\u3000-\u303f\ufe30-\ufe4f\uff00-\uff20]+"
)


@dataclass(frozen=True)
class Statistics:
    """Trigram statistics of several languages."""

    names: tuple[str, ...]
    places: NDArray[np.int32]
    """[2^BITS] row of a hashed trigram; 0: of none."""
    shares: NDArray[np.float32]
    """[1 + R, L] log p. The first row is zero: such a trigram tells nothing."""

    def column(self, language: str) -> int | None:
        """The place of a language, by its code without region; None: there are no statistics of it."""
        known = {name.lower(): place for place, name in enumerate(self.names)}
        plain = language.lower().replace("_", "-")
        return known.get(plain, known.get(plain.split("-")[0], known.get({"nb": "no", "nn": "no"}.get(plain, ""))))


@cache
def statistics() -> Statistics:
    """The statistics that are part of the package."""
    profiles: dict[str, tuple[list[str], list[int]]] = json.loads(gzip.decompress(PROFILES.read_bytes()))
    places = np.zeros(1 << BITS, dtype=np.int32)
    rows: list[NDArray[np.float32]] = [np.zeros(len(profiles), dtype=np.float32)]
    for column, (grams, numbers) in enumerate(profiles.values()):
        padded = [gram if len(gram) == 3 else f" {gram} " for gram in grams]
        for bucket, number in zip(hashed_trigrams("".join(padded), BITS)[::3], numbers, strict=True):
            if not places[bucket]:
                places[bucket] = len(rows)
                rows.append(np.full(len(profiles), FLOOR, dtype=np.float32))
            row = rows[places[bucket]]
            row[column] = max(row[column], -number / SCALE)
    return Statistics(tuple(profiles), places, np.stack(rows))


def letter_trigrams(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[G] the hashed trigrams of the words of all texts, -1 between words, and [N] how many each text has.

    Digits and punctuation do not count.
    """
    padded = [f" {letters_of(text)} " for text in texts]
    lengths = np.array([*map(len, padded)], dtype=np.int64)
    joined = "".join([*padded, "  "])
    grams = hashed_trigrams(joined, BITS)
    grams[
        np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")[1:-1] == ord(" ")
    ] = -1  # none of one word
    return grams, lengths


def letters_of(text: str) -> str:
    """The text as the statistics count it: lower-case words, without digits and punctuation."""
    words = _NO_LETTERS.sub(" ", text.lower())
    if not words.isascii():
        words = words.translate(_AS_OTHERS)
        if IDEOGRAPH.search(words):
            for script, sign in _AS_ONE:
                words = script.sub(sign, words)
            words = IDEOGRAPH.sub(r" \g<0> ", words)
    return words


def letter_rows(texts: Sequence[str], known: Statistics | None = None) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """[G] the rows of the statistics of all trigrams, 0 where there is none, and [N] how many trigrams each text has.

    known: the statistics; None: those of the package.
    """
    grams, lengths = letter_trigrams(texts)
    return np.where(grams < 0, 0, (known or statistics()).places[grams]), lengths


def log_shares(texts: Sequence[str], known: Statistics | None = None) -> tuple[Values, NDArray[np.int64]]:
    """[N, L] the log-probability of each text in each language, and [N] how many of its trigrams tell something.

    known: the statistics; None: those of the package.
    """
    known = known or statistics()
    rows, lengths = letter_rows(texts, known)
    starts = np.cumsum(lengths) - lengths
    told = np.add.reduceat((rows > 0).astype(np.int64), starts)
    return np.add.reduceat(known.shares[rows], starts, axis=0).astype(np.float64), told


def _most_probable(texts: Sequence[str]) -> list[int]:
    """The place of the most probable language of each text."""
    blocks = (texts[first : first + _BLOCK] for first in range(0, len(texts), _BLOCK))
    return [place for block in blocks for place in log_shares(block)[0].argmax(axis=1).tolist()]


def guess_languages(texts: Sequence[str]) -> list[str | None]:
    """The most probable language of each text; None for one that is too short to tell."""
    names = statistics().names
    guesses: list[str | None] = []
    for first in range(0, len(texts), _BLOCK):
        values, told = log_shares(texts[first : first + _BLOCK])
        guesses += [
            names[place] if many >= JUDGED else None for place, many in zip(values.argmax(axis=1), told, strict=True)
        ]
    return guesses


class SideLanguage:
    """The language of one side of a corpus, from a sample of it."""

    def __init__(self, sample: Sequence[str], language: str | None = None) -> None:
        """language: its code, if it is known. `name` is None if neither it nor the sample tells a language with statistics."""
        known = statistics()
        self.name: str | None = None
        column = None if language is None else known.column(language)
        if column is None and language is None:
            guessed = [name for name in guess_languages(sample) if name is not None]
            for name, count in Counter(guessed).most_common(1):
                column = known.names.index(name) if count > MAJORITY * len(guessed) else None
        if column is None:
            return
        self.name = known.names[column]
        self._own = self._shares_with(sample, column)
        self._excluded = [column, *self._variants(column)]

    @staticmethod
    def _variants(column: int) -> list[int]:
        names = statistics().names
        return [names.index(other) for group in _VARIANTS if names[column] in group for other in group]

    @staticmethod
    def _shares_with(sample: Sequence[str], column: int) -> NDArray[np.float32]:
        """[1 + R] log p of a trigram on this side: half as in its language, half as in the texts of the sample in that language."""
        known = statistics()
        own = [text for text, place in zip(sample, _most_probable(sample), strict=True) if place == column]
        rows = letter_rows(own)[0]
        counts = np.bincount(rows[rows > 0], minlength=len(known.shares))
        seen = counts / max(1, counts.sum())
        mixed = np.log(0.5 * np.exp(known.shares[:, column]) + 0.5 * seen)
        mixed[0] = 0.0
        return np.asarray(mixed, dtype=np.float32)

    def other_languages(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """For each text the most probable other language, and by how many nats it is more probable than the language of this side."""
        if not texts:
            return []
        known = statistics()
        rows, lengths = letter_rows(texts)
        starts = np.cumsum(lengths) - lengths
        values = np.add.reduceat(known.shares[rows], starts, axis=0)
        own = np.add.reduceat(self._own[rows], starts)
        values[:, self._excluded] = -np.inf
        best = values.argmax(axis=1)
        margins = values[np.arange(len(texts)), best] - own
        return [(known.names[place], float(margin)) for place, margin in zip(best, margins, strict=True)]
