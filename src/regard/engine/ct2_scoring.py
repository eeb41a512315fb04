"""Teacher forcing with CTranslate2: log p of given targets, the same as those of the torch `Runner`. It never imports torch.

CTranslate2 adds the end mark to a target, and scores it. It knows no text.

Shapes: B pairs, T target tokens with their end mark, V outputs.
"""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from regard.engine.batching import length_batches
from regard.engine.fast import Forced
from regard.errors import SearchError

if TYPE_CHECKING:
    import ctranslate2

MOST_LOGITS = 1 << 24  # numbers [B, T, V] that a batch may need: 64 MB
_AHEAD = 16  # batches that are submitted before the first is awaited

Ids = Sequence[int]


def forced_scores(
    translator: "ctranslate2.Translator",
    pieces: tuple[Sequence[str], Sequence[str]],  # of source and target
    sources: Sequence[Ids],
    targets: Sequence[Ids],
    batch_tokens: int,
) -> Iterator[Forced]:
    """The number of each pair, and log p of each token of its target and of the end mark, as soon as they are there."""
    source_pieces, target_pieces = pieces
    tokens = max(1, min(batch_tokens, MOST_LOGITS // len(target_pieces)))
    widths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
    waiting: deque[tuple[list[int], Sequence[Any]]] = deque()
    for batch in length_batches(widths, tokens):
        answers = translator.score_batch(
            [[source_pieces[token] for token in sources[number]] for number in batch],
            [[target_pieces[token] for token in targets[number]] for number in batch],
            max_input_length=0,
            asynchronous=True,
        )
        waiting.append((batch, answers))
        if len(waiting) > _AHEAD:
            yield from _results(*waiting.popleft())
    while waiting:
        yield from _results(*waiting.popleft())


def _results(batch: list[int], answers: Sequence[Any]) -> Iterator[Forced]:
    for number, answer in zip(batch, answers, strict=True):
        logprobs = [*answer.result().log_probs]
        if any(map(math.isnan, logprobs)):
            raise SearchError(
                "the model's logits are not numbers (NaN): its weights are damaged or its training diverged"
            )
        yield number, logprobs
