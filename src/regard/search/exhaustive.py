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

    If none is possible, the most probable unfinished sequence.
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
    unfinished = make_hypothesis((), 0.0, ranking=ranking, finished=False)
    for length in range(max_length + 1):
        if interruption is not None and interruption.due() and length:
            interruption.cut([row])
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
        ended, rows = totals[:, stepper.end_token].topk(min(nbest, len(generated)))
        best += [
            make_hypothesis(output, logprob, ranking=ranking, finished=True)
            for output, logprob in zip(generated[rows].tolist(), ended.tolist(), strict=True)
            if logprob != -torch.inf  # an output that cannot be
        ]
        likeliest = int(logprobs.argmax())
        if logprobs[likeliest] > -torch.inf:
            output = generated[likeliest].tolist()
            unfinished = make_hypothesis(output, float(logprobs[likeliest]), ranking=ranking, finished=False)
        if length == max_length or vocabulary == 1:
            break
        words = torch.arange(vocabulary, device=device)
        words = words[words != stepper.end_token]
        parents = torch.arange(len(generated), device=device).repeat_interleave(len(words))
        tokens = words.repeat(len(generated))[None]
        generated = torch.cat([generated[parents], tokens[0, :, None]], dim=1)
        logprobs = totals[:, words].flatten()
        state = state.reorder(torch.zeros(1, dtype=torch.long, device=device), parents[None])
    return best_first(best)[:nbest] or [unfinished]


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
