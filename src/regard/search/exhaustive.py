"""Exhaustive search (lectures 001): every sequence, so the true argmax. It knows the model only as a `Stepper`.

Too expensive for anything but a handful of tokens, and that is what it is for: the oracle that other searches are measured against.

Shapes: S source, k partial sequences of one length, t tokens each, V tokens that can be generated.
"""

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.hypothesis import Hypothesis, best_first, make_hypothesis
from regard.search.logprobs import log_probabilities, sum_type
from regard.search.options import check_count
from regard.search.ranking import Ranking
from regard.search.stepper import StateT, Stepper

LARGEST_SPACE = 200_000
"""The most sequences, V^T, that are enumerated: all of the last length are in memory at once."""


@torch.no_grad()
def exhaustive(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    *,
    max_length: int,
    alpha: float = 0.0,
    nbest: int = 1,
) -> list[list[Hypothesis]]:
    """The `nbest` of all sequences of at most `max_length` tokens and an end mark, by log p(y|x) / |y|^alpha."""
    check_count("max_length", max_length)
    check_count("nbest", nbest)
    ranking = Ranking(alpha)
    # One sentence at a time: the space of one is the limit of memory.
    return [_search(stepper, source[row : row + 1], max_length, ranking, nbest) for row in range(source.shape[0])]


def _search(
    stepper: Stepper[StateT], source: Tensor, max_length: int, ranking: Ranking, nbest: int
) -> list[Hypothesis]:
    device = source.device
    state = stepper.start(source)
    tokens = torch.full((1, 1), stepper.start_token, dtype=torch.long, device=device)  # [1, k]
    said = torch.empty((1, 0), dtype=torch.long, device=device)  # [k, t]
    logprobs = torch.zeros(1, dtype=sum_type(device), device=device)  # [k]
    best: list[Hypothesis] = []
    for length in range(max_length + 1):
        logits, state, _ = stepper.step(tokens, state)
        vocabulary = logits.shape[-1]
        if length == 0:
            _check_space(vocabulary, max_length)
        totals = logprobs[:, None] + log_probabilities(logits[0]).to(logprobs.dtype)  # [k, V]
        ended, rows = totals[:, stepper.end_token].topk(min(nbest, len(said)))
        best += [
            make_hypothesis(tokens, logprob, ranking=ranking, finished=True)
            for tokens, logprob in zip(said[rows].tolist(), ended.tolist(), strict=True)
        ]
        if length == max_length or vocabulary == 1:
            break
        words = torch.arange(vocabulary, device=device)
        words = words[words != stepper.end_token]
        parents = torch.arange(len(said), device=device).repeat_interleave(len(words))
        tokens = words.repeat(len(said))[None]
        said = torch.cat([said[parents], tokens[0, :, None]], dim=1)
        logprobs = totals[:, words].flatten()
        state = state.reorder(torch.zeros(1, dtype=torch.long, device=device), parents[None])
    return best_first(best)[:nbest]


def _check_space(vocabulary: int, max_length: int) -> None:
    space = vocabulary**max_length
    if space > LARGEST_SPACE:
        fits = max((length for length in range(1, max_length) if vocabulary**length <= LARGEST_SPACE), default=0)
        shorter = f"lower max_length to {fits} or " if fits else ""
        raise SearchError(
            f"exhaustive search of {vocabulary} tokens to max_length = {max_length} has {_count(space)} sequences, above the limit of "
            f"{LARGEST_SPACE:,}; {shorter}use beam search"
        )


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"about 10^{len(str(number)) - 1}"
