"""Attention of given targets to their sources with CTranslate2, by teacher forcing. It never imports torch and knows no text.

A target is the prefix of a search that goes on for one step. The step reads the target's last token, and its row is that of the end mark.

Shapes: T target tokens with their end mark, S source tokens without theirs.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.batching import length_batches
from regard.errors import SearchError

if TYPE_CHECKING:
    import ctranslate2

_AHEAD = 16  # batches that are submitted before the first is awaited

Ids = Sequence[int]
Attention = tuple[int, NDArray[np.float64]]
"""The number of a pair, and [T, S]: the mean attention of the heads that the model shows."""


def forced_attention(
    translator: "ctranslate2.Translator",
    pieces: tuple[Sequence[str], Sequence[str]],  # of source and target
    sources: Sequence[Ids],
    targets: Sequence[Ids],
    batch_tokens: int,
) -> Iterator[Attention]:
    """The attention of each pair, as soon as it is there. A pair without a source has no columns."""
    source_pieces, target_pieces = pieces
    filled = [number for number, ids in enumerate(sources) if ids]
    yield from ((number, np.zeros((len(targets[number]) + 1, 0))) for number, ids in enumerate(sources) if not ids)
    widths = [max(len(sources[number]), len(targets[number])) for number in filled]
    waiting: deque[tuple[list[int], Sequence[Any]]] = deque()
    for places in length_batches(widths, batch_tokens):
        batch = [filled[place] for place in places]
        answers = translator.translate_batch(
            [[source_pieces[token] for token in sources[number]] for number in batch],
            target_prefix=[[target_pieces[token] for token in targets[number]] for number in batch],
            asynchronous=True,
            beam_size=1,
            max_input_length=0,
            max_decoding_length=max(len(targets[number]) for number in batch) + 1,
            min_decoding_length=0,
            return_attention=True,
            return_end_token=True,
        )
        waiting.append((batch, answers))
        if len(waiting) > _AHEAD:
            yield from _results(*waiting.popleft(), sources, targets)
    while waiting:
        yield from _results(*waiting.popleft(), sources, targets)


def _results(
    batch: list[int], answers: Sequence[Any], sources: Sequence[Ids], targets: Sequence[Ids]
) -> Iterator[Attention]:
    for number, answer in zip(batch, answers, strict=True):
        rows = np.array(answer.result().attention[0], dtype=np.float64)[: len(targets[number]) + 1]
        if np.isnan(rows).any():
            raise SearchError(
                "the model's attention is not numbers (NaN): its weights are damaged or its training diverged"
            )
        yield number, rows[:, : len(sources[number])]
