"""Beam search (lectures 001): at each step the k most probable partial outputs. It knows the model only as a `Stepper`.

At each step the 2k most probable of the k * V continuations are candidates. Those among the first k that end are set aside as
finished; the first k that do not end go on. A sentence is done by either rule of the lectures, T tokens or n finished
hypotheses, and leaves the batch at once. CTranslate2 and fairseq search in the same way.

Shapes: B sentences asked for, b of them still alive, k hypotheses each, c candidates, t tokens said, S source,
V tokens that can be generated.
"""

from dataclasses import dataclass
from typing import Generic

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.expansion import Expansion, Watcher
from regard.search.hypothesis import Hypothesis, best_first, make_hypothesis
from regard.search.logprobs import log_probabilities, sum_type
from regard.search.options import check_alpha, check_beam, length_limits
from regard.search.stepper import Record, StateT, Stepper


@torch.no_grad()
def beam(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    *,
    width: int = 5,
    alpha: float = 1.0,
    max_length: int | Tensor,
    stop_after: int | None = None,
    nbest: int = 1,
    record: bool = False,
    watch: Watcher | None = None,
) -> list[list[Hypothesis]]:
    """Up to `nbest` hypotheses a sentence, best first by log p(y|x) / |y|^alpha.

    `stop_after` is the lectures' n, the number of finished hypotheses that ends a sentence; T is `max_length`. If None, n is the width, and
    a sentence goes on until the most probable candidate of some step was one that ended: where a model is sure of itself, n
    improbable short outputs are quickly found, long before the one it believes in has ended. Of those that finish, the n most probable
    are ranked.
    Hypotheses cut at T are returned, after the finished ones, only where fewer than `nbest` have finished.
    `watch` is told every step's candidates and what became of them.
    """
    enough = check_beam(width, stop_after, nbest)
    check_alpha(alpha)
    sentences, device = source.shape[0], source.device
    limits = length_limits(max_length, sentences, device)
    if not sentences:
        return []
    aside = _Aside(sentences, nbest, alpha, device, kept=width if stop_after is None else None)
    live = _Live(
        sentence=torch.arange(sentences, device=device),
        tokens=torch.full((sentences, 1), stepper.start_token, dtype=torch.long, device=device),
        said=torch.empty((sentences, 1, 0), dtype=torch.long, device=device),
        logprobs=torch.zeros((sentences, 1), dtype=sum_type(device), device=device),
        looked=None,
        state=stepper.start(source),
    )
    for step in range(int(limits.max()) + 1):  # one more, for the end mark of a sentence of the longest length
        logits, live.state, seen = stepper.step(live.tokens, live.state, record)
        live.look(seen)
        found = best_candidates(logits, live.logprobs, 2 * width)
        ending = found.tokens == stepper.end_token
        finishing = ending[:, :width] & (found.logprobs[:, :width] > -torch.inf)
        aside.finish(live, found, finishing)

        # The first k that do not end: a stable sort puts them in front, in order. All sentences have equally many.
        going_on = min(width, live.logprobs.shape[1] * (logits.shape[-1] - 1))
        order = ending.to(torch.uint8).argsort(dim=1, stable=True)[:, :going_on]
        if watch is not None:
            watch(Expansion(live.sentence, found.parents, found.tokens, found.logprobs, finishing, order))
        found = found.take(order)
        limit = limits[live.sentence]
        cut = (limit == step) | _dead(found, logits)
        counted = aside.counts[live.sentence] >= enough
        if stop_after is None:
            counted &= aside.led[live.sentence]
        done = cut | counted
        if going_on:
            done |= aside.unbeatable(live.sentence, found.logprobs[:, 0], limit)
        aside.cut(live, cut)
        going = (~done).nonzero().squeeze(1)
        if not len(going):
            break
        live = live.extend(going, found)
    return aside.results()


@dataclass
class Candidates:
    """Continuations of the live hypotheses, the most probable first."""

    logprobs: Tensor  # [b, c], cumulative
    parents: Tensor  # [b, c], which of the k hypotheses each continues
    tokens: Tensor  # [b, c], by which token

    def take(self, order: Tensor) -> "Candidates":
        """Those at the indices [b, c']."""
        return Candidates(self.logprobs.gather(1, order), self.parents.gather(1, order), self.tokens.gather(1, order))


