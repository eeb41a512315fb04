"""Exhaustive search over any `Stepper` (lectures 001): it enumerates every sequence and returns the true argmax.

It is feasible only for a few tokens. It is the oracle for tests of the other searches.

Shapes: S source, k partial sequences of the same length, t tokens each, V outputs.
"""

import math

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.checks import check_count, length_limits
from regard.search.filters import Filters, ReadyFilters
from regard.search.hypothesis import Hypothesis, best_first, make_hypothesis
from regard.search.interruption import Interruption
from regard.search.logprobs import log_probabilities, sum_type
from regard.search.ranking import LengthForm, Ranking
from regard.search.stepper import StateT, Stepper

LARGEST_SPACE = 200_000
"""The maximum number of sequences, V^T: all of the last length are in memory together."""


@torch.no_grad()
def exhaustive(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    *,
    max_length: int | Tensor,
    alpha: float = 0.0,
    form: LengthForm = "power",
    nbest: int = 1,
    filters: Filters | None = None,
    interruption: Interruption | None = None,
) -> list[list[Hypothesis]]:
    """The `nbest` of all sequences of at most `max_length` tokens and an end mark, by `Ranking(alpha, form)`.

    Of equal scores the shorter sequence is first, then the one of smaller token ids, so the first n are the same for every `nbest`.
    If fewer can end, the most probable sequences that were cut follow, with `finished=False`.
    """
    limits = length_limits(max_length, source.shape[0], source.device)
    check_count("nbest", nbest)
    ranking = Ranking(alpha, form)
    filtered = None if filters is None or not len(limits) else filters.ready(limits, stepper.end_token)
    # One sentence at a time, to bound memory.
    return [
        _search(stepper, source, row, limit, ranking, nbest, filtered, interruption)
        for row, limit in enumerate(limits.tolist())
    ]


def _search(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    row: int,
    max_length: int,
    ranking: Ranking,
    nbest: int,
    filtered: ReadyFilters | None,
    interruption: Interruption | None,
) -> list[Hypothesis]:
    device = source.device
    state = stepper.start(source[row : row + 1])
    tokens = torch.full((1, 1), stepper.start_token, dtype=torch.long, device=device)  # [1, k]
    generated = torch.empty((1, 0), dtype=torch.long, device=device)  # [k, t]
    logprobs = torch.zeros(1, dtype=sum_type(device), device=device)  # [k]
    best: list[Hypothesis] = []
    cut = [make_hypothesis((), 0.0, ranking=ranking, finished=False)]
    for length in range(max_length + 1):
        if interruption is not None and interruption.due() and length:
            interruption.cut([row])
            cut = _best_rows(generated, logprobs, ranking, nbest, finished=False) or cut
            break
        logits, state, _ = stepper.step(tokens, state)
        vocabulary = logits.shape[-1]
        if length == 0:
            _check_space(vocabulary, max_length)
        gains = log_probabilities(logits)  # [1, k, V]
        if filtered is not None:
            gains = filtered(gains, generated[None], torch.tensor([row], device=device))
        totals = logprobs[:, None] + gains[0].to(logprobs.dtype)  # [k, V]
        totals = totals.masked_fill(totals.isnan() & ~logits[0].isnan(), -torch.inf)  # nothing can follow
        ended = totals[:, stepper.end_token]  # [k]
        best += _best_rows(generated, ended, ranking, nbest, finished=True)
        left = logprobs.masked_fill(ended != -torch.inf, -torch.inf)  # [k], of those that cannot end here
        cut = _best_rows(generated, left, ranking, nbest, finished=False) or ([] if best else cut)
        if length == max_length or vocabulary == 1:
            break
        words = torch.arange(vocabulary, device=device)
        words = words[words != stepper.end_token]
        parents = torch.arange(len(generated), device=device).repeat_interleave(len(words))
        tokens = words.repeat(len(generated))[None]
        generated = torch.cat([generated[parents], tokens[0, :, None]], dim=1)
        logprobs = totals[:, words].flatten()
        state = state.reorder(torch.zeros(1, dtype=torch.long, device=device), parents[None])
    return best_first([*best, *cut])[:nbest]


def _best_rows(
    generated: Tensor,  # [k, t], in ascending order
    logprobs: Tensor,  # [k], minus infinity: not possible
    ranking: Ranking,
    nbest: int,
    *,
    finished: bool,
) -> list[Hypothesis]:
    """The most probable of sequences of one length. Of equally probable ones the first rows."""
    values, rows = logprobs.sort(descending=True, stable=True)
    return [
        make_hypothesis(output, logprob, ranking=ranking, finished=finished)
        for output, logprob in zip(generated[rows[:nbest]].tolist(), values[:nbest].tolist(), strict=True)
        if logprob != -torch.inf
    ]


def _check_space(vocabulary: int, max_length: int) -> None:
    fits = int(math.log(LARGEST_SPACE) / math.log(max(2, vocabulary)) + 1e-9)  # of a vocabulary of 1 only one is there
    if vocabulary > 1 and max_length > fits:
        shorter = f"lower max_length to {fits} or " if fits else ""
        raise SearchError(
            f"exhaustive search of {vocabulary} tokens to max_length = {max_length} has {_count(vocabulary, max_length)} sequences, "
            f"above the limit of {LARGEST_SPACE:,}; {shorter}use beam search"
        )


def _count(vocabulary: int, length: int) -> str:
    digits = length * math.log10(vocabulary)
    return f"{vocabulary**length:,}" if digits < 15 else f"about 10^{int(digits)}"
