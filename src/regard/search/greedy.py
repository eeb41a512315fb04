"""Greedy search over any `Stepper` (lectures 001): the most probable token at each step.

Shapes: B sentences, b of them still active, S source, T maximum output length, V outputs.
"""

import torch
from torch import Tensor

from regard.search.candidates import choose_best, most_probable
from regard.search.checks import length_limits
from regard.search.expansion import Expansion, Steps, Watcher, to_the_end
from regard.search.filters import Filters
from regard.search.hypothesis import Hypothesis, make_hypothesis
from regard.search.interruption import Interruption, ends_here
from regard.search.logprobs import log_probabilities, sum_type
from regard.search.ranking import LengthForm, Ranking
from regard.search.stepper import StateT, Stepper


@torch.no_grad()  # of a generator: only while it runs, not between its steps
def greedy_steps(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    *,
    max_length: int | Tensor,
    alpha: float = 0.0,
    form: LengthForm = "power",
    filters: Filters | None = None,
    record: bool = False,
    watch: Watcher | None = None,
    expansions: bool = True,
    interruption: Interruption | None = None,
) -> Steps:
    """One hypothesis per sentence. It is unfinished if no end mark follows token number `max_length`.

    `alpha` and `form` affect only the returned score. `watch` gets the two most probable tokens of every step, as in a beam of width 1.

    Yields the expansion of each step (None without `expansions` and `watch`, which is faster) and returns the hypotheses.
    """
    ranking = Ranking(alpha, form)
    sentences, device = source.shape[0], source.device
    limits = length_limits(max_length, sentences, device)
    if not sentences:
        return []
    filtered = None if filters is None else filters.ready(limits, stepper.end_token)
    steps = int(limits.max()) + 1  # one more, for the end mark of an output of the maximum length
    generated = torch.full((sentences, steps), stepper.end_token, dtype=torch.long, device=device)  # [B, T + 1]
    lengths = limits.clone()  # [B]
    logprobs = torch.zeros(sentences, dtype=sum_type(device), device=device)  # [B]
    finished = torch.zeros(sentences, dtype=torch.bool, device=device)  # [B]
    attentions: list[Tensor] = []  # of [B, S], one a step
    alive = torch.arange(sentences, device=device)  # [b]
    tokens = torch.full((sentences, 1), stepper.start_token, dtype=torch.long, device=device)  # [b, 1]
    state = stepper.start(source)
    for step in range(steps):
        if ends_here(interruption, step, alive):
            lengths[alive] = step
            break
        logits, state, step_record = stepper.step(tokens, state, record)
        # Log-softmax and then the maximum: measured faster than logsumexp and argmax.
        possible = log_probabilities(logits[:, 0])  # [b, V]
        if filtered is not None:
            possible = filtered(possible[:, None], generated[alive, None, :step], alive)[:, 0]
        gains, choices = most_probable(possible)  # [b]
        ended = choices == stepper.end_token
        cut = ~ended & (limits[alive] == step)
        if filtered is not None:  # cut if no token is allowed
            dead = gains == -torch.inf
            ended, cut = ended & ~dead, cut | dead
            lengths[alive[dead]] = step
        expansion = None
        if expansions or watch is not None:
            expansion = _expansion(possible, logprobs[alive], alive, stepper.end_token)
        logprobs[alive] += gains.masked_fill(cut, 0.0).to(logprobs.dtype)
        generated[alive, step] = choices
        finished[alive] = ended
        lengths[alive[ended]] = step
        if step_record is not None and step_record.attention is not None:
            attentions.append(_of_all(step_record.attention, alive, sentences))
        going = (~(ended | cut)).nonzero().squeeze(1)
        if watch is not None and expansion is not None:
            watch(expansion)
        yield expansion
        if not len(going):
            break
        if len(going) < len(alive):
            state = state.reorder(going, torch.zeros_like(going)[:, None])
        alive, tokens = alive[going], choices[going, None]
    return _hypotheses(generated, lengths, logprobs, finished, attentions, ranking)


greedy = to_the_end(greedy_steps)


def _expansion(
    possible: Tensor,  # [b, V]
    logprobs: Tensor,  # [b]
    alive: Tensor,  # [b]
    end_token: int,
) -> Expansion:
    """The step as an `Expansion`: the two most probable tokens."""
    return Expansion.of(alive, choose_best(possible[:, None], logprobs[:, None], 1, 1, end_token))


def _of_all(
    attention: Tensor,  # [b, 1, S]
    alive: Tensor,  # [b]
    sentences: int,
) -> Tensor:
    """[B, S]: the attention of the active sentences in this step, and 0 for the others."""
    rows = attention.new_zeros((sentences, attention.shape[-1]))
    rows[alive] = attention[:, 0]
    return rows


def _hypotheses(
    generated: Tensor,  # [B, T + 1]
    lengths: Tensor,  # [B]
    logprobs: Tensor,  # [B]
    finished: Tensor,  # [B]
    attentions: list[Tensor],  # of [B, S], one a step
    ranking: Ranking,
) -> list[list[Hypothesis]]:
    attention = torch.stack(attentions, dim=1) if attentions else None  # [B, steps, S]
    rows = zip(generated.tolist(), lengths.tolist(), logprobs.tolist(), finished.tolist(), strict=True)
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
