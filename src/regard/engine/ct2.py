"""Searches with CTranslate2: the same results as the torch `Runner`, but faster. It works on ids and never imports torch.

CTranslate2 is configured to agree with our beam search (docs/decisions/0008). The maximum length is one more than the limit, for the end
mark. There is no minimum output length and no maximum input length. There is no length penalty: hypotheses are returned with log p and
ranked here. So a beam ends when k hypotheses have finished and the most probable candidate of some step was one of them.

A call has one maximum length for a batch of sentences of similar length. A result within its own sentence's limit is the result of that
sentence alone; the other sentences are searched again with their own limit.

Shapes: k hypotheses.
"""

import math
import os
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

from regard.activity import activity
from regard.bundle.ctranslate2 import Precision, converted, reach
from regard.bundle.opened import OpenBundle
from regard.engine.batching import FAST_BATCH_TOKENS, length_batches
from regard.errors import ResourceError
from regard.machine import usable_cores
from regard.search.hypothesis import Hypothesis, best_first, make_hypothesis
from regard.search.options import FIELDS, SearchOptions, default_of
from regard.search.ranking import Ranking

if TYPE_CHECKING:
    import ctranslate2

Ids = Sequence[int]
Outputs = list[tuple[list[str], float]]
"""Hypotheses as pieces and log p, the most probable first."""

SUPPORTED = {"beam", "alpha", "nbest", "max_length", "seed"}  # a seed has no effect without sampling
ONLY_TORCH = tuple(name for name, field in FIELDS.items() if name not in SUPPORTED and not field.metadata["only_for"])
UNSCORED = (math.nan,)
_SEARCHES: "weakref.WeakSet[Ct2Search]" = weakref.WeakSet()
_LEFT_BY_FORK: "list[ctranslate2.Translator]" = []


