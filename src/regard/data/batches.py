"""One epoch's batches: which examples go together, and the tensors they become.

The order is a pure function of the lengths, the budget, the seed and the epoch: nothing has to be saved to resume in the
middle of an epoch but the number of the batch, and `plan(...)[rank::world]` is the share of one process among `world`.
It sees ids and lengths, never text or a model.

Shapes: N examples of the corpus, B examples of a batch, S source tokens, T target tokens, both with the end mark.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.corpus import Corpus
from regard.text.build import TokenizerPair
from regard.text.dropout import dropout_generator
from regard.text.tokenizer import Tokenizer

Ids = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Batch:
    """Examples side by side, padded on the right."""

    source: Tensor
    """[B, S] x1 .. xm, end mark; padded with the source's pad id."""

    target_in: Tensor
    """[B, T] start token (the target's pad id), y1 .. yn; padded with it too."""

    target_out: Tensor
    """[B, T] y1 .. yn, end mark; padded with the target's pad id. What `target_in` should predict, place by place."""

    indices: tuple[int, ...]
    """Which examples of the corpus these are."""

    tokens: int
    """Real target tokens, end marks included: what a loss is divided by."""

    def to(self, device: torch.device | str) -> Self:
        """The same batch on another device."""
        return replace(
            self,
            source=self.source.to(device),
            target_in=self.target_in.to(device),
            target_out=self.target_out.to(device),
        )


def plan(
    source_lengths: NDArray[np.integer[Any]],
    target_lengths: NDArray[np.integer[Any]],
    batch_tokens: int,
    seed: int,
    epoch: int,
) -> list[NDArray[np.int64]]:
    """The example numbers of each batch of an epoch, in order; every example occurs once.

    Lengths [N] count tokens without end mark. A batch fills a rectangle of B x (longest + 1), the longest of either
    side, and that is at most `batch_tokens`, unless a single example is larger and forms a batch alone. The shapes of
    the batches are the same in every epoch; who sits in them and their order are not.
    """
    if batch_tokens < 1:
        raise ValueError(f"batch_tokens = {batch_tokens}: must be at least 1")
    generator = np.random.default_rng([seed, epoch])
    widths = np.maximum(source_lengths, target_lengths).astype(np.int64) + 1
    # Of equal widths, those whose other side is alike sit together: on real text 5 % of a batch less is padding.
    slants = np.asarray(source_lengths, dtype=np.int64) - target_lengths
    # Shuffle, then sort stably: examples of the same shape meet in a new order each epoch.
    order = generator.permutation(len(widths)).astype(np.int64)
    order = order[np.lexsort((slants[order], widths[order]))]
    cuts = _cuts(widths[order].tolist(), batch_tokens)
    batches = [order[start:end] for start, end in pairwise(cuts)]
    return [batches[i] for i in generator.permutation(len(batches))]


def _cuts(widths: list[int], budget: int) -> list[int]:
    """Where to cut ascending `widths` so that each piece, as long as possible, fills at most `budget`."""
    cuts = [0]
    while cuts[-1] < len(widths):
        cuts.append(_end(widths, cuts[-1], budget))
    return cuts


def _end(widths: list[int], start: int, budget: int) -> int:
    # The area of widths[start:end] grows with end, and no more than budget // widths[start] can fit.
    ends = range(start + 1, min(len(widths), start + budget // widths[start]) + 1)
    return start + max(1, bisect_right(ends, budget, key=lambda end: (end - start) * widths[end - 1]))


def make_batch(
    corpus: Corpus,
    indices: Iterable[int],
    tokenizers: TokenizerPair,
    dropout: float = 0.0,
    seed: int = 0,
    epoch: int = 0,
) -> Batch:
    """The tensors of these examples. With `dropout`, each is segmented anew as (seed, epoch, example) decide."""
    examples = tuple(int(index) for index in indices)
    sources: list[Ids] = [corpus.source(example) for example in examples]
    targets: list[Ids] = [corpus.target(example) for example in examples]
    if dropout > 0.0:
        limit = corpus.max_length
        for place, example in enumerate(examples):
            # Two streams for one example, so that its sides are segmented independently.
            streams = [dropout_generator(seed, epoch, 2 * example + side) for side in (0, 1)]
            sources[place] = _dropped(tokenizers.source, sources[place], dropout, streams[0], limit)
            targets[place] = _dropped(tokenizers.target, targets[place], dropout, streams[1], limit)
    source_words, target_words = tokenizers.source.vocabulary, tokenizers.target.vocabulary
    source = _padded(sources, source_words.pad)
    target = _padded(targets, target_words.pad)
    start = np.full((len(examples), 1), target_words.pad, dtype=np.int64)
    return Batch(
        source=torch.from_numpy(_ended(source, sources, source_words.EOS)),
        target_in=torch.from_numpy(np.concatenate([start, target[:, :-1]], axis=1)),
        target_out=torch.from_numpy(_ended(target, targets, target_words.EOS)),
        indices=examples,
        tokens=sum(len(ids) + 1 for ids in targets),
    )


def _dropped(tokenizer: Tokenizer, ids: Ids, probability: float, generator: np.random.Generator, limit: int) -> Ids:
    """A random segmentation, or the ordinary one where the random one is longer than any example may be."""
    dropped = tokenizer.drop(ids.tolist(), probability, generator)
    return np.array(dropped, dtype=np.int64) if len(dropped) <= limit else ids


def _padded(rows: Sequence[Ids], pad: int) -> NDArray[np.int64]:
    """[B, longest + 1]: the rows, and at least one pad after each."""
    lengths = np.array([len(row) for row in rows])
    table = np.full((len(rows), lengths.max() + 1), pad, dtype=np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return table


def _ended(table: NDArray[np.int64], rows: Sequence[Ids], end: int) -> NDArray[np.int64]:
    """[B, longest + 1]: a copy of the table with an end mark after each row."""
    ended = table.copy()
    ended[np.arange(len(rows)), [len(row) for row in rows]] = end
    return ended


def split(
    examples: NDArray[np.int64],
    source_lengths: NDArray[np.integer[Any]],
    target_lengths: NDArray[np.integer[Any]],
    parts: int,
) -> list[NDArray[np.int64]]:
    """A batch cut into `parts` of about equally many tokens, neighbours together; some are empty where examples are few."""
    tokens = source_lengths[examples] + target_lengths[examples] + 2
    middles = np.cumsum(tokens) - tokens / 2  # an example belongs where its middle lies
    return np.split(examples, np.searchsorted(middles, tokens.sum() * np.arange(1, parts) / parts))
