"""Forced scoring over any `Stepper`: log p(y|x) of given outputs, token by token.

Shapes: B sentences, b of them still active, S source, T longest target, V outputs.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.hypothesis import Hypothesis, make_hypothesis
from regard.search.logprobs import log_probabilities
from regard.search.ranking import Ranking
from regard.search.stepper import StateT, Stepper


@torch.no_grad()
def score(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    targets: Sequence[Sequence[int]],
    *,
    alpha: float = 0.0,
) -> list[Hypothesis]:
    """Each target, without end mark, as a finished hypothesis with the `token_logprobs` of its tokens and of the end mark."""
    ranking = Ranking(alpha)
    if len(targets) != source.shape[0]:
        raise SearchError(f"{len(targets)} targets for {source.shape[0]} sources: give one for each")
    if not targets:
        return []
    device = source.device
    lengths = torch.tensor([len(target) for target in targets], device=device)  # [B]
    forced = torch.full((len(targets), int(lengths.max()) + 1), stepper.end_token, dtype=torch.long, device=device)
    for row, target in enumerate(targets):
        forced[row, : len(target)] = torch.tensor(target, dtype=torch.long, device=device)
    alive = torch.arange(len(targets), device=device)  # [b]
    tokens = torch.full((len(targets), 1), stepper.start_token, dtype=torch.long, device=device)  # [b, 1]
    state = stepper.start(source)
    columns: list[Tensor] = []  # of [B], one a step
    for step in range(forced.shape[1]):
        logits, state, _ = stepper.step(tokens, state)
        if step == 0:
            _check_targets(targets, logits.shape[-1], stepper.end_token)
        logprobs = log_probabilities(logits[:, 0])  # [b, V]
        column = logprobs.new_zeros(len(targets))
        column[alive] = logprobs.gather(1, forced[alive, step, None]).squeeze(1)
        columns.append(column)
        going = (lengths[alive] > step).nonzero().squeeze(1)
        if 0 < len(going) < len(alive):
            state = state.reorder(going, torch.zeros_like(going)[:, None])
        alive = alive[going]
        tokens = forced[alive, step, None]
    return [
        _scored(target, row[: len(target) + 1], ranking)
        for target, row in zip(targets, torch.stack(columns, dim=1).tolist(), strict=True)
    ]


def _scored(target: Sequence[int], logprobs: list[float], ranking: Ranking) -> Hypothesis:
    return make_hypothesis(target, sum(logprobs), ranking=ranking, finished=True, token_logprobs=tuple(logprobs))


def _check_targets(targets: Sequence[Sequence[int]], vocabulary: int, end_token: int) -> None:
    for number, target in enumerate(targets):
        for token in target:
            if token == end_token:
                raise SearchError(f"target {number} holds the end mark, id {token}: give its tokens without it")
            if not 0 <= token < vocabulary:
                raise SearchError(
                    f"target {number} holds id {token}, but the model generates 0 to {vocabulary - 1}: "
                    "encode it with the model's own tokenizer"
                )
