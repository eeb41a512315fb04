"""Searches for translations, tokens in and tokens out: length limits, constraints, batches, and the choice of the engine.

Without `max_length`, an output has at most 2 x source tokens + 10 tokens. The limit is of each text, so that results do not depend on the
batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from regard.activity import activity
from regard.engine.batching import length_batches
from regard.engine.constraints import TextConstraints, suppressed_ids
from regard.engine.fast import FastPath
from regard.engine.risk import by_utility, expected_utilities
from regard.errors import SearchError
from regard.metrics.pairwise import chrf_matrix
from regard.search.constraints import Constraints
from regard.search.expansion import BranchWatcher, Watcher
from regard.search.hypothesis import Hypothesis
from regard.search.interruption import NOT_BEGUN, Interruption
from regard.search.options import SearchOptions
from regard.tasks.translate.output_length import max_output_length
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.engine.runner import Runner

EMPTY = Hypothesis(tokens=(), logprob=0.0, score=0.0, finished=True)
"""The translation of an empty text; no search is needed."""


class Searcher:
    """Searches with the faster engine where it can, and else with torch."""

    def __init__(self, target: Tokenizer, runner: "Callable[[], Runner]", fast: FastPath, reach: int | None) -> None:
        """runner: called when torch is first needed; reach: the longest sequence that the network has positions for, or None."""
        self._target, self._runner, self.fast, self._reach = target, runner, fast, reach

    def prepare(self, options: SearchOptions, *, constrained: bool) -> None:
        """Load the engine of such a search. constrained: there are prefixes or phrases."""
        if constrained or not self.fast.prepare(options):
            _ = self._runner().device  # reads the network

    def constraints(
        self,
        texts: int,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[str]] | None = None,
    ) -> TextConstraints:
        """The constraints of so many texts."""
        return TextConstraints(self._target, texts, prefixes, phrases)

    def search(
        self,
        sources: Sequence[list[int]],
        options: SearchOptions,
        constraints: TextConstraints,
        batch_tokens: int,
        scores: bool,
        interruption: Interruption | None = None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each source, in order. For minimum Bayes risk decoding, all samples."""
        results = [[EMPTY] for _ in sources]
        limits = [
            max_output_length(len(ids), options, constraints.needs(number) if constraints else 0, self._reach)
            for number, ids in enumerate(sources)
        ]
        in_tokens = self._in_tokens(constraints, limits, options)
        filled = [number for number, ids in enumerate(sources) if ids]  # the numbers of those that are not empty
        rows, row_limits = [sources[number] for number in filled], [limits[number] for number in filled]
        fast = self.fast.search(rows, row_limits, options, constraints, batch_tokens, scores, interruption)
        if fast is not None:
            return _placed(results, filled, fast)
        with activity("translating", len(rows), "sentences") as progress:
            kept = [options.width * (limit + 1) for limit in row_limits]
            for batch in length_batches([len(ids) for ids in rows], batch_tokens, kept):
                numbers = [filled[place] for place in batch]
                if interruption is not None and interruption.due():
                    _placed(results, numbers, [[NOT_BEGUN] for _ in numbers])
                    continue
                hypotheses = self._runner().search(
                    [rows[place] for place in batch],
                    options,
                    limits=[row_limits[place] for place in batch],
                    numbers=numbers,
                    constraints=in_tokens.take(numbers),
                    interruption=interruption,
                )
                _placed(results, numbers, hypotheses)
                progress.advance(len(batch))
        return results

    def watch(
        self, source: list[int], options: SearchOptions, constraints: TextConstraints, watch: Watcher
    ) -> list[Hypothesis]:
        """The hypotheses of one source, searched with torch. `watch` gets every step."""
        if options.exact:
            raise SearchError("exact search has no steps to watch; use watch_exact")
        if options.exhaustive:
            raise SearchError("exhaustive search has no steps to watch; use a beam")
        limits = [max_output_length(len(source), options, constraints.needs(0), self._reach)]
        in_tokens = self._in_tokens(constraints, limits, options)
        [hypotheses] = self._runner().search(
            [source],
            options,
            limits=limits,
            numbers=[0],
            constraints=in_tokens,
            watch=watch,
            interruption=Interruption.of(options.time_limit, None),
        )
        return hypotheses

    def watch_exact(self, source: list[int], options: SearchOptions, watch: BranchWatcher) -> Hypothesis:
        """The most probable hypothesis of one source; `watch` gets every step of the exact search."""
        return self._runner().exact(
            source, options, limit=max_output_length(len(source), options, 0, self._reach), watch=watch
        )

    def least_risk(
        self, samples: Sequence[Sequence[Hypothesis]], nbest: int
    ) -> tuple[list[list[Hypothesis]], list[list[float]]]:
        """Minimum Bayes risk: for each text the `nbest` different samples of the largest expected utility, and the utilities."""
        chosen, utilities = [], []
        for drawn in samples:
            texts = [self._target.decode(hypothesis.tokens) for hypothesis in drawn]
            values = expected_utilities(texts, chrf_matrix)
            best = by_utility(values, texts)[:nbest]
            chosen.append([drawn[number] for number in best])
            utilities.append([values[number] for number in best])
        return chosen, utilities

    def _in_tokens(self, constraints: TextConstraints, limits: Sequence[int], options: SearchOptions) -> Constraints:
        if constraints.phrases and options.kind != "beam":
            raise SearchError(f"phrases are for beam search, not for {options.kind}: leave one of the two out")
        suppressed = suppressed_ids(self._target.vocabulary, options.suppress)
        return replace(constraints.in_tokens(limits), suppressed=suppressed)


def _placed(
    results: list[list[Hypothesis]], numbers: Sequence[int], hypotheses: Sequence[list[Hypothesis]]
) -> list[list[Hypothesis]]:
    """`results` with the hypotheses of the sentences `numbers` inserted."""
    for number, own in zip(numbers, hypotheses, strict=True):
        results[number] = own
    return results