def best_candidates(logits: Tensor, logprobs: Tensor, count: int) -> Candidates:
    """The `count` most probable of the k * V continuations: (logits [b, k, V], logprobs [b, k]) -> c = min(count, k * V) candidates.

    They are among the `count` best of each hypothesis, so only k * count sums are made. A hypothesis that nothing can follow gives NaN,
    which the first selection carries along and the second must not meet.
    """
    gains, tokens = log_probabilities(logits).topk(min(count, logits.shape[-1]), dim=-1, sorted=False)  # [b, k, m]
    totals = logprobs[..., None] + gains.to(logprobs.dtype)
    totals = totals.masked_fill(totals.isnan(), -torch.inf).flatten(1)
    best, flat = totals.topk(min(count, totals.shape[1]), dim=1)
    return Candidates(best, flat // gains.shape[-1], tokens.flatten(1).gather(1, flat))


def _dead(going: Candidates, logits: Tensor) -> Tensor:
    """[b]: whether nothing possible goes on."""
    if not going.logprobs.shape[1]:
        return torch.ones(len(logits), dtype=torch.bool, device=logits.device)
    dead = going.logprobs[:, 0] == -torch.inf
    if dead.any() and logits.isnan().any():
        raise SearchError("the model's logits are not numbers (NaN): its weights are damaged or its training diverged")
    return dead


@dataclass
class _Live(Generic[StateT]):
    """The hypotheses that go on."""

    sentence: Tensor  # [b], indices into B
    tokens: Tensor  # [b, k], to be fed next
    said: Tensor  # [b, k, t]
    logprobs: Tensor  # [b, k]
    looked: Tensor | None  # [b, k, t, S], and [b, k, t + 1, S] once the next token is being chosen
    state: StateT

    def look(self, seen: Record | None) -> None:
        if seen is not None and seen.attention is not None:
            row = seen.attention[:, :, None]
            self.looked = row if self.looked is None else torch.cat([self.looked, row], dim=2)

    def extend(self, going: Tensor, found: Candidates) -> "_Live[StateT]":
        """The sentences at the indices `going`, each with the hypotheses `found`."""
        parents, tokens = found.parents[going], found.tokens[going]
        rows = going[:, None]
        return _Live(
            sentence=self.sentence[going],
            tokens=tokens,
            said=torch.cat([self.said[rows, parents], tokens[..., None]], dim=2),
            logprobs=found.logprobs[going],
            looked=None if self.looked is None else self.looked[rows, parents],
            state=self.state.reorder(going, parents),
        )


class _Aside:
    """The hypotheses that do not go on, finished or cut, of every sentence."""

    def __init__(self, sentences: int, nbest: int, alpha: float, device: torch.device, *, kept: int | None) -> None:
        """kept: how many of the finished may be ranked, the most probable; None: all."""
        self._nbest, self._alpha, self._kept = nbest, alpha, kept
        self._found: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self._ended: set[tuple[int, int]] = set()  # (row of the batch, hypothesis) that ended at this very step
        self.counts = torch.zeros(sentences, dtype=torch.long, device=device)  # [B], how many of the finished are kept
        self.led = torch.zeros(
            sentences, dtype=torch.bool, device=device
        )  # [B], whether a step's first candidate ended
        self._worst = torch.full((sentences,), -torch.inf, dtype=sum_type(device), device=device)

    def finish(self, live: _Live[StateT], found: Candidates, ended: Tensor) -> None:
        """Set aside the candidates marked by ended [b, <= c]."""
        self.led[live.sentence] |= ended[:, 0]
        rows, columns = ended.nonzero(as_tuple=True)
        parents = found.parents[rows, columns]
        self._ended = set(zip(rows.tolist(), parents.tolist(), strict=True))
        if self._ended:
            changed = self._keep(live, rows, parents, found.logprobs[rows, columns], finished=True)
            self._count(changed)

    def cut(self, live: _Live[StateT], cut: Tensor) -> None:
        """Set aside, as they are, what is left of the sentences marked by cut [b], where too few have finished."""
        short = cut & (self.counts[live.sentence] < self._nbest)
        if short.any():
            left = short[:, None] & (live.logprobs > -torch.inf)
            for row, column in self._ended:
                left[row, column] = False
            rows, columns = left.nonzero(as_tuple=True)
            self._keep(live, rows, columns, live.logprobs[rows, columns], finished=False)

    def unbeatable(self, sentence: Tensor, best: Tensor, limit: Tensor) -> Tensor:
        """[b]: whether no live hypothesis can still enter the n best, so that going on would change nothing.

        A log-probability only falls and a length only grows to the limit, so best / limit^alpha bounds whatever comes.
        """
        return self._worst[sentence] >= best / limit.to(best.dtype) ** self._alpha

    def results(self) -> list[list[Hypothesis]]:
        return [best_first(found)[: self._nbest] for found in self._found]

    def _keep(
        self, live: _Live[StateT], rows: Tensor, columns: Tensor, logprobs: Tensor, *, finished: bool
    ) -> set[int]:
        sentences = live.sentence[rows].tolist()
        said = live.said[rows, columns].tolist()
        steps = live.said.shape[2] + finished
        looked = [None] * len(said) if live.looked is None else list(live.looked[rows, columns, :steps])
        for sentence, tokens, logprob, attention in zip(sentences, said, logprobs.tolist(), looked, strict=True):
            self._found[sentence].append(
                make_hypothesis(tokens, logprob, alpha=self._alpha, finished=finished, attention=attention)
            )
        return set(sentences)

    def _count(self, changed: set[int]) -> None:
        """Bring the tensors up to date for the sentences that changed."""
        numbers = sorted(changed)
        index = torch.tensor(numbers, device=self.counts.device)
        for number in numbers:
            self._found[number] = sorted(self._found[number], key=lambda found: -found.logprob)[: self._kept]
        counts = [len(self._found[number]) for number in numbers]
        ranked = [sorted((found.score for found in self._found[number]), reverse=True) for number in numbers]
        worst = [scores[self._nbest - 1] if len(scores) >= self._nbest else -torch.inf for scores in ranked]
        self.counts[index] = torch.tensor(counts, device=index.device)
        self._worst[index] = torch.tensor(worst, dtype=self._worst.dtype, device=index.device)
