"""Sampling over any `Stepper`, with temperature, top-k and top-p.

Every sentence has its own counter-based random generator, keyed by the seed and the number of the sentence. So its samples depend neither
on the batch nor on the device.

Shapes: B sentences, b of them still active, n samples each, k of them still active, T maximum output length,
V outputs.
"""

from collections.abc import Sequence

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
    steps = int(limits.max()) + 1  # one more, for the end mark of an output of the maximum length
    uniform = _uniform(seed, numbers, steps, samples).to(device)  # [B, T + 1, n]
    drawn = _Samples(limits, samples, steps, stepper.end_token)
    alive = torch.arange(size, device=device)  # [b], indices into B
    slots = torch.arange(samples, device=device).expand(size, samples)  # [b, k], indices into n
    tokens = torch.full((size, 1), stepper.start_token, dtype=torch.long, device=device)
    state = stepper.start(source)
    for step in range(steps):
        rows = alive[:, None]
        if ends_here(interruption, step, alive):
            drawn.cut(step, rows, slots)
            break
        logits, state, _ = stepper.step(tokens, state)
        logits = logits.expand(-1, slots.shape[1], -1)  # at the first step all samples depart from one hypothesis
        possible, dead = _possible(logits, filtered, drawn.generated[rows, slots, :step], alive)
        choices = draw(possible, uniform[rows, step, slots], temperature=temperature, top_k=top_k, top_p=top_p)
        gains = log_probabilities(logits).gather(-1, choices[..., None]).squeeze(-1)
        going, ended = drawn.add(step, rows, slots, choices, gains, dead)  # [b, k]
        expansion = None
        if expansions or watch is not None:
            expansion = _expansion(alive, choices, drawn.logprobs[rows, slots], going, ended, first=step == 0)
        if watch is not None and expansion is not None:
            watch(expansion)
        yield expansion
        kept = going.any(dim=1).nonzero().squeeze(1)
        if not len(kept):
            break
        columns = int(going.sum(dim=1).max())
        order = (~going[kept]).to(torch.uint8).argsort(dim=1, stable=True)[:, :columns]  # active samples first
        state = state.reorder(kept, order if step else torch.zeros_like(order))
        tokens = choices[kept].gather(1, order)
        alive, slots = alive[kept], slots[kept].gather(1, order)
    return drawn.hypotheses(ranking)


sample = to_the_end(sample_steps)


class _Samples:
    """The samples of a batch so far. `rows` [b, 1] and `slots` [b, k] select the active ones among [B, n]."""

    def __init__(self, limits: Tensor, samples: int, steps: int, end_token: int) -> None:
        """limits [B]: the maximum output lengths; steps: T + 1."""
        size, device = len(limits), limits.device
        self._limits, self._end_token = limits, end_token
        self.generated = torch.full((size, samples, steps), end_token, dtype=torch.long, device=device)  # [B, n, T + 1]
        self.logprobs = torch.zeros((size, samples), dtype=sum_type(device), device=device)  # [B, n]
        self._lengths = limits[:, None].repeat(1, samples)  # [B, n]
        self._finished = torch.zeros((size, samples), dtype=torch.bool, device=device)  # [B, n]

    def add(
        self,
        step: int,
        rows: Tensor,
        slots: Tensor,
        choices: Tensor,  # [b, k]
        gains: Tensor,  # [b, k], log p of the choices
        dead: Tensor | None,  # [b, k], whether no token is allowed: the sample is cut
    ) -> tuple[Tensor, Tensor]:
        """Add a token to each active sample. Returns, [b, k] each, whether it continues, and whether it has ended now."""
        already = self._finished[
            rows, slots
        ]  # a finished sample keeps its column until the sentence needs fewer columns
        ended = choices == self._end_token
        cut = ~ended & (self._limits[rows] == step)
        if dead is not None:
            ended, cut = ended & ~dead, cut | dead
            self._set_length(step, rows, slots, dead & ~already)
        self.logprobs[rows, slots] += gains.masked_fill(already | cut, 0.0).to(self.logprobs.dtype)
        self.generated[rows, slots, step] = choices
        self._set_length(step, rows, slots, ended & ~already)
        self._finished[rows, slots] = already | ended
        return ~(already | ended | cut), ended & ~already

    def cut(self, step: int, rows: Tensor, slots: Tensor) -> None:
        """Cut the active samples before this step."""
        self._set_length(step, rows, slots, ~self._finished[rows, slots])

    def _set_length(self, length: int, rows: Tensor, slots: Tensor, where: Tensor) -> None:
        self._lengths[rows, slots] = torch.where(where, length, self._lengths[rows, slots])

    def hypotheses(self, ranking: Ranking) -> list[list[Hypothesis]]:
        """The samples of each sentence, best first."""
        fields = (self.generated.tolist(), self._lengths.tolist(), self.logprobs.tolist(), self._finished.tolist())
        return [
            best_first(
                make_hypothesis(tokens[:length], logprob, ranking=ranking, finished=ended)
                for tokens, length, logprob, ended in zip(*sentence, strict=True)
            )
            for sentence in zip(*fields, strict=True)
        ]


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
    """Uniform numbers in [0, 1) for every sentence, step and sample, [B, steps, n]. More steps do not change earlier numbers."""
    generators = [np.random.Generator(np.random.Philox(key=[seed, number])) for number in numbers]
    return torch.from_numpy(np.stack([generator.random((steps, samples)) for generator in generators]))
