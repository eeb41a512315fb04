"""Scores of answers to questions: exact match and the F1 of words, both after SQuAD's normalisation (Rajpurkar et al. 2016, 2018)."""

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation)


def normalised_answer(text: str) -> str:
    """The text in lower case, without ASCII punctuation, English articles and repeated white space."""
    plain = "".join(character for character in text.lower() if character not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def exact_answers(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """1 for each answer that equals its reference after normalisation, else 0."""
    pairs = zip(hypotheses, references, strict=True)
    return [float(normalised_answer(hypothesis) == normalised_answer(reference)) for hypothesis, reference in pairs]


def answer_f1(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """2 P R / (P + R) of each answer, with precision and recall of its words as a bag. Of two empty answers it is 1."""
    return [_f1(hypothesis, reference) for hypothesis, reference in zip(hypotheses, references, strict=True)]


def _f1(hypothesis: str, reference: str) -> float:
    words, expected = (normalised_answer(text).split() for text in (hypothesis, reference))
    if not words or not expected:
        return float(words == expected)
    same = sum((Counter(words) & Counter(expected)).values())
    return 2 * same / (len(words) + len(expected))
