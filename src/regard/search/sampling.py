"""Sampling: each token drawn from the model's distribution, sharpened or cut as asked. It knows the model only as a `Stepper`.

Every sentence has its own counter-based generator, keyed by the seed and the number of the sentence, so that what it draws depends
neither on what shares its batch nor on the device.

Shapes: B sentences asked for, b of them still alive, n samples each, k of them still alive, T longest output,
V tokens that can be generated.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.expansion import Expansion, Watcher
from regard.search.filters import Filters
from regard.search.hypothesis import Hypothesis, best_first, make_hypothesis
from regard.search.logprobs import log_probabilities, sum_type
from regard.search.options import check_sampling, length_limits
from regard.search.ranking import LengthForm, Ranking
from regard.search.stepper import StateT, Stepper


@torch.no_grad()
def sample(
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
) -> list[list[Hypothesis]]:
    """`samples` hypotheses a sentence, best first, repeats kept.

    temperature divides the logits; top_k keeps the k most probable tokens (0: all); top_p then keeps the fewest most probable ones
    whose probabilities reach p (Holtzman et al. 2020). Log-probabilities are the model's own, not those of the distribution drawn from.
    What filters forbid is never drawn, and what they leave is scaled up to be a distribution.
    `sentences` are the numbers that key each row's randomness, for callers that sort or split their input; 0, 1, 2 ... if None.
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
    steps = int(limits.max()) + 1  # one more, for the end mark of a sentence of the longest length
    uniform = _uniform(seed, numbers, steps, samples).to(device)  # [B, T + 1, n]
    said = torch.full((size, samples, steps), stepper.end_token, dtype=torch.long, device=device)
    lengths = limits[:, None].repeat(1, samples)  # [B, n]
    logprobs = torch.zeros((size, samples), dtype=sum_type(device), device=device)
    finished = torch.zeros((size, samples), dtype=torch.bool, device=device)

    alive = torch.arange(size, device=device)  # [b], indices into B
    slots = torch.arange(samples, device=device).expand(size, samples)  # [b, k], indices into n
    tokens = torch.full((size, 1), stepper.start_token, dtype=torch.long, device=device)
    state = stepper.start(source)
    for step in range(steps):
        logits, state, _ = stepper.step(tokens, state)
        logits = logits.expand(
            -1, slots.shape[1], -1
        )  # the first step has one hypothesis, from which all samples depart
        rows = alive[:, None]
        possible, dead = logits, None
        if filtered is not None:
            possible = filtered(logits, said[rows, slots, :step], alive)
            dead = (possible == -torch.inf).all(dim=-1)  # nothing is allowed: cut, whatever is drawn
            possible = possible.masked_fill(dead[..., None], 0.0)
        choices = draw(possible, uniform[rows, step, slots], temperature=temperature, top_k=top_k, top_p=top_p)
        gains = log_probabilities(logits).gather(-1, choices[..., None]).squeeze(-1)
        already = finished[
            rows, slots
        ]  # a finished sample waits beside its sentence's others until all fit in fewer columns
        ended = choices == stepper.end_token
        cut = ~ended & (limits[rows] == step)
        if dead is not None:
            ended, cut = ended & ~dead, cut | dead
            lengths[rows, slots] = torch.where(dead & ~already, step, lengths[rows, slots])
        logprobs[rows, slots] += gains.masked_fill(already | cut, 0.0).to(logprobs.dtype)
        said[rows, slots, step] = choices
        lengths[rows, slots] = torch.where(ended & ~already, step, lengths[rows, slots])
        finished[rows, slots] = already | ended

        going = ~(already | ended | cut)  # [b, k]
        if watch is not None:
            watch(_expansion(alive, choices, logprobs[rows, slots], going, ended & ~already, first=step == 0))
        kept = going.any(dim=1).nonzero().squeeze(1)
        if not len(kept):
            break
        columns = int(going.sum(dim=1).max())
        order = (~going[kept]).to(torch.uint8).argsort(dim=1, stable=True)[:, :columns]  # the living first
        parents = torch.zeros_like(order) if step == 0 else order
        state = state.reorder(kept, parents)
        tokens = choices[kept].gather(1, order)
        alive, slots = alive[kept], slots[kept].gather(1, order)
    return _hypotheses(said, lengths, logprobs, finished, ranking)


def _expansion(
    alive: Tensor,  # [b]
    choices: Tensor,  # [b, k]
    logprobs: Tensor,  # [b, k]
    going: Tensor,  # [b, k]
    finished: Tensor,  # [b, k]
    *,
    first: bool,
) -> Expansion:
    """What was drawn, as a watcher is told it: samples that had finished before are no candidates."""
    logprobs = logprobs.masked_fill(~(going | finished), -torch.inf)
    order = (~going).to(torch.uint8).argsort(dim=1, stable=True)[:, : int(going.sum(dim=1).max())]
    parents = (
        torch.zeros_like(choices) if first else torch.arange(choices.shape[1], device=alive.device).expand_as(choices)
    )
    return Expansion(alive, parents, choices, logprobs, finished, order)


def draw(logits: Tensor, uniform: Tensor, *, temperature: float, top_k: int, top_p: float) -> Tensor:
    """One token for each row: (logits [..., V], uniform numbers [...] in [0, 1)) -> ids [...], by inverting the cumulative distribution."""
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
        before = probabilities.cumsum(dim=-1) - probabilities  # what the more probable ones have together
        probabilities = probabilities.masked_fill(before >= top_p, 0.0)
    cumulative = probabilities.cumsum(dim=-1)
    total = cumulative[..., -1:]
    picked = torch.searchsorted(cumulative, uniform[..., None].to(total.dtype) * total, right=True)
    # rounding must not carry a draw past the last token that has any probability
    picked = torch.minimum(picked, (cumulative < total).sum(dim=-1, keepdim=True))
    return (picked if ids is None else ids.gather(-1, picked)).squeeze(-1)


def _uniform(seed: int, numbers: Sequence[int], steps: int, samples: int) -> Tensor:
    """Numbers in [0, 1) for every sentence, step and sample, [B, steps, n]; more steps only add to them."""
    generators = [np.random.Generator(np.random.Philox(key=[seed, number])) for number in numbers]
    return torch.from_numpy(np.stack([generator.random((steps, samples)) for generator in generators]))


def _hypotheses(
    said: Tensor,  # [B, n, T + 1]
    lengths: Tensor,  # [B, n]
    logprobs: Tensor,  # [B, n]
    finished: Tensor,  # [B, n]
    ranking: Ranking,
) -> list[list[Hypothesis]]:
    fields = (said.tolist(), lengths.tolist(), logprobs.tolist(), finished.tolist())
    return [
        best_first(
            make_hypothesis(tokens[:length], logprob, ranking=ranking, finished=ended)
            for tokens, length, logprob, ended in zip(*sentence, strict=True)
        )
        for sentence in zip(*fields, strict=True)
    ]