class Ct2Search:
    """A converted bundle, loaded at the first search, with one single-threaded worker per core."""

    def __init__(self, bundle: OpenBundle, precision: Precision, workers: int | None = None) -> None:
        self._bundle, self._precision = bundle, precision
        self._workers = workers or usable_cores()
        self._pieces = bundle.tokenizers.source.vocabulary.pieces
        self._outputs = len(bundle.tokenizers.target.vocabulary) - 1  # without pad
        self._ids_of = bundle.tokenizers.target.vocabulary.ids_of
        self._opening = threading.Lock()
        _SEARCHES.add(self)

    def obstacle(self, options: SearchOptions, longest: int) -> str | None:
        """An option, as name = value, that CTranslate2 does not support; None: it supports all. longest: the largest limit."""
        for name in ONLY_TORCH:
            value = getattr(options, name)
            if value != default_of(name):
                return f"{name} = {value!r}"
        if 2 * options.beam > self._outputs:
            return f"beam = {options.beam} over {self._outputs} pieces"
        if longest + 1 > reach(self._bundle.config):
            return f"max_length = {longest}"
        return None

    def prepare(self) -> None:
        """Convert the bundle if that was not done before, and open it."""
        _ = self._translator

    def search(
        self,
        sources: Sequence[Ids],
        limits: Sequence[int],
        options: SearchOptions,
        batch_tokens: int,
        scores: bool = True,
    ) -> list[list[Hypothesis]]:
        """Up to `options.nbest` hypotheses for each source, best first. limits: the maximum output length of each, in tokens.

        scores=False: scores may be NaN. Greedy search then computes no probabilities, which saves a tenth of its time.
        """
        if options.beam == 1 and not scores:
            return self._unscored(sources, limits, options, batch_tokens)
        outputs_of = self._ask(sources, limits, options, batch_tokens, everything=False)
        results: dict[int, list[Hypothesis]] = {}
        beyond: dict[int, list[int]] = {}  # limit -> the sentences whose results exceed it
        for number, outputs in enumerate(outputs_of):
            limit = limits[number]
            if all(len(pieces) <= limit for pieces, _ in outputs):
                results[number] = self._ranked(outputs, [], options)
            else:
                beyond.setdefault(limit, []).append(number)
        for limit, numbers in beyond.items():
            again = self._search_to(limit, [sources[number] for number in numbers], options, batch_tokens)
            results.update(zip(numbers, again, strict=True))
        return [results[number] for number in range(len(sources))]

    def _search_to(
        self, limit: int, sources: list[Ids], options: SearchOptions, batch_tokens: int
    ) -> list[list[Hypothesis]]:
        """The hypotheses of sentences that reach their common limit: finished ones first, then those cut at the limit."""
        limits = [limit] * len(sources)
        ended = self._ask(sources, limits, options, batch_tokens, everything=True)
        cut = self._ask(sources, [limit - 1] * len(sources), options, batch_tokens, everything=True)
        results = []
        for all_ended, all_cut in zip(ended, cut, strict=True):
            finished = [(pieces, logprob) for pieces, logprob in all_ended if len(pieces) <= limit]
            just_now = [pieces for pieces, _ in finished if len(pieces) == limit]
            going = [
                (pieces, logprob) for pieces, logprob in all_cut if len(pieces) == limit and pieces not in just_now
            ]
            results.append(self._ranked(finished[: options.beam], going, options))
        return results

    def _unscored(
        self, sources: Sequence[Ids], limits: Sequence[int], options: SearchOptions, batch_tokens: int
    ) -> list[list[Hypothesis]]:
        """Greedy search. Its tokens do not depend on the limit, so a longer output is simply cut at the limit."""
        results = []
        outputs = self._ask(sources, limits, options, batch_tokens, everything=False, scores=False)
        for [(pieces, _)], limit in zip(outputs, limits, strict=True):
            tokens = self._ids_of(pieces[:limit])
            results.append([Hypothesis(tokens, math.nan, math.nan, finished=len(pieces) <= limit)])
        return results

    def _ranked(self, finished: Outputs, cut: Outputs, options: SearchOptions) -> list[Hypothesis]:
        ranking = Ranking(options.alpha)
        hypotheses = [
            make_hypothesis(self._ids_of(pieces), logprob, ranking=ranking, finished=ended)
            for outputs, ended in ((finished, True), (cut, False))
            for pieces, logprob in outputs
        ]
        return best_first(hypotheses)[: options.nbest]

    def _ask(
        self,
        sources: Sequence[Ids],
        limits: Sequence[int],
        options: SearchOptions,
        batch_tokens: int,
        *,
        everything: bool,  # return all hypotheses that finish or reach the limit; the search stops only there
        scores: bool = True,  # else NaN
    ) -> list[Outputs]:
        """Hypotheses of at most one token more than the largest limit of their batch."""
        likeliest_only = options.alpha == 0.0 and options.nbest == 1
        pending: list[tuple[int, Any]] = []
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
            pending += zip(batch, answers, strict=True)
        outputs_of: dict[int, Outputs] = {}
        with activity("translating", len(pending), "sentences") as progress:
            for number, answer in pending:
                result = answer.result()
                outputs_of[number] = list(zip(result.hypotheses, result.scores if scores else UNSCORED, strict=True))
                progress.advance()
        return [outputs_of[number] for number in range(len(sources))]

    @property
    def _translator(self) -> "ctranslate2.Translator":
        with self._opening:
            return self._opened

    @cached_property
    def _opened(self) -> "ctranslate2.Translator":
        import ctranslate2

        model = str(converted(self._bundle, self._precision))
        try:
            # it sets OpenMP's number of threads, which torch uses too, where it is made
            with ThreadPoolExecutor(1) as thread:
                return thread.submit(
                    ctranslate2.Translator,
                    model,
                    device="cpu",
                    compute_type=self._precision,
                    inter_threads=self._workers,
                    intra_threads=1,
                ).result()
        except (RuntimeError, MemoryError) as error:  # its files were checked a moment ago
            reason = (str(error).splitlines() or ["out of memory"])[0]
            raise ResourceError(
                f"{model}: CTranslate2 cannot open it now: {reason}; free some memory or raise the limits (`ulimit -a`), "
                "or use the torch engine"
            ) from None

    def _reopen_after_fork(self) -> None:
        """Open the translator anew at the next search: a forked process has none of its threads."""
        self._opening = threading.Lock()
        if "_opened" in self.__dict__:
            _LEFT_BY_FORK.append(self.__dict__.pop("_opened"))  # its destructor would wait for those threads for ever


def _after_fork() -> None:
    for search in list(_SEARCHES):
        search._reopen_after_fork()


os.register_at_fork(after_in_child=_after_fork)
