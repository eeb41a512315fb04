"""One epoch's batches: which examples go together, and the tensors they become.

The order is a pure function of the lengths, the budget, the seed and the epoch: nothing has to be saved to resume in the
middle of an epoch but the number of the batch, and `plan(...)[rank::world]` is the share of one process among `world`.
It sees ids and lengths, never text or a model.

Shapes: N examples of the corpus, B examples of a batch, R readings of each, S source tokens, T target tokens, both with the end mark.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.alignments import WordLinks, token_links
from regard.data.corpus import Corpus
from regard.text.build import TokenizerPair
from regard.text.dropout import DropoutStreams
from regard.text.packed import Packed, pack
from regard.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Batch:
    """Examples side by side, padded on the right."""

    source: Tensor
    """[R B, S] x1 .. xm, end mark; padded with the source's pad id. The first reading of every example, then the second."""

    target_in: Tensor
    """[B, T] start token (the target's pad id), y1 .. yn; padded with it too."""

    target_out: Tensor
    """[B, T] y1 .. yn, end mark; padded with the target's pad id. What `target_in` should predict, place by place."""

    indices: tuple[int, ...]
    """Which examples of the corpus these are."""

    tokens: int
    """Real target tokens, end marks included: what a loss is divided by."""

    alignment: Tensor | None = None
    """[R B, T, S] where alignments are given: how much of its attention each token of `target_out` should pay to each of `source`; its
    rows sum to 1, or to 0 where there is no link."""

    def to(self, device: torch.device | str) -> Self:
        """The same batch on another device."""
        return replace(
            self,
            source=self.source.to(device),
            target_in=self.target_in.to(device),
            target_out=self.target_out.to(device),
            alignment=None if self.alignment is None else self.alignment.to(device),
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
    widths = _small(np.maximum(source_lengths, target_lengths).astype(np.int64) + 1)
    # Of equal widths, those whose other side is alike sit together: on real text 5 % of a batch less is padding.
    slants = _small(np.asarray(source_lengths, dtype=np.int64) - target_lengths)
    # Shuffle, then sort stably: examples of the same shape meet in a new order each epoch.
    order = np.asarray(generator.permutation(len(widths)), dtype=np.int64)
    order = order[np.lexsort((slants[order], widths[order]))]
    cuts = _cuts(widths[order], batch_tokens)
    batches = [order[start:end] for start, end in pairwise(cuts)]
    return [batches[i] for i in generator.permutation(len(batches))]


def _small(numbers: NDArray[np.int64]) -> NDArray[np.integer[Any]]:
    """The same numbers in two bytes where they fit: such are sorted by radix, seven times as fast."""
    limits = np.iinfo(np.int16)
    fit = len(numbers) == 0 or (numbers.min() >= limits.min and numbers.max() <= limits.max)
    return numbers.astype(np.int16) if fit else numbers


def _cuts(widths: NDArray[np.integer[Any]], budget: int) -> list[int]:
    """Where to cut ascending `widths` so that each piece, as long as possible, fills at most `budget`."""
    if not len(widths):
        return []
    cuts = [0]
    changes = np.flatnonzero(np.diff(widths)) + 1
    for begin, end in pairwise([0, *changes.tolist(), len(widths)]):  # a run of one width
        room = max(1, budget // int(widths[begin]))
        # The open piece may hold narrower ones; it takes as many of this width as it has room for, if any.
        cuts += range(max(begin, cuts[-1] + room), end, room)
    return [*cuts, len(widths)]


def make_batch(
    corpus: Corpus,
    indices: Iterable[int],
    tokenizers: TokenizerPair,
    dropout: float = 0.0,
    seed: int = 0,
    epoch: int = 0,
    readings: int = 1,
    links: WordLinks | None = None,
) -> Batch:
    """The tensors of these examples. With `dropout`, each is segmented anew as (seed, epoch, example) decide.

    Of several readings each has a segmentation of its own of the sources; the targets are the same for all.
    With `links` the batch says where each target token should look.
    """
    examples = np.fromiter(indices, dtype=np.int64)
    sources, targets = corpus.sources(np.tile(examples, readings)), corpus.targets(examples)
    if dropout > 0.0:
        streams = DropoutStreams(seed, epoch)
        # Two streams for one example, so that its sides are segmented independently; far off, those of the other readings.
        sentences = np.concatenate([2 * examples + (reading << 40) for reading in range(readings)])
        sources = _dropped(tokenizers.source, sources, dropout, streams, sentences, corpus.max_length)
        targets = _dropped(tokenizers.target, targets, dropout, streams, 2 * examples + 1, corpus.max_length)
    source_words, target_words = tokenizers.source.vocabulary, tokenizers.target.vocabulary
    source = padded(sources, source_words.pad)
    target = padded(targets, target_words.pad)
    start = np.full((len(examples), 1), target_words.pad, dtype=np.int64)
    return Batch(
        source=torch.from_numpy(ended(source, sources.lengths, source_words.EOS)),
        target_in=torch.from_numpy(np.concatenate([start, target[:, :-1]], axis=1)),
        target_out=torch.from_numpy(ended(target, targets.lengths, target_words.EOS)),
        indices=tuple(examples.tolist()),
        tokens=len(targets.ids) + len(examples),
        alignment=None if links is None else _alignment(corpus, links, examples, tokenizers, sources, targets),
    )


def _alignment(
    corpus: Corpus,
    links: WordLinks,
    examples: NDArray[np.int64],
    tokenizers: TokenizerPair,
    sources: Packed,  # one row a reading
    targets: Packed,  # one row for all readings
) -> Tensor:
    readings = len(sources.lengths) // len(targets.lengths)
    source_words = [tokenizers.source.words(row.tolist()) for row in sources.rows()]
    target_words = [tokenizers.target.words(row.tolist()) for row in targets.rows()]
    found = links.of(corpus.lines[examples])
    return torch.from_numpy(token_links(found * readings, source_words, target_words * readings))


def _dropped(
    tokenizer: Tokenizer,
    rows: Packed,
    probability: float,
    streams: DropoutStreams,
    sentences: NDArray[np.int64],
    limit: int,
) -> Packed:
    """Random segmentations, or the ordinary one where the random one is longer than any example may be."""
    cut: list[list[int]] = []
    for ids, sentence in zip(rows.rows(), sentences.tolist(), strict=True):
        usual = ids.tolist()
        dropped = tokenizer.drop(usual, probability, streams.of(sentence))
        cut.append(dropped if len(dropped) <= limit else usual)
    return pack(cut)


def padded(rows: Packed, pad: int) -> NDArray[np.int64]:
    """[B, longest + 1]: the rows, and at least one pad after each."""
    table = np.full((len(rows.lengths), rows.lengths.max() + 1), pad, dtype=np.int64)
    table[np.arange(table.shape[1]) < rows.lengths[:, None]] = rows.ids
    return table


def ended(table: NDArray[np.int64], lengths: NDArray[np.int64], end: int) -> NDArray[np.int64]:
    """[B, longest + 1]: a copy of the table with an end mark after each row."""
    ended = table.copy()
    ended[np.arange(len(lengths)), lengths] = end
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
