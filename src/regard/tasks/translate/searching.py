"""Searches for translations and scores given ones, tokens in and tokens out: limits, constraints, batches, and the choice of the engine.

Without `max_length`, an output has at most 2 x source tokens + 10 tokens, or more where the bundle says so (`output_length.py`). The
limit is of each text, so that results do not depend on the batch.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from regard.activity import activity
from regard.bundle.opened import OpenBundle
from regard.bundle.shortlist import Shortlist, has_shortlist, read_shortlist
from regard.engine.batching import length_batches
from regard.engine.constraints import TextConstraints, TextPhrase, search_constraints
from regard.engine.fast import FastPath, Forced, Found
from regard.engine.forced import ForcedScore
from regard.engine.risk import least_risk
from regard.errors import SearchError
from regard.search.constraints import Constraints
from regard.search.expansion import BranchWatcher, Watcher
from regard.search.hypothesis import Hypothesis
from regard.search.interruption import NOT_BEGUN, Interruption
from regard.search.options import SearchOptions
from regard.search.ranking import Ranking
from regard.tasks.translate.output_length import USUAL, OutputLength, max_output_length
from regard.tasks.translate.pairs import Pairs
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.engine.runner import Runner, SearchBatch

BATCH_TOKENS = 4096  # source tokens of a batch of torch
EMPTY = Hypothesis(tokens=(), logprob=0.0, score=0.0, finished=True)
"""The translation of an empty text; no search is needed."""


class Searcher:
    """Searches with the faster engine where it can, and else with torch."""

    def __init__(
        self,
        target: Tokenizer,
        runner: "Callable[[], Runner]",
        fast: FastPath,
        reach: int | None,
        bundle: OpenBundle | None = None,
        longest: OutputLength = USUAL,
    ) -> None:
        """runner: called when torch is first needed; reach: the longest sequence that the network has positions for, or None.

        bundle: where the shortlist is. longest: how long outputs may be.
        """
        self._target, self._runner, self.fast, self._reach, self._bundle = target, runner, fast, reach, bundle
        self._longest = longest

    @cached_property
    def _shortlist(self) -> Shortlist:
        assert self._bundle is not None, "_check_shortlist refuses it"
        return read_shortlist(self._bundle)

    def prepare(self, options: SearchOptions, *, constrained: bool) -> None:
        """Load the engine of such a search. constrained: there are prefixes or phrases."""
        if constrained or not self.fast.prepare(options):
            _ = self._runner().device  # reads the network

    def constraints(
        self,
        texts: int,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[TextPhrase]] | None = None,
    ) -> TextConstraints:
        """The constraints of so many texts."""
        return TextConstraints(self._target, texts, prefixes, phrases)

    def search(
        self,
        sources: Sequence[list[int]],
        options: SearchOptions,
        constraints: TextConstraints,
        batch_tokens: int | None,
        scores: bool,
        interruption: Interruption | None = None,
    ) -> Iterator[Found]:
        """The number of each source and its hypotheses, as soon as they are there. For minimum Bayes risk decoding, all samples."""
        self._check_shortlist(options, constraints)
        limits = self._limits(sources, options, constraints)
        in_tokens = self._in_tokens(constraints, limits, options)
        filled = [number for number, ids in enumerate(sources) if ids]  # the numbers of those that are not empty
        rows, row_limits = [sources[number] for number in filled], [limits[number] for number in filled]
        if len(filled) < len(sources):
            yield from ((number, [EMPTY]) for number, ids in enumerate(sources) if not ids)
        found = self.fast.search(rows, row_limits, options, constraints, batch_tokens, scores, interruption)
        if found is not None:
            yield from ((filled[place], hypotheses) for place, hypotheses in found)
            return
        kept = [options.width * (limit + 1) for limit in row_limits]
        batches = [
            [filled[place] for place in batch]
            for batch in length_batches([len(ids) for ids in rows], batch_tokens or BATCH_TOKENS, kept)
        ]
        searched = [self._batch(batch, sources, limits, in_tokens, options) for batch in batches]
        for batch, of_batch in zip(batches, self._hypotheses(searched, options, interruption), strict=True):
            yield from zip(batch, of_batch, strict=True)

    def _limits(
        self, sources: Sequence[list[int]], options: SearchOptions, constraints: TextConstraints
    ) -> Sequence[int]:
        """The maximum output length of each source."""
        if constraints:
            return [
                max_output_length(len(ids), options, constraints.needs(number), self._reach, self._longest)
                for number, ids in enumerate(sources)
            ]
        lengths = [len(ids) for ids in sources]
        limit_of = {length: max_output_length(length, options, 0, self._reach, self._longest) for length in {*lengths}}
        return [limit_of[length] for length in lengths]

    def _batch(
        self,
        numbers: list[int],
        sources: Sequence[list[int]],
        limits: Sequence[int],
        constraints: Constraints,
        options: SearchOptions,
    ) -> "SearchBatch":
        """The texts of these numbers, as torch searches them."""
        from regard.engine.runner import SearchBatch

        return SearchBatch(
            [sources[number] for number in numbers],
            [limits[number] for number in numbers],
            numbers,
            constraints.take(numbers),
            [self._shortlist.candidates(sources[number]) for number in numbers] if options.shortlist else None,
        )

    def _check_shortlist(self, options: SearchOptions, constraints: TextConstraints) -> None:
        """Refuse a shortlist that is not there, and one beside constraints, which may ask for any piece."""
        if not options.shortlist:
            return
        if self._bundle is not None and self._bundle.config.model.copies:
            raise SearchError(
                "shortlist: this model copies pieces of the source (model.copy = true), any of which it may need; leave it out"
            )
        if self._bundle is None or not has_shortlist(self._bundle):
            where = "an ensemble" if self._bundle is None else self._bundle.directory
            raise SearchError(f"shortlist: {where} has none; make it with `regard shortlist DIR --src F --tgt F`")
        if constraints:
            raise SearchError(
                "shortlist: prefixes and phrases may need pieces that are not in it; leave one of the two out"
            )

    def _hypotheses(
        self, batches: "Sequence[SearchBatch]", options: SearchOptions, interruption: Interruption | None
    ) -> Iterator[list[list[Hypothesis]]]:
        """The hypotheses of each batch, searched with torch. With an interruption one batch follows the other."""
        if not batches:
            return
        runner = self._runner()
        if interruption is None:
            yield from runner.search_all(batches, options)
            return
        for batch in batches:
            if interruption.due():
                yield [[NOT_BEGUN] for _ in batch.numbers]
            else:
                yield runner.search(batch, options, interruption=interruption)

    def score(self, pairs: Pairs, batch_tokens: int) -> Iterator[Forced]:
        """log p of each token of each target and of the end mark, by the faster engine where it can, and else by torch."""
        found = self.fast.score(pairs.sources, pairs.targets, batch_tokens)
        if found is not None:
            yield from found
            return
        runner = self._runner()
        for batch in length_batches(pairs.widths, batch_tokens):
            yield from zip(batch, runner.score(*pairs.rows(batch)), strict=True)

    def forced_scores(self, pairs: Pairs, ranking: Ranking, batch_tokens: int) -> list[ForcedScore]:
        """`score` as scores of the pairs, in order. The end mark of a truncated target is left out."""
        results: dict[int, ForcedScore] = {}
        with activity("scoring", len(pairs.sources), "pairs") as progress:
            for number, logprobs in self.score(pairs, batch_tokens):
                kept = logprobs[:-1] if number in pairs.cut_targets else logprobs
                tokens, logprob = len(pairs.targets[number]), sum(kept)
                score = ranking.score(logprob, tokens)
                results[number] = ForcedScore(logprob, score, tokens, kept, truncated=number in pairs.cut)
                progress.advance()
        return [results[number] for number in range(len(pairs.sources))]

    def watch(
        self, source: list[int], options: SearchOptions, constraints: TextConstraints, watch: Watcher
    ) -> list[Hypothesis]:
        """The hypotheses of one source, searched with torch. `watch` gets every step."""
        if options.exact:
            raise SearchError("exact search has no steps to watch; use watch_exact")
        if options.exhaustive:
            raise SearchError("exhaustive search has no steps to watch; use a beam")
        limits = [max_output_length(len(source), options, constraints.needs(0), self._reach, self._longest)]
        in_tokens = self._in_tokens(constraints, limits, options)
        [hypotheses] = self._runner().search(
            self._batch([0], [source], limits, in_tokens, replace(options, shortlist=False)),
            options,
            watch=watch,
            interruption=Interruption.of(options.time_limit, None),
        )
        return hypotheses

    def watch_exact(self, source: list[int], options: SearchOptions, watch: BranchWatcher) -> Hypothesis:
        """The most probable hypothesis of one source; `watch` gets every step of the exact search."""
        return self._runner().exact(
            source,
            options,
            limit=max_output_length(len(source), options, 0, self._reach, self._longest),
            watch=watch,
        )

    def least_risk(self, samples: Sequence[Hypothesis], nbest: int) -> tuple[list[Hypothesis], list[float]]:
        """Minimum Bayes risk: of a text's samples the `nbest` different ones of the largest expected utility, and the utilities."""
        return least_risk(samples, self._target.decode, nbest)

    def _in_tokens(self, constraints: TextConstraints, limits: Sequence[int], options: SearchOptions) -> Constraints:
        return search_constraints(self._target, constraints, limits, options)
