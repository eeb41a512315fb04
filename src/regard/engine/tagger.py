"""A tagger as its users see it: texts in, a label of every word out. It joins a tokenizer, a network and the labels' names.

A text longer than `MAX_TOKENS`, or than learned positions reach, is read in parts that know nothing of each other, and the answer says so.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from regard.bundle.opened import OpenBundle
from regard.engine.labeller import LabelNetwork, distributions
from regard.engine.model import MAX_TOKENS
from regard.text.tokenizer import Tokenizer, word_ends


@dataclass(frozen=True)
class Tagging:
    """A text and the labels of its words."""

    text: str
    words: list[str]
    """Of the normalised text."""
    labels: list[str]
    """Of each word the most probable."""
    probabilities: list[dict[str, float]]
    """Of each word, of every label."""
    parted: bool = False
    """Whether the text was too long to be read at once."""


class Tagger:
    """A network with its tokenizer. Made by `load`, or around a network that is being trained."""

    def __init__(
        self,
        network: LabelNetwork,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        *,
        reach: int | None = None,
        bundle: OpenBundle | None = None,
    ) -> None:
        self.network, self.tokenizer, self.labels, self.bundle = network, tokenizer, tuple(labels), bundle
        self.max_tokens = MAX_TOKENS if reach is None else min(MAX_TOKENS, reach - 1)  # an end mark
        self._turn = threading.RLock()

    def classify(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> list[Tagging]:
        """The labels of the words of each text, in order; an empty one has none."""
        if isinstance(texts, str):
            raise TypeError(f"expected a list of texts, not one text: write [{texts[:20]!r}]")
        rows = self.tokenizer.encode_batch(texts)
        return [
            Tagging(
                text,
                self.tokenizer.decode(ids).split(),
                [self.labels[max(range(len(values)), key=values.__getitem__)] for values in found],
                [dict(zip(self.labels, values, strict=True)) for values in found],
                parted=len(ids) > self.max_tokens,
            )
            for text, ids, found in zip(texts, rows, self.probabilities(rows, batch_tokens), strict=True)
        ]

    def probabilities(self, rows: Sequence[Sequence[int]], batch_tokens: int = 4096) -> list[list[list[float]]]:
        """p of each label, for each word of each row of ids without end mark."""
        starts = [range(0, len(ids), self.max_tokens) for ids in rows]
        parts = [ids[start : start + self.max_tokens] for ids, own in zip(rows, starts, strict=True) for start in own]
        with self._turn:
            found = iter(distributions(self.network, self.tokenizer, parts, batch_tokens))
        results = []
        for ids, own in zip(rows, starts, strict=True):
            tokens = [values for start in own for values in next(found)[: min(self.max_tokens, len(ids) - start)]]
            results.append([tokens[place] for place in word_ends(self.tokenizer, ids)])
        return results
