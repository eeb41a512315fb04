"""Searches with CTranslate2: the same results as the torch `Runner`, but faster. It works on ids and never imports torch.

CTranslate2 is configured to agree with our beam search (docs/decisions/0008). The maximum length is one more than the limit, for the end
mark. There is no minimum output length and no maximum input length. There is no length penalty: hypotheses are returned with log p and
ranked here. So a beam ends when k hypotheses have finished and the most probable candidate of some step was one of them.

A call has one maximum length for a batch of sentences of similar length. A result within its own sentence's limit is the result of that
sentence alone; the other sentences are searched again with their own limit.

A time limit or a stop signal is looked at between the tokens of greedy search. A beam of CTranslate2 cannot be interrupted, so `FastPath`
prefers torch for it. Where there is no torch, such calls take turns and are searched sentence by sentence. At the time limit the sentences
that run are awaited; a stop signal leaves them behind, at most one more than there are workers.

Shapes: k hypotheses.
"""

import math
import os
import re
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

from regard.activity import activity
from regard.bundle.ctranslate2 import converted, mappable, reach
from regard.bundle.opened import OpenBundle
from regard.bundle.precision import Precision
from regard.engine.batching import FAST_BATCH_TOKENS, batches_of_one_limit, length_batches
from regard.errors import EngineError, RegardError, ResourceError, is_out_of_memory
from regard.machine import usable_cores
from regard.search.hypothesis import Hypothesis, best_first, make_hypothesis
from regard.search.interruption import Interruption, SearchStopped
from regard.search.options import FIELDS, SearchOptions, default_of
from regard.search.ranking import Ranking

if TYPE_CHECKING:
    import ctranslate2

Ids = Sequence[int]
Outputs = list[tuple[list[str], float]]
"""Hypotheses as pieces and log p, the most probable first."""

SUPPORTED = {
    "beam",
    "alpha",
    "nbest",
    "max_length",
    "shortlist",
    "time_limit",
    "seed",
}  # a seed has no effect without sampling
ONLY_TORCH = tuple(name for name, field in FIELDS.items() if name not in SUPPORTED and not field.metadata["only_for"])
UNSCORED = (math.nan,)
BATCHES_PER_WORKER = 6
SMALLEST_FAST_BATCH = 512  # source tokens: smaller batches do not fill the products
_LOOK_SECONDS = 0.002
# too many threads, or too many open files: the model's files were checked a moment ago
_EXHAUSTED = re.compile(r"temporarily unavailable|can't start new thread|unable to open file", re.IGNORECASE)
EMPTY_OUTPUT: Outputs = [([], 0.0)]
"""The output of a sentence whose search the time limit ended before it began."""
_SEARCHES: "weakref.WeakSet[Ct2Search]" = weakref.WeakSet()
_LEFT_BY_FORK: "list[ctranslate2.Translator]" = []


