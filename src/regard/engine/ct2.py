"""Searches with CTranslate2: the same answers as the torch `Runner`, sooner. It knows ids, no text, and never imports torch.

What it is told, so that both engines mean the same. One token more than the limit, for the end mark of an output of the longest length.
No least length and no longest input. No length penalty: hypotheses come back with log p, and are ranked here. So a beam ends when
k have finished and the most probable candidate of some step was one of them, and its answer is the best of the k most probable
that finished: the rule of `search.beam` (docs/decisions/0008).

A call has one longest length, and sentences of like length share it. An answer that stays within its own sentence's limit is what the
sentence alone would have given; the others are searched again with their own.

Shapes: k hypotheses.
"""

import math
import os
import threading
from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from regard.bundle.ctranslate2 import Precision, converted, reach
from regard.bundle.opened import OpenBundle
from regard.engine.batching import FAST_BATCH_TOKENS, length_batches
from regard.engine.options import SearchOptions
from regard.search.hypothesis import Hypothesis, best_first, make_hypothesis
from regard.search.ranking import Ranking

if TYPE_CHECKING:
    import ctranslate2

Ids = Sequence[int]
Found = list[tuple[list[str], float]]
"""Pieces and log p of hypotheses, the most probable first."""

KNOWN = {"beam", "alpha", "nbest", "max_length"}
IDLE = {"temperature", "top_k", "top_p", "seed", "diversity", "node_limit"}  # of searches that it lacks
ONLY_TORCH = tuple(field.name for field in fields(SearchOptions) if field.name not in KNOWN | IDLE)
USUAL = SearchOptions()
UNSCORED = (math.nan,)


class Ct2Search:
    """A converted bundle, with one worker of one thread for each core. It is read at the first search."""

    def __init__(self, bundle: OpenBundle, precision: Precision, workers: int | None = None) -> None:
        self._bundle, self._precision = bundle, precision
        self._workers = workers or len(os.sched_getaffinity(0))
        self._pieces = bundle.tokenizers.source.vocabulary.pieces
        self._outputs = len(bundle.tokenizers.target.vocabulary) - 1  # pad is none
        self._ids_of = bundle.tokenizers.target.vocabulary.ids_of
        self._opening = threading.Lock()

    def obstacle(self, options: SearchOptions, longest: int) -> str | None:
        """The option, as name = value, that only the torch engine has; None: there is none. longest: the largest limit."""
        for name in ONLY_TORCH:
            value = getattr(options, name)
            if value != getattr(USUAL, name):
                return f"{name} = {value!r}"
        if 2 * options.beam > self._outputs:
            return f"beam = {options.beam} over {self._outputs} pieces"
        if longest + 1 > reach(self._bundle.config):
            return f"max_length = {longest}"
        return None

    def search(
        self,
        sources: Sequence[Ids],
        limits: Sequence[int],
        options: SearchOptions,
        batch_tokens: int,
        scores: bool = True,
    ) -> list[list[Hypothesis]]:
        """Up to `options.nbest` hypotheses for each source, best first. limits: the longest output of each, in tokens.

        scores: False where they may be NaN: greedy search then needs no probabilities, which saves a tenth of its time.
        """
        if options.beam == 1 and not scores:
            return self._unscored(sources, limits, options, batch_tokens)
        first = self._ask(sources, limits, options, batch_tokens, everything=False)
        results: dict[int, list[Hypothesis]] = {}
        beyond: dict[int, list[int]] = {}  # limit -> the sentences whose search went past it
        for number, found in enumerate(first):
            limit = limits[number]
            if all(len(pieces) <= limit for pieces, _ in found):
                results[number] = self._ranked(found, [], options)
            else:
                beyond.setdefault(limit, []).append(number)
        for limit, numbers in beyond.items():
            again = self._search_to(limit, [sources[number] for number in numbers], options, batch_tokens)
            results.update(zip(numbers, again, strict=True))
        return [results[number] for number in range(len(sources))]

    def _search_to(
        self, limit: int, sources: list[Ids], options: SearchOptions, batch_tokens: int
    ) -> list[list[Hypothesis]]:
        """The same for sentences of one limit that is reached: what finished within it, then what was cut there."""
        limits = [limit] * len(sources)
        ended = self._ask(sources, limits, options, batch_tokens, everything=True)
        cut = self._ask(sources, [limit - 1] * len(sources), options, batch_tokens, everything=True)
        results = []
        for some, others in zip(ended, cut, strict=True):
            finished = [(pieces, logprob) for pieces, logprob in some if len(pieces) <= limit]
            just_now = [pieces for pieces, _ in finished if len(pieces) == limit]
            going = [(pieces, logprob) for pieces, logprob in others if len(pieces) == limit and pieces not in just_now]
            results.append(self._ranked(finished[: options.beam], going, options))
        return results

    def _unscored(
        self, sources: Sequence[Ids], limits: Sequence[int], options: SearchOptions, batch_tokens: int
    ) -> list[list[Hypothesis]]:
        """Greedy search says the same whatever the limit, so what goes past it is only cut there."""
        results = []
        asked = self._ask(sources, limits, options, batch_tokens, everything=False, scores=False)
        for [(pieces, _)], limit in zip(asked, limits, strict=True):
            tokens = self._ids_of(pieces[:limit])
            results.append([Hypothesis(tokens, math.nan, math.nan, finished=len(pieces) <= limit)])
        return results

    def _ranked(self, finished: Found, cut: Found, options: SearchOptions) -> list[Hypothesis]:
        ranking = Ranking(options.alpha)
        hypotheses = [
            make_hypothesis(self._ids_of(pieces), logprob, ranking=ranking, finished=some is finished)
            for some in (finished, cut)
            for pieces, logprob in some
        ]
        return best_first(hypotheses)[: options.nbest]

    def _ask(
        self,
        sources: Sequence[Ids],
        limits: Sequence[int],
        options: SearchOptions,
        batch_tokens: int,
        *,
        everything: bool,  # each hypothesis that finishes, or is there when the limit is reached; the search never stops before
        scores: bool = True,  # else NaN
    ) -> list[Found]:
        """Hypotheses with up to one token more than the longest limit of their batch."""
        likeliest_only = options.alpha == 0.0 and options.nbest == 1
        asked: list[tuple[int, Any]] = []
        for batch in length_batches([len(ids) for ids in sources], min(batch_tokens, FAST_BATCH_TOKENS)):
            steps = max(limits[number] for number in batch) + 1
            patience = steps + 1 if everything and options.beam > 1 else 1  # more than can ever finish
            answers = self._translator.translate_batch(
                [[self._pieces[index] for index in sources[number]] for number in batch],
                asynchronous=True,
                beam_size=options.beam,
                patience=patience,
                num_hypotheses=1 if likeliest_only and not everything else options.beam * patience,
                length_penalty=0.0,
                max_input_length=0,
                max_decoding_length=steps,
                min_decoding_length=0,
                return_scores=scores,
            )
            asked += zip(batch, answers, strict=True)
        found: dict[int, Found] = {}
        for number, answer in asked:
            result = answer.result()
            found[number] = list(zip(result.hypotheses, result.scores if scores else UNSCORED, strict=True))
        return [found[number] for number in range(len(sources))]

    @property
    def _translator(self) -> "ctranslate2.Translator":
        with self._opening:
            return self._opened

    @cached_property
    def _opened(self) -> "ctranslate2.Translator":
        import ctranslate2

        return ctranslate2.Translator(
            str(converted(self._bundle, self._precision)),
            device="cpu",
            compute_type=self._precision,
            inter_threads=self._workers,
            intra_threads=1,
        )
