"""`FinishedHypotheses`: the hypotheses of a beam that have ended or were cut, and whether better ones are still possible.

Shapes: B sentences, b of them still active, k hypotheses each, c candidates, S source.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.candidates import Candidates
from regard.search.hypothesis import Hypothesis, best_first, make_hypothesis
from regard.search.live import Live
from regard.search.logprobs import sum_type
from regard.search.ranking import Ranking
from regard.search.stepper import StateT
from regard.search.stopping import StopRule


class FinishedHypotheses:
    """The finished and cut hypotheses of every sentence of a batch."""

    def __init__(
        self,
        limits: Tensor,  # [B], the maximum output lengths
        nbest: int,
        ranking: Ranking,
        rule: StopRule,
        *,
        source_lengths: Sequence[int] | None = None,
        keep_attention: bool = False,
    ) -> None:
        """source_lengths: the number of tokens of each source that the coverage penalty counts; None: all."""
        sentences, device = len(limits), limits.device
        self._nbest, self._ranking, self._rule, self._keep_attention = nbest, ranking, rule, keep_attention
        self._source_lengths = source_lengths
        self._kept: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self._ended: set[tuple[int, int]] = set()  # (row of the batch, hypothesis) that ended at this step
        self._counts = torch.zeros(
            sentences, dtype=torch.long, device=device
        )  # [B], the number of finished hypotheses kept
        nothing = torch.full((sentences,), -torch.inf, dtype=sum_type(device), device=device)
        self._led = torch.zeros(
            sentences, dtype=torch.bool, device=device
        )  # [B], whether the best candidate of some step ended
        self._worst = nothing  # [B], the n-th best score of finished hypotheses
        self._divisors = nothing.new_tensor([ranking.divisor(limit) for limit in limits.tolist()])  # [B]

    def finish(self, live: Live[StateT], candidates: Candidates, ended: Tensor) -> None:
        """Add the candidates marked by ended [b, <= c], which end with this step."""
        rows, columns = ended.nonzero(as_tuple=True)
        parents = candidates.parents[rows, columns]
        self._ended = set(zip(rows.tolist(), parents.tolist(), strict=True))
        if self._ended:
            changed = self._keep(live, rows, parents, candidates.logprobs[rows, columns], finished=True)
            self._count(changed)

    def cut(self, live: Live[StateT], cut: Tensor) -> None:
        """Add the live hypotheses of the sentences marked by cut [b], unfinished, if too few have finished."""
        short = cut & (self._counts[live.sentence] < self._nbest)
        if short.any():
            left = short[:, None] & (live.logprobs > -torch.inf)
            for row, column in self._ended:
                left[row, column] = False
            rows, columns = left.nonzero(as_tuple=True)
            self._keep(live, rows, columns, live.logprobs[rows, columns], finished=False)

    def cut_all(self, live: Live[StateT]) -> None:
        """`cut` for all sentences, between two steps."""
        self._ended = set()
        self.cut(live, torch.ones_like(live.sentence, dtype=torch.bool))

    def complete(self, sentence: Tensor, best: Tensor, led: Tensor) -> Tensor:
        """[b]: whether a sentence is done, by the stop rule.

        best [b]: the largest log-probability of the continuing hypotheses; led [b]: whether the most probable candidate has ended.
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
        """[b]: whether no continuation of a live hypothesis can enter the n best.

        Log-probabilities only fall, lengths grow at most to the limit, and the coverage term is at most 0. So best / divisor(limit) is an
        upper bound of future scores. With a coverage penalty, a more probable hypothesis could still displace a better covered one from the
        k most probable; the search does not wait for that.
        """
        return self._worst[sentence] >= best / self._divisors[sentence]

    def results(self) -> list[list[Hypothesis]]:
        """The n best of each sentence."""
        return [best_first(hypotheses)[: self._nbest] for hypotheses in self._kept]

    def _keep(self, live: Live[StateT], rows: Tensor, columns: Tensor, logprobs: Tensor, *, finished: bool) -> set[int]:
        sentences = live.sentence[rows].tolist()
        generated = live.generated[rows, columns].tolist()
        steps = live.generated.shape[2] + finished
        attentions = [None] * len(generated) if live.attention is None else list(live.attention[rows, columns, :steps])
        fields = zip(sentences, generated, logprobs.tolist(), attentions, strict=True)
        for sentence, tokens, logprob, attention in fields:
            self._kept[sentence].append(self._hypothesis(sentence, tokens, logprob, finished, attention))
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
        """Update the tensors for the sentences that changed."""
        numbers = sorted(changed)
        index = torch.tensor(numbers, device=self._counts.device)
        if self._rule.led:
            for number in numbers:
                likeliest = sorted(self._kept[number], key=lambda hypothesis: -hypothesis.logprob)
                self._kept[number] = likeliest[: self._rule.enough]
        counts = [len(self._kept[number]) for number in numbers]
        ranked = [sorted((hypothesis.score for hypothesis in self._kept[number]), reverse=True) for number in numbers]
        worst = [scores[self._nbest - 1] if len(scores) >= self._nbest else -torch.inf for scores in ranked]
        self._counts[index] = torch.tensor(counts, device=index.device)
        self._worst[index] = torch.tensor(worst, dtype=self._worst.dtype, device=index.device)
