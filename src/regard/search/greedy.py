"""Greedy search (lectures 001): at each step the most probable token. It knows the model only as a `Stepper`.

Shapes: B sentences asked for, b of them still alive, S source, T longest output, V tokens that can be generated.
"""

import torch
from torch import Tensor

from regard.search.candidates import choose_best
from regard.search.expansion import Expansion, Watcher
from regard.search.filters import Filters
from regard.search.hypothesis import Hypothesis, make_hypothesis
from regard.search.logprobs import log_probabilities, sum_type
from regard.search.options import length_limits
from regard.search.ranking import LengthForm, Ranking
from regard.search.stepper import StateT, Stepper


@torch.no_grad()
def greedy(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    *,
    max_length: int | Tensor,
    alpha: float = 0.0,
    form: LengthForm = "power",
    filters: Filters | None = None,
    record: bool = False,
    watch: Watcher | None = None,
) -> list[list[Hypothesis]]:
    """One hypothesis a sentence. It ends at the end mark, or unfinished where token `max_length` is not followed by one.

    `alpha` and `form` are only for the score that is returned; they change nothing that is chosen. `watch` is told the two most
    probable tokens of every step, as of a beam of one.
    """
    ranking = Ranking(alpha, form)
    sentences, device = source.shape[0], source.device
    limits = length_limits(max_length, sentences, device)
    if not sentences:
        return []
    filtered = None if filters is None else filters.ready(limits, stepper.end_token)
    steps = int(limits.max()) + 1  # one more, for the end mark of a sentence of the longest length
    said = torch.full((sentences, steps), stepper.end_token, dtype=torch.long, device=device)  # [B, T + 1]
    lengths = limits.clone()  # [B]
    logprobs = torch.zeros(sentences, dtype=sum_type(device), device=device)  # [B]
    finished = torch.zeros(sentences, dtype=torch.bool, device=device)  # [B]
    looked: list[Tensor] = []  # of [B, S], one a step
    alive = torch.arange(sentences, device=device)  # [b]
    tokens = torch.full((sentences, 1), stepper.start_token, dtype=torch.long, device=device)  # [b, 1]
    state = stepper.start(source)
    for step in range(steps):
        logits, state, seen = stepper.step(tokens, state, record)
        # One pass that normalises and one that takes the maximum: measured faster than logsumexp beside argmax.
        possible = log_probabilities(logits[:, 0])  # [b, V]
        if filtered is not None:
            possible = filtered(possible[:, None], said[alive, None, :step], alive)[:, 0]
        gains, choices = possible.max(dim=-1)  # [b]
        ended = choices == stepper.end_token
        cut = ~ended & (limits[alive] == step)
        if filtered is not None:  # where nothing is allowed, it is cut
            dead = gains == -torch.inf
            ended, cut = ended & ~dead, cut | dead
            lengths[alive[dead]] = step
        if watch is not None:
            chosen = choose_best(possible[:, None], logprobs[alive, None], 1, 1, stepper.end_token)
            watch(Expansion.of(alive, chosen))
        logprobs[alive] += gains.masked_fill(cut, 0.0).to(logprobs.dtype)
        said[alive, step] = choices
        finished[alive] = ended
        lengths[alive[ended]] = step
        if seen is not None and seen.attention is not None:
            rows = seen.attention.new_zeros((sentences, seen.attention.shape[-1]))
            rows[alive] = seen.attention[:, 0]
            looked.append(rows)
        going = (~(ended | cut)).nonzero().squeeze(1)
        if not len(going):
            break
        if len(going) < len(alive):
            state = state.reorder(going, torch.zeros_like(going)[:, None])
        alive, tokens = alive[going], choices[going, None]
    return _hypotheses(said, lengths, logprobs, finished, looked, ranking)


def _hypotheses(
    said: Tensor,  # [B, T + 1]
    lengths: Tensor,  # [B]
    logprobs: Tensor,  # [B]
    finished: Tensor,  # [B]
    looked: list[Tensor],  # of [B, S], one a step
    ranking: Ranking,
) -> list[list[Hypothesis]]:
    attention = torch.stack(looked, dim=1) if looked else None  # [B, steps, S]
    rows = zip(said.tolist(), lengths.tolist(), logprobs.tolist(), finished.tolist(), strict=True)
    return [
        [
            make_hypothesis(
                row[:length],
                logprob,
                ranking=ranking,
                finished=ended,
                attention=None if attention is None else attention[number, : length + ended],
            )
        ]
        for number, (row, length, logprob, ended) in enumerate(rows)
    ]
