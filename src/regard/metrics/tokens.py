"""Scores of outputs that are no prose: edits of tokens, such as phonemes, wrong words, and brackets that fit.

A token is what stands between spaces. It reads no files and knows no model; numpy is imported where it is used.
"""

from collections.abc import Sequence

from regard.metrics.counting import CountedMetric, MatchOptions, SentenceCounts

_OPENING, _CLOSING = "([{", {")": "(", "]": "[", "}": "{"}


def edit_distance(left: Sequence[str], right: Sequence[str]) -> int:
    """The fewest insertions, deletions and substitutions that make one sequence the other (Levenshtein 1966)."""
    row = list(range(len(right) + 1))
    for number, item in enumerate(left, 1):
        corner, row[0] = row[0], number
        for place, other in enumerate(right, 1):
            changed = corner + (item != other)
            corner, row[place] = row[place], min(changed, row[place] + 1, row[place - 1] + 1)
    return row[-1]


def counted_token_errors(_options: MatchOptions) -> CountedMetric:
    """PER: edits / tokens of the references. Of several references the one with the fewest edits for its length counts."""

    def count(hypotheses: Sequence[str], *references: Sequence[str | None]) -> SentenceCounts:
        import numpy as np

        rows = []
        for hypothesis, *alternatives in zip(hypotheses, *references, strict=True):
            tokens = [text.split() for text in alternatives if text is not None]
            edits = [(edit_distance(hypothesis.split(), own), len(own)) for own in tokens]
            rows.append(min(edits, key=lambda pair: (pair[0] / max(1, pair[1]), -pair[1])))
        return np.array(rows, dtype=np.float64)

    return CountedMetric("per", count, lambda sums: float(sums[0] / max(1.0, sums[1])))


def wrong_words(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """1 for each hypothesis that does not have the tokens of its reference, else 0: WER as of pronunciations, not of speech."""
    return [float(own.split() != right.split()) for own, right in zip(hypotheses, references, strict=True)]


def balanced_outputs(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """1 for each hypothesis whose brackets (), [], {} close in order, and that has some where its reference has some; else 0."""
    needed = [any(map(right.__contains__, _OPENING)) for right in references]
    return [float(_is_balanced(own, must)) for own, must in zip(hypotheses, needed, strict=True)]


def _is_balanced(text: str, needed: bool) -> bool:
    """needed: whether a text without brackets is wrong."""
    waiting: list[str] = []
    for character in text:
        if character in _OPENING:
            waiting.append(character)
        elif character in _CLOSING and (not waiting or waiting.pop() != _CLOSING[character]):
            return False
    return not waiting and (not needed or any(map(text.__contains__, _OPENING)))
