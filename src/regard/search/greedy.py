"""Greedy search over any `Stepper` (lectures 001): the most probable token at each step.

Shapes: B sentences, b of them still active, S source, T maximum output length, V outputs.
"""

import math

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
    found = _Outputs(limits.tolist(), stepper.end_token)
    steps = found.longest + 1  # one more, for the end mark of an output of the maximum length
    generated = torch.empty((sentences, 0), dtype=torch.long, device=device)  # [b, t], of which only filters ask
    attentions: list[Tensor] = []  # of [B, S], one a step
    alive = torch.arange(sentences, device=device)  # [b]
    tokens = torch.full((sentences, 1), stepper.start_token, dtype=torch.long, device=device)  # [b, 1]
    state = stepper.start(source)
    for step in range(steps):
        if ends_here(interruption, step, alive):
            break
        logits, state, step_record = stepper.step(tokens, state, record)
        # Log-softmax and then the maximum: measured faster than logsumexp and argmax.
        possible = log_probabilities(logits[:, 0])  # [b, V]
        if filtered is not None:
            possible = filtered(possible[:, None], generated[:, None], alive)[:, 0]
        gains, choices = most_probable(possible)  # [b]
        expansion = None
        if expansions or watch is not None:
            expansion = _expansion(possible, found.logprobs_of(alive), alive, stepper.end_token)
        going = found.add(choices.tolist(), gains.tolist())
        if step_record is not None and step_record.attention is not None:
            attentions.append(_of_all(step_record.attention, alive, sentences))
        if watch is not None and expansion is not None:
            watch(expansion)
        yield expansion
        if not going:
            break
        tokens = choices[:, None]
        if len(going) < len(alive):
            kept = torch.tensor(going, device=device)
            state = state.reorder(kept, torch.zeros_like(kept)[:, None])
            alive, tokens, generated = alive[kept], tokens[kept], generated[kept]
        if filtered is not None:
            generated = torch.cat([generated, tokens], dim=1)
    return found.hypotheses(attentions, ranking)


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


class _Outputs:
    """The outputs of a batch. They are lists: a step has one token for each, and operations on so few numbers take longer as tensors."""

    def __init__(self, limits: list[int], end_token: int) -> None:
        self._limits, self._end_token = limits, end_token
        self.longest = max(limits)
        self._tokens: list[list[int]] = [[] for _ in limits]
        self._logprobs = [0.0] * len(limits)
        self._finished = [False] * len(limits)
        self._alive = list(range(len(limits)))

    def logprobs_of(self, alive: Tensor) -> Tensor:
        """[b]: log p of the active outputs."""
        values = [self._logprobs[number] for number in self._alive]
        return torch.tensor(values, dtype=sum_type(alive.device), device=alive.device)

    def add(self, choices: list[int], gains: list[float]) -> list[int]:
        """Add a token to each active output. Returns the places of those that go on. An output ends here if no token is allowed."""
        going, alive = [], []
        for place, (number, token, gain) in enumerate(zip(self._alive, choices, gains, strict=True)):
            own = self._tokens[number]
            if gain == -math.inf:
                continue
            if token == self._end_token:
                self._logprobs[number] += gain
                self._finished[number] = True
            elif len(own) < self._limits[number]:
                self._logprobs[number] += gain
                own.append(token)
                going.append(place)
                alive.append(number)
        self._alive = alive
        return going

    def hypotheses(self, attentions: list[Tensor], ranking: Ranking) -> list[list[Hypothesis]]:
        """One hypothesis of each sentence. attentions: [B, S] of each step."""
        attention = torch.stack(attentions, dim=1) if attentions else None  # [B, steps, S]
        rows = zip(self._tokens, self._logprobs, self._finished, strict=True)
        return [
            [
                make_hypothesis(
                    tokens,
                    logprob,
                    ranking=ranking,
                    finished=finished,
                    attention=None if attention is None else attention[number, : len(tokens) + finished],
                )
            ]
            for number, (tokens, logprob, finished) in enumerate(rows)
        ]
