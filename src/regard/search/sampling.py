"""Sampling over any `Stepper`, with temperature, top-k and top-p.

Every sentence has its own counter-based random generator, keyed by the seed and the number of the sentence. So its samples depend neither
on the batch nor on the device.

Shapes: B sentences, b of them still active, n samples each, k of them still active, T maximum output length,
V outputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.checks import check_sampling, length_limits
from regard.search.expansion import Expansion, Steps, Watcher, to_the_end
from regard.search.filters import Filters, ReadyFilters
from regard.search.hypothesis import Hypothesis, best_first, make_hypothesis
from regard.search.interruption import Interruption, ends_here
from regard.search.logprobs import log_probabilities, sum_type
from regard.search.ranking import LengthForm, Ranking
from regard.search.stepper import StateT, Stepper


@torch.no_grad()  # of a generator: only while it runs, not between its steps
def sample_steps(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    samples: int = 1,
    seed: int,
    max_length: int | Tensor,
    alpha: float = 0.0,
    form: LengthForm = "power",
    filters: Filters | None = None,
    sentences: Sequence[int] | None = None,
    watch: Watcher | None = None,
    expansions: bool = True,
    interruption: Interruption | None = None,
) -> Steps:
    """`samples` hypotheses per sentence, best first, with repeats.

    temperature: divides the logits. top_k: keeps the k most probable tokens (0: all). top_p: then keeps the fewest most probable tokens
    whose probabilities reach p (Holtzman et al. 2020). Log-probabilities are those of the unmodified model. Tokens that the filters forbid
    are never sampled; the others are renormalised.
    sentences: the numbers that key the random numbers of each row, for callers that sort or split their input; None: 0, 1, 2 ...

    Yields the expansion of each step (None without `expansions` and `watch`, which is faster) and returns the hypotheses.
    """
    check_sampling(temperature, top_k, top_p, samples, seed)
    ranking = Ranking(alpha, form)
    size, device = source.shape[0], source.device
    limits = length_limits(max_length, size, device)
    numbers = range(size) if sentences is None else sentences
    if len(numbers) != size:
        raise SearchError(f"sentences has {len(numbers)} numbers for {size} sources: give one for each")
    if not size:
        return []
    filtered = None if filters is None else filters.ready(limits, stepper.end_token)
    drawn = _Samples(limits.tolist(), samples, stepper.end_token)
    steps = drawn.longest + 1  # one more, for the end mark of an output of the maximum length
    uniform = _uniform(seed, numbers, steps, samples).to(device)  # [b, k, T + 1]
    generated = torch.empty((size, samples, 0), dtype=torch.long, device=device)  # [b, k, t], of which only filters ask
    alive = torch.arange(size, device=device)  # [b], indices into B
    tokens = torch.full((size, 1), stepper.start_token, dtype=torch.long, device=device)
    state = stepper.start(source)
    for step in range(steps):
        if ends_here(interruption, step, alive):
            break
        logits, state, _ = stepper.step(tokens, state)
        logits = logits.expand(-1, uniform.shape[1], -1)  # at the first step all samples depart from one hypothesis
        possible, dead = _possible(logits, filtered, generated, alive)
        choices = draw(possible, uniform[:, :, step], temperature=temperature, top_k=top_k, top_p=top_p)
        gains = log_probabilities(logits).gather(-1, choices[..., None]).squeeze(-1)
        going, ended = drawn.add(choices.tolist(), gains.tolist(), None if dead is None else dead.tolist())  # [b][k]
        expansion = None
        if expansions or watch is not None:
            flags = (torch.tensor(flag, device=device) for flag in (going, ended))
            expansion = _expansion(alive, choices, drawn.logprobs(device), *flags, first=step == 0)
        if watch is not None and expansion is not None:
            watch(expansion)
        yield expansion
        kept, order = drawn.keep(going)
        if not kept:
            break
        tokens, unchanged = choices, order == drawn.in_order(len(going), choices.shape[1])
        if not unchanged or (step == 0 and samples > 1):
            rows, columns = torch.tensor(kept, device=device), torch.tensor(order, device=device)
            state = state.reorder(rows, columns if step else torch.zeros_like(columns))
            tokens, alive, uniform = choices[rows[:, None], columns], alive[rows], uniform[rows[:, None], columns]
            generated = generated[rows[:, None], columns]
        if filtered is not None:
            generated = torch.cat([generated, tokens[..., None]], dim=2)
    return drawn.hypotheses(ranking)


sample = to_the_end(sample_steps)


class _Samples:
    """The samples of a batch. They are lists: a step has one token for each, and operations on so few numbers take longer as tensors.

    The active sentences have k columns each. A finished sample keeps its column until its batch needs fewer columns.
    """

    def __init__(self, limits: list[int], samples: int, end_token: int) -> None:
        self._limits, self._end_token = limits, end_token
        self.longest = max(limits)
        self._all = [[_Sample() for _ in range(samples)] for _ in limits]
        self._alive = [(limit, list(own)) for limit, own in zip(limits, self._all, strict=True)]

    def add(
        self,
        choices: list[list[int]],
        gains: list[list[float]],  # log p of the choices
        dead: list[list[bool]] | None,  # whether no token is allowed: the sample is cut
    ) -> tuple[list[list[bool]], list[list[bool]]]:
        """Add a token to each active sample. Returns whether each goes on, and whether it has ended now."""
        going, ended = [], []
        for row, (limit, own) in enumerate(self._alive):
            goes, ends = [], []
            for column, sample in enumerate(own):
                token = choices[row][column]
                possible = sample.active and not (dead is not None and dead[row][column])
                ending = possible and token == self._end_token
                on = possible and not ending and len(sample.tokens) < limit
                if ending or on:
                    sample.logprob += gains[row][column]
                if on:
                    sample.tokens.append(token)
                sample.active, sample.finished = on, sample.finished or ending
                goes.append(on)
                ends.append(ending)
            going.append(goes)
            ended.append(ends)
        return going, ended

    def logprobs(self, device: torch.device) -> Tensor:
        """[b, k]: log p of the samples, with the tokens added last."""
        values = [[sample.logprob for sample in own] for _, own in self._alive]
        return torch.tensor(values, dtype=sum_type(device), device=device)

    def keep(self, going: list[list[bool]]) -> tuple[list[int], list[list[int]]]:
        """Keep the sentences with samples that go on, [b'], in as many columns as the most have, [b'][k']: active samples first."""
        kept = [row for row, goes in enumerate(going) if any(goes)]
        most = max((sum(going[row]) for row in kept), default=0)
        order = [sorted(range(len(going[row])), key=lambda column: not going[row][column])[:most] for row in kept]
        self._alive = [
            (self._alive[row][0], [self._alive[row][1][column] for column in columns])
            for row, columns in zip(kept, order, strict=True)
        ]
        return kept, order

    @staticmethod
    def in_order(rows: int, columns: int) -> list[list[int]]:
        """The order of all columns of all rows."""
        return [list(range(columns))] * rows

    def hypotheses(self, ranking: Ranking) -> list[list[Hypothesis]]:
        """The samples of each sentence, best first."""
        return [
            best_first(
                make_hypothesis(sample.tokens, sample.logprob, ranking=ranking, finished=sample.finished)
                for sample in own
            )
            for own in self._all
        ]


@dataclass(slots=True)
class _Sample:
    """One sample so far."""

    tokens: list[int] = field(default_factory=list)
    logprob: float = 0.0
    active: bool = True
    finished: bool = False


def _possible(
    logits: Tensor,  # [b, k, V]
    filtered: ReadyFilters | None,
    generated: Tensor,  # [b, k, t]
    alive: Tensor,  # [b]
) -> tuple[Tensor, Tensor | None]:
    """The logits of the tokens that the filters allow, and [b, k]: whether they allow none."""
    if filtered is None:
        return logits, None
    possible = filtered(logits, generated, alive)
    dead = (possible == -torch.inf).all(dim=-1)
    return possible.masked_fill(dead[..., None], 0.0), dead


def _expansion(
    alive: Tensor,  # [b]
    choices: Tensor,  # [b, k]
    logprobs: Tensor,  # [b, k]
    going: Tensor,  # [b, k]
    finished: Tensor,  # [b, k]
    *,
    first: bool,
) -> Expansion:
    """The step as an `Expansion`. Samples that finished before are not candidates."""
    logprobs = logprobs.masked_fill(~(going | finished), -torch.inf)
    order = (~going).to(torch.uint8).argsort(dim=1, stable=True)[:, : int(going.sum(dim=1).max())]
    parents = (
        torch.zeros_like(choices) if first else torch.arange(choices.shape[1], device=alive.device).expand_as(choices)
    )
    return Expansion(alive, parents, choices, logprobs, finished, order)


def filtered(logits: Tensor, *, temperature: float, top_k: int, top_p: float) -> tuple[Tensor, Tensor | None]:
    """The probabilities of the tokens that may be drawn, not renormalised, [..., v], and their ids; None: all tokens, in order."""
    scaled = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
    ids: Tensor | None = None
    if 0 < top_k < scaled.shape[-1]:
        scaled, ids = scaled.topk(top_k, dim=-1)
    elif top_p < 1.0:
        scaled, ids = scaled.sort(dim=-1, descending=True)
    probabilities = scaled.softmax(dim=-1).to(sum_type(scaled.device))
    if probabilities.isnan().any():
        raise SearchError("the model's logits are not numbers (NaN): its weights are damaged or its training diverged")
    if top_p < 1.0:
        before = probabilities.cumsum(dim=-1) - probabilities  # total probability of the more probable tokens
        probabilities = probabilities.masked_fill(before >= top_p, 0.0)
    return probabilities, ids


def draw(logits: Tensor, uniform: Tensor, *, temperature: float, top_k: int, top_p: float) -> Tensor:
    """Sample one token per row: (logits [..., V], uniform numbers [...] in [0, 1)) -> ids [...], by inverse transform sampling."""
    probabilities, ids = filtered(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    cumulative = probabilities.cumsum(dim=-1)
    total = cumulative[..., -1:]
    picked = torch.searchsorted(cumulative, uniform[..., None].to(total.dtype) * total, right=True)
    # rounding must not select a token of zero probability at the end
    picked = torch.minimum(picked, (cumulative < total).sum(dim=-1, keepdim=True))
    return (picked if ids is None else ids.gather(-1, picked)).squeeze(-1)


def _uniform(seed: int, numbers: Sequence[int], steps: int, samples: int) -> Tensor:
    """Uniform numbers in [0, 1) for every sentence, sample and step, [B, n, steps]. More steps do not change earlier numbers."""
    generators = [
        np.random.Generator(np.random.Philox(key=np.array([seed, number], dtype=np.uint64))) for number in numbers
    ]
    return torch.from_numpy(np.stack([generator.random((steps, samples)).T for generator in generators]))
