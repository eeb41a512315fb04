"""A classifier as its users see it: texts in, labels out. It joins a tokenizer, a network and the labels' names.

Of a text longer than `MAX_TOKENS`, or than learned positions reach, the beginning is read, and the answer says so.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from regard.bundle.opened import OpenBundle
from regard.engine.batching import length_batches, padded
from regard.engine.model import MAX_TOKENS
from regard.engine.runner import Mode, evaluating
from regard.text.tokenizer import Tokenizer


class LabelNetwork(Mode, Protocol):
    """A network that tells labels."""

    def __call__(self, source: Tensor) -> Tensor:
        """source [B, S] -> logits [B, L], or of a tagger [B, S, L]"""
        ...

    def state_dict(self) -> dict[str, Tensor]:
        """All weights."""
        ...


@dataclass(frozen=True)
class Classification:
    """A text and its label."""

    text: str
    label: str
    """The most probable."""
    probabilities: dict[str, float]
    """Of every label."""
    truncated: bool = False
    """Whether the text was too long and only its beginning was read."""


class Labeller:
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
        self.max_tokens = MAX_TOKENS if reach is None else min(MAX_TOKENS, reach - 2)  # an end mark and a class token
        self._turn = threading.RLock()

    def classify(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> list[Classification]:
        """The label of each text, in order; an empty one has a label too."""
        if isinstance(texts, str):
            raise TypeError(f"expected a list of texts, not one text: write [{texts[:20]!r}]")
        rows = self.tokenizer.encode_batch(texts)
        found = self.probabilities([ids[: self.max_tokens] for ids in rows], batch_tokens)
        return [
            Classification(
                text,
                self.labels[max(range(len(values)), key=values.__getitem__)],
                dict(zip(self.labels, values, strict=True)),
                truncated=len(ids) > self.max_tokens,
            )
            for text, ids, values in zip(texts, rows, found, strict=True)
        ]

    def probabilities(self, rows: Sequence[Sequence[int]], batch_tokens: int = 4096) -> list[list[float]]:
        """p of each label, for each row of ids without end mark."""
        with self._turn:
            found: list[list[float]] = distributions(self.network, self.tokenizer, rows, batch_tokens)
        return found


def distributions(
    network: LabelNetwork, tokenizer: Tokenizer, rows: Sequence[Sequence[int]], batch_tokens: int
) -> list[Any]:
    """softmax of what the network says of each row of ids without end mark: [L] as a list, or of a tagger [T, L]."""
    vocabulary = tokenizer.vocabulary
    results: dict[int, Any] = {}
    for batch in length_batches([len(ids) for ids in rows], batch_tokens):
        with evaluating(network):
            device = next(iter(network.state_dict().values())).device
            source = padded([[*rows[number], vocabulary.EOS] for number in batch], vocabulary.pad, device)
            values = network(source).softmax(dim=-1)
        results |= zip(batch, values.tolist(), strict=True)
    return [results[number] for number in range(len(rows))]
