"""`Classifier`: texts in, labels out. It joins a tokenizer, a network and the names of the labels.

A text longer than `MAX_TOKENS` and than every text of training, or longer than the network has positions for, is truncated; the result
says so (`truncated`).
"""

from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor

from regard.activity import activity
from regard.bundle.describe import summary
from regard.bundle.opened import OpenBundle
from regard.engine.batching import length_batches, padded
from regard.engine.input_length import MAX_TOKENS, most_characters
from regard.engine.resident import Evaluable, Resident
from regard.tasks.checks import check_texts
from regard.tasks.classify.classification import Classification
from regard.tasks.explainable import Explainable
from regard.text.tokenizer import Tokenizer


class LabelNetwork(Evaluable, Protocol):
    """A network with a logit for each label."""

    def __call__(self, source: Tensor) -> Tensor:
        """source [B, S] -> logits [B, L]; a tagger returns [B, S, L]"""
        ...


class LabelServer(Explainable[LabelNetwork]):
    """The base of `Classifier` and `Tagger`: a network with its tokenizer and labels."""

    marks = 1
    """The number of tokens that are added to a text."""

    def __init__(
        self,
        network: LabelNetwork,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        *,
        reach: int | None = None,
        longest: int | None = None,
        bundle: OpenBundle | None = None,
    ) -> None:
        """reach: the longest sequence that the network has positions for, marks included; longest: the longest text of training."""
        self._resident = Resident(network)
        self.tokenizer, self.labels, self.bundle = tokenizer, tuple(labels), bundle
        most = max(MAX_TOKENS, longest or 0)
        self.max_tokens = most if reach is None else min(most, reach - self.marks)
        self.max_characters = most_characters(self.max_tokens)

    def __repr__(self) -> str:
        return summary(type(self).__name__, self.bundle, self._resident.loaded)

    @property
    def network(self) -> LabelNetwork:
        """The network."""
        return self._resident.network


class Classifier(LabelServer):
    """Labels texts. Made by `regard.load`, or around a network that is being trained."""

    marks = 2  # an end mark and a class token

    def classify(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> list[Classification]:
        """The label of each text, in order. An empty text gets a label too."""
        check_texts(texts)
        rows = self.tokenizer.encode_batch([text[: self.max_characters] for text in texts])
        probabilities = self.probabilities([ids[: self.max_tokens] for ids in rows], batch_tokens)
        return [
            Classification(
                text,
                self.labels[max(range(len(values)), key=values.__getitem__)],
                dict(zip(self.labels, values, strict=True)),
                truncated=len(ids) > self.max_tokens or len(text) > self.max_characters,
            )
            for text, ids, values in zip(texts, rows, probabilities, strict=True)
        ]

    def probabilities(self, rows: Sequence[Sequence[int]], batch_tokens: int = 4096) -> list[list[float]]:
        """The probability of each label, for each row of ids without end mark."""
        values: list[list[float]] = distributions(self._resident, self.tokenizer, rows, batch_tokens)
        return values


def distributions(
    resident: Resident[LabelNetwork], tokenizer: Tokenizer, rows: Sequence[Sequence[int]], batch_tokens: int
) -> list[Any]:
    """The label probabilities of each row of ids without end mark: a list [L]; for a tagger [T, L]."""
    vocabulary = tokenizer.vocabulary
    results: dict[int, Any] = {}
    with activity("classifying", len(rows), "texts") as progress:
        for batch in length_batches([len(ids) for ids in rows], batch_tokens):
            with resident.evaluating() as network:
                source = padded([[*rows[number], vocabulary.EOS] for number in batch], vocabulary.pad, resident.device)
                values = network(source).softmax(dim=-1)
            results |= zip(batch, values.tolist(), strict=True)
            progress.advance(len(batch))
    return [results[number] for number in range(len(rows))]
