"""Batching: sequences of similar length go together, up to a budget of tokens.

Shapes: B sequences, T longest of them.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from regard.bundle.precision import Precision
from regard.search.checks import check_count

if TYPE_CHECKING:
    import torch
    from torch import Tensor


OUTPUT_TOKENS = (
    1 << 17
)  # hypotheses times their longest length, of a batch: bounds the memory of wide beams and long outputs
FAST_BATCH_TOKENS = 1536  # source tokens of greedy search: larger batches do not fit the caches of a core
FAST_BEAM_TOKENS = {"float32": 768, "bfloat16": 768, "int8": 512}  # of a beam, which has several hypotheses for each
FAST_SHORTLIST_TOKENS = 256  # with a shortlist: a smaller batch has fewer candidates


def fast_batch_tokens(beam: int, precision: Precision, *, shortlist: bool) -> int:
    """The source tokens of a batch that CTranslate2 searches fastest on one core."""
    if shortlist:
        return FAST_SHORTLIST_TOKENS
    return FAST_BATCH_TOKENS if beam == 1 else FAST_BEAM_TOKENS[precision]


def length_batches(
    lengths: Sequence[int], batch_tokens: int, outputs: Sequence[int] | None = None
) -> Iterator[list[int]]:
    """Batches of indices into `lengths`, the longest sequences first. Every index occurs once.

    A batch takes B x (longest + 1 for the end mark) tokens with padding: at most `batch_tokens`, unless a single sequence is longer.
    With the longest first, a lack of memory shows at once. outputs: how many tokens a search may keep for each; a batch has at most
    `OUTPUT_TOKENS` of them, unless a single sequence has more.
    """
    check_count("batch_tokens", batch_tokens)
    batch: list[int] = []
    largest = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        wanted = 0 if outputs is None else max(largest, outputs[index])
        too_much = (len(batch) + 1) * (lengths[batch[0]] + 1) > batch_tokens if batch else False
        if too_much or (batch and (len(batch) + 1) * wanted > OUTPUT_TOKENS):
            yield batch
            batch, wanted = [], 0 if outputs is None else outputs[index]
        batch.append(index)
        largest = wanted
    if batch:
        yield batch


def batches_of_one_limit(
    limits: Sequence[int], lengths: Sequence[int], batch_tokens: int, outputs: Sequence[int]
) -> Iterator[list[int]]:
    """`length_batches` of sequences of equal limits."""
    groups: dict[int, list[int]] = {}
    for number, limit in enumerate(limits):
        groups.setdefault(limit, []).append(number)
    for numbers in groups.values():
        some = [lengths[number] for number in numbers], [outputs[number] for number in numbers]
        for batch in length_batches(some[0], batch_tokens, some[1]):
            yield [numbers[place] for place in batch]


def padded(rows: Sequence[Sequence[int]], pad: int, device: "torch.device") -> "Tensor":
    """[B, T], each row padded on the right."""
    import torch

    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], dtype=torch.long, device=device)
