"""ROUGE (Lin 2004) of summaries by Google's `rouge-score`, which agrees with ROUGE-1.5.5: F-scores of n-grams and common subsequences.

With Porter's stemmer, as summarisation papers use it. The package is an extra, imported where it is used. Its own words are runs of a-z
and 0-9 alone, so that a text of another script has none, and would score 0 against itself. So beside a reference most of whose letters are
others, words are runs of any letters and digits, and single characters in scripts without spaces. Any other reference, as all English
ones, has the scores of the package.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import partial
from typing import Any

from regard.extras import needing

TYPES = {"rouge1": "unigrams", "rouge2": "bigrams", "rougeL": "the longest common subsequence"}
"""The package's names of the scores."""


def rouge(kind: str, hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """The F-score of each summary, 0 to 100. kind: of `TYPES`."""
    ours, theirs = _scorers(kind)
    pairs = zip(hypotheses, references, strict=True)
    return [
        100.0 * (theirs if _mostly_latin(reference) else ours).score(reference, hypothesis)[kind].fmeasure
        for hypothesis, reference in pairs
    ]


rouge_1, rouge_2, rouge_l = (partial(rouge, kind) for kind in TYPES)


def _mostly_latin(text: str) -> bool:
    """Whether at least half of the letters and digits of a text are in words of the package."""
    letters = [letter for letter in text if letter.isalnum()]
    return 2 * sum(map(str.isascii, letters)) >= len(letters)


def _scorers(kind: str) -> tuple[Any, Any]:
    """The scorer with words of every script, and the package's own."""
    with needing("ROUGE"):
        from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([kind], tokenizer=AnyScript()), RougeScorer([kind], use_stemmer=True)


class AnyScript:
    """The package's tokenizer with stemmer, for every script."""

    def __init__(self) -> None:
        from rouge_score.tokenizers import DefaultTokenizer

        self._ascii = DefaultTokenizer(use_stemmer=True)

    def tokenize(self, text: str) -> list[str]:
        """The words of a text."""
        if text.isascii():
            words: list[str] = self._ascii.tokenize(text)
            return words
        spaced = _UNSPACED.sub(r" \g<0> ", unicodedata.normalize("NFC", text).lower())
        found: list[str] = []
        for run in "".join(map(_letter, spaced)).split():
            found += self._ascii.tokenize(run) if run.isascii() else [run]
        return found


_UNSPACED = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]|[\u0e01-\u0e2e\u0e40-\u0e44][\u0e30-\u0e3a\u0e45-\u0e4e]*"
)
"""A character of Japanese or Chinese; one of Thai with its marks."""


def _letter(character: str) -> str:
    """A letter, digit or mark as it is; a space for any other character."""
    return character if unicodedata.category(character)[0] in "LNM" else " "