class Ct2Search:
    """A converted bundle, loaded at the first search, with one single-threaded worker per core."""

    def __init__(self, bundle: OpenBundle, precision: Precision, workers: int | None = None) -> None:
        self._bundle, self._precision = bundle, precision
        self._workers = workers or usable_cores()
        self._pieces = bundle.tokenizers.source.vocabulary.pieces
        self._outputs = len(bundle.tokenizers.target.vocabulary) - 1  # without pad
        self._end = bundle.tokenizers.target.vocabulary.marks.end
        self._ids_of = bundle.tokenizers.target.vocabulary.ids_of
        self._opening, self._turn = threading.Lock(), threading.Lock()
        _SEARCHES.add(self)

    def obstacle(self, options: SearchOptions, longest: int) -> str | None:
        """An option, as name = value, that CTranslate2 does not support; None: it supports all. longest: the largest limit."""
        for name in ONLY_TORCH:
            value = getattr(options, name)
            if value != default_of(name):
                return f"{name} = {value!r}"
        if options.shortlist and not self._mappable:
            return "shortlist = True over pieces with spaces"
        if 2 * options.beam > self._outputs:
            return f"beam = {options.beam} over {self._outputs} pieces"
        if longest + 1 > reach(self._bundle.config):
            return f"max_length = {longest}"
        return None

    def interruptible(self, options: SearchOptions) -> bool:
        """Whether such a search can end between tokens: greedy search has a callback."""
        return options.beam == 1

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
        interruption: Interruption | None = None,
    ) -> list[list[Hypothesis]]:
        """Up to `options.nbest` hypotheses for each source, best first. limits: the maximum output length of each, in tokens.

        scores=False: scores may be NaN. Greedy search then computes no probabilities, which saves a tenth of its time.
        """
        if options.beam == 1 and not scores:
            hypotheses = self._unscored(sources, limits, options, batch_tokens, interruption)
        else:
            hypotheses = self._scored(sources, limits, options, batch_tokens, interruption)
        return hypotheses if interruption is None else interruption.marked(hypotheses)

    def _scored(
        self,
        sources: Sequence[Ids],
        limits: Sequence[int],
        options: SearchOptions,
        batch_tokens: int,
        interruption: Interruption | None,
    ) -> list[list[Hypothesis]]:
        outputs_of = self._ask(sources, limits, options, batch_tokens, interruption, everything=False)
        results: dict[int, list[Hypothesis]] = {}
        beyond: list[int] = []  # the sentences whose results exceed their limit
        for number, outputs in enumerate(outputs_of):
            limit = limits[number]
            if interruption is not None and interruption.was_cut(number):
                results[number] = self._cut_at(limit, [], outputs, options)
            elif all(len(pieces) <= limit for pieces, _ in outputs):
                results[number] = self._ranked(outputs, [], options)
            else:
                beyond.append(number)
        if beyond:
            own = [sources[number] for number in beyond], [limits[number] for number in beyond]
            further = None if interruption is None else interruption.of_batch()
            again = self._search_to(*own, options, batch_tokens, further)
            results.update(zip(beyond, again, strict=True))
            if interruption is not None and further is not None:
                for number in (number for place, number in enumerate(beyond) if further.was_cut(place)):
                    limit = limits[number]
                    finished = [output for output in outputs_of[number] if len(output[0]) <= limit]
                    results[number] = self._cut_at(limit, finished, outputs_of[number], options)
                    interruption.cut([number])
        return [results[number] for number in range(len(sources))]

    def _cut_at(self, limit: int, finished: Outputs, outputs: Outputs, options: SearchOptions) -> list[Hypothesis]:
        """The hypotheses of a sentence whose search was interrupted: finished ones first, then the beginnings of the others."""
        cut = [(pieces[:limit], logprob) for pieces, logprob in outputs if (pieces, logprob) not in finished]
        return self._ranked(finished, cut, options)

    def _search_to(
        self,
        sources: list[Ids],
        limits: list[int],
        options: SearchOptions,
        batch_tokens: int,
        interruption: Interruption | None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of sentences that reach their limits: finished ones first, then those cut at the limit.

        All are asked for at once: what finishes within the limit, and what goes on there. Greedy search has nothing that finishes.
        """
        count, shorter = len(sources), [limit - 1 for limit in limits]
        ended: list[Outputs] = [[]] * count
        if options.beam == 1:
            cut = self._ask(sources, shorter, options, batch_tokens, interruption, everything=True)
        else:
            both = self._ask([*sources] * 2, limits + shorter, options, batch_tokens, interruption, everything=True)
            ended, cut = both[:count], both[count:]
            if interruption is not None:
                interruption.cut(place for place in range(count) if interruption.was_cut(count + place))
        results = []
        for limit, all_ended, all_cut in zip(limits, ended, cut, strict=True):
            finished = [(pieces, logprob) for pieces, logprob in all_ended if len(pieces) <= limit]
            just_now = [pieces for pieces, _ in finished if len(pieces) == limit]
            going = [
                (pieces, logprob) for pieces, logprob in all_cut if len(pieces) == limit and pieces not in just_now
            ]
            if (
                not finished and not going
            ):  # with a shortlist another batch has other candidates, and so it may end earlier
                finished = all_cut
            results.append(self._ranked(finished[: options.beam], going, options))
        return results

    def _unscored(
        self,
        sources: Sequence[Ids],
        limits: Sequence[int],
        options: SearchOptions,
        batch_tokens: int,
        interruption: Interruption | None,
    ) -> list[list[Hypothesis]]:
        """Greedy search. Its tokens do not depend on the limit, so a longer output is simply cut at the limit."""
        results = []
        outputs = self._ask(sources, limits, options, batch_tokens, interruption, everything=False, scores=False)
        for number, ([(pieces, _)], limit) in enumerate(zip(outputs, limits, strict=True)):
            finished = len(pieces) <= limit and not (interruption is not None and interruption.was_cut(number))
            results.append([Hypothesis(self._ids_of(pieces[:limit]), math.nan, math.nan, finished=finished)])
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
        interruption: Interruption | None,
        *,
        everything: bool,  # return all hypotheses that finish or reach the limit; the search stops only there
        scores: bool = True,  # else NaN
    ) -> list[Outputs]:
        """Hypotheses of at most one token more than the largest limit of their batch."""
        likeliest_only = options.alpha == 0.0 and options.nbest == 1
        between_tokens = interruption if options.beam == 1 else None

        def submit(batch: list[int]) -> list[tuple[int, int, Any]]:
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
                return_end_token=between_tokens is not None,  # it tells what has ended from what was interrupted
                use_vmap=options.shortlist,
                callback=None if between_tokens is None else _callback(between_tokens),
            )
            return [(number, steps, answer) for number, answer in zip(batch, answers, strict=True)]

        kept = [options.beam * (limit + 1) for limit in limits]
        lengths = [len(ids) for ids in sources]
        tokens = min(batch_tokens, self._batch_tokens(lengths))
        batches = length_batches(lengths, tokens, kept)
        if everything:  # a batch has one limit
            batches = batches_of_one_limit(limits, lengths, tokens, kept)
        turn: AbstractContextManager[None] = nullcontext()
        if interruption is not None and between_tokens is None:
            batches, turn = ([number] for number in range(len(sources))), self._taking_turns(interruption)
        outputs_of: dict[int, Outputs] = {}
        with turn, activity("translating", len(sources), "sentences") as progress:
            for number, steps, answer in self._answers(submit, batches, interruption):
                result = answer.result()
                outputs = list(zip(result.hypotheses, result.scores if scores else UNSCORED, strict=True))
                if between_tokens is not None:
                    [(pieces, logprob)] = outputs
                    if pieces and pieces[-1] == self._end:
                        pieces.pop()
                    elif len(pieces) < steps:
                        between_tokens.cut([number])
                    outputs = [(pieces, logprob)]
                outputs_of[number] = outputs
                progress.advance()
        if interruption is not None:
            interruption.cut(number for number in range(len(sources)) if number not in outputs_of)
        return [outputs_of.get(number, EMPTY_OUTPUT) for number in range(len(sources))]

    def _batch_tokens(self, lengths: Sequence[int]) -> int:
        """The tokens of a batch: so few that each worker has several batches, because the last ones leave the others without work."""
        share = (sum(lengths) + len(lengths)) // (self._workers * BATCHES_PER_WORKER)
        return min(FAST_BATCH_TOKENS, max(SMALLEST_FAST_BATCH, share))

    @contextmanager
    def _taking_turns(self, interruption: Interruption) -> Iterator[None]:
        """One call at a time: its clock starts when no other call's sentences are before its own."""
        while not self._turn.acquire(timeout=_LOOK_SECONDS):
            interruption.due()  # a stop signal
        try:
            interruption.start()
            yield
        finally:
            self._turn.release()

    def _answers(
        self,
        submit: Callable[[list[int]], list[tuple[int, int, Any]]],
        batches: Iterator[list[int]],
        interruption: Interruption | None,
    ) -> Iterator[tuple[int, int, Any]]:
        """The (number, steps, answer) of all batches, in order. With an interruption, few batches are submitted at a time."""
        if interruption is None:
            yield from [item for batch in batches for item in submit(batch)]
            return
        running: deque[list[tuple[int, int, Any]]] = deque()
        late = False
        while True:
            while len(running) <= self._workers and not late:
                late = interruption.due()
                batch = None if late else next(batches, None)
                if batch is None:
                    break
                running.append(submit(batch))
            if not running:
                return
            for number, steps, answer in running.popleft():
                while not answer.done():
                    interruption.due()  # a stop signal
                    time.sleep(_LOOK_SECONDS)
                yield number, steps, answer
            interruption.due()

    @cached_property
    def _mappable(self) -> bool:
        return mappable(self._bundle)

    @property
    def _translator(self) -> "ctranslate2.Translator":
        with self._opening:
            return self._opened

    @cached_property
    def _opened(self) -> "ctranslate2.Translator":
        import ctranslate2

        with ExitStack() as lock:  # nobody prunes the model before it is open
            model = str(converted(self._bundle, self._precision, lock))
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
            except (RuntimeError, MemoryError) as error:
                raise _opening_error(model, error) from None

    def _reopen_after_fork(self) -> None:
        """Open the translator anew at the next search: a forked process has none of its threads."""
        self._opening, self._turn = threading.Lock(), threading.Lock()
        if "_opened" in self.__dict__:
            _LEFT_BY_FORK.append(self.__dict__.pop("_opened"))  # its destructor would wait for those threads for ever


def _opening_error(model: str, error: Exception) -> RegardError:
    """The error of a converted model that cannot be opened: the machine is the cause, or the model and CTranslate2 do not fit."""
    reason = (str(error).splitlines() or ["out of memory"])[0]
    if is_out_of_memory(error) or _EXHAUSTED.search(reason):
        return ResourceError(
            f"{model}: CTranslate2 cannot open it now: {reason}; free some memory or raise the limits (`ulimit -a`), "
            "or use the torch engine"
        )
    return EngineError(f"{model}: CTranslate2 cannot open it: {reason}; delete it, or use the torch engine")


def _callback(interruption: Interruption) -> Callable[[object], bool]:
    """The function that CTranslate2 calls after each token of greedy search: whether the search ends here. The first starts the clock."""

    def ends(_: object) -> bool:
        interruption.start()
        try:
            return interruption.due()
        except SearchStopped:  # it must not pass through CTranslate2; `_answers` raises it
            return True

    return ends


def _after_fork() -> None:
    for search in list(_SEARCHES):
        search._reopen_after_fork()


os.register_at_fork(after_in_child=_after_fork)
