"""The hypotheses of a beam that do not go on, finished or cut, and whether better ones can still come. It chooses nothing.

Shapes: B sentences asked for, b of them still alive, k hypotheses each, c candidates, S source.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.candidates import Candidates
from regard.search.hypothesis import Hypothesis, best_first, make_hypothesis
from regard.search.live import Live
from regard.search.logprobs import sum_type
from regard.search.options import StopRule
from regard.search.ranking import Ranking
from regard.search.stepper import StateT


class Aside:
    """What was set aside of every sentence."""

    def __init__(
        self,
        limits: Tensor,  # [B], the longest outputs
        nbest: int,
        ranking: Ranking,
        rule: StopRule,
        *,
        source_lengths: Sequence[int] | None = None,
        keep_attention: bool = False,
    ) -> None:
        """source_lengths: how many tokens of each source are to be covered, where there is a coverage penalty; all if None."""
        sentences, device = len(limits), limits.device
        self._nbest, self._ranking, self._rule, self._keep_attention = nbest, ranking, rule, keep_attention
        self._source_lengths = source_lengths
        self._found: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self._ended: set[tuple[int, int]] = set()  # (row of the batch, hypothesis) that ended at this very step
        self._counts = torch.zeros(
            sentences, dtype=torch.long, device=device
        )  # [B], how many have finished and are kept
        nothing = torch.full((sentences,), -torch.inf, dtype=sum_type(device), device=device)
        self._led = torch.zeros(
            sentences, dtype=torch.bool, device=device
        )  # [B], whether an ending was the best of its step
        self._worst = nothing  # [B], the n-th best score of the finished
        self._divisors = nothing.new_tensor([ranking.divisor(limit) for limit in limits.tolist()])  # [B]

    def finish(self, live: Live[StateT], found: Candidates, ended: Tensor) -> None:
        """Set aside the candidates marked by ended [b, <= c]."""
        rows, columns = ended.nonzero(as_tuple=True)
        parents = found.parents[rows, columns]
        self._ended = set(zip(rows.tolist(), parents.tolist(), strict=True))
        if self._ended:
            changed = self._keep(live, rows, parents, found.logprobs[rows, columns], finished=True)
            self._count(changed)

    def cut(self, live: Live[StateT], cut: Tensor) -> None:
        """Set aside, as they are, what is left of the sentences marked by cut [b], where too few have finished."""
        short = cut & (self._counts[live.sentence] < self._nbest)
        if short.any():
            left = short[:, None] & (live.logprobs > -torch.inf)
            for row, column in self._ended:
                left[row, column] = False
            rows, columns = left.nonzero(as_tuple=True)
            self._keep(live, rows, columns, live.logprobs[rows, columns], finished=False)

    def complete(self, sentence: Tensor, best: Tensor, led: Tensor) -> Tensor:
        """[b]: whether the rule says that a sentence is done.

        best [b]: the largest log-probability of those that would go on; led [b]: whether the most probable candidate has ended.
        """
        done = self._unbeatable(sentence, best)
        if self._rule.enough is not None:
            counted = self._counts[sentence] >= self._rule.enough
            if self._rule.led:
                self._led[sentence] |= led
                counted &= self._led[sentence]
            done |= counted
        return done

    def _unbeatable(self, sentence: Tensor, best: Tensor) -> Tensor:
        """[b]: whether nothing that begins with a live hypothesis can still enter the n best, so that going on would change nothing.

        A log-probability only falls, a length only grows to the limit and the coverage term is never above 0, so best / divisor(limit)
        bounds whatever comes. With a coverage penalty and only the k most probable ranked, one that is more probable could still push a
        better covered one out of them; that is not waited for.
        """
        return self._worst[sentence] >= best / self._divisors[sentence]

    def results(self) -> list[list[Hypothesis]]:
        """Of each sentence the n best."""
        return [best_first(found)[: self._nbest] for found in self._found]

    def _keep(self, live: Live[StateT], rows: Tensor, columns: Tensor, logprobs: Tensor, *, finished: bool) -> set[int]:
        sentences = live.sentence[rows].tolist()
        said = live.said[rows, columns].tolist()
        steps = live.said.shape[2] + finished
        looked = [None] * len(said) if live.looked is None else list(live.looked[rows, columns, :steps])
        for sentence, tokens, logprob, attention in zip(sentences, said, logprobs.tolist(), looked, strict=True):
            self._found[sentence].append(self._hypothesis(sentence, tokens, logprob, finished, attention))
        return set(sentences)

    def _hypothesis(
        self, sentence: int, tokens: list[int], logprob: float, finished: bool, attention: Tensor | None
    ) -> Hypothesis:
        if self._ranking.coverage and attention is None:
            raise SearchError(
                f"coverage = {self._ranking.coverage:g}: this model does not say where it looks in the source; use 0"
            )
        covered = attention
        if attention is not None and self._source_lengths is not None:
            covered = attention[:, : self._source_lengths[sentence]]
        return make_hypothesis(
            tokens,
            logprob,
            ranking=self._ranking,
            finished=finished,
            attention=attention if self._keep_attention else None,
            covered=covered,
        )

    def _count(self, changed: set[int]) -> None:
        """Bring the tensors up to date for the sentences that changed."""
        numbers = sorted(changed)
        index = torch.tensor(numbers, device=self._counts.device)
        if self._rule.led:
            for number in numbers:
                likeliest = sorted(self._found[number], key=lambda found: -found.logprob)
                self._found[number] = likeliest[: self._rule.enough]
        counts = [len(self._found[number]) for number in numbers]
        ranked = [sorted((found.score for found in self._found[number]), reverse=True) for number in numbers]
        worst = [scores[self._nbest - 1] if len(scores) >= self._nbest else -torch.inf for scores in ranked]
        self._counts[index] = torch.tensor(counts, device=index.device)
        self._worst[index] = torch.tensor(worst, dtype=self._worst.dtype, device=index.device)
