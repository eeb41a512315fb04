"""Searches with CTranslate2: the same results as the torch `Runner`, but faster. It works on ids and never imports torch.

CTranslate2 is configured to agree with our beam search (docs/decisions/0008). The maximum length is one more than the limit, for the end
mark. There is no minimum output length and no maximum input length. There is no length penalty: hypotheses are returned with log p and
ranked here. So a beam ends when k hypotheses have finished and the most probable candidate of some step was one of them.

A call has one maximum length for a batch of sentences of similar length. A result within its own sentence's limit is the result of that
sentence alone; the other sentences are searched again with their own limit.

A time limit or a stop signal is looked at between the tokens of greedy search. A beam of CTranslate2 cannot be interrupted, so `FastPath`
prefers torch for it. Where there is no torch, such calls take turns and are searched sentence by sentence. At the time limit the sentences
that run are awaited; a stop signal leaves them behind, at most one more than there are workers. A signal that may wait for batches
(`BetweenBatches`) changes no engine and no batch: no further one is submitted, and the call ends when those that run have ended.

Shapes: k hypotheses.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from operator import attrgetter
from typing import Any

from regard.bundle.config import AlignmentConfig
from regard.bundle.ct2_alignment import AttendedHeads, attended_heads
from regard.bundle.ctranslate2 import mappable, reach, shown_heads
from regard.bundle.opened import OpenBundle
from regard.bundle.precision import Precision
from regard.engine.batching import batches_of_one_limit, fast_batch_tokens, length_batches
from regard.engine.ct2_attention import Attention, forced_attention
from regard.engine.ct2_model import ConvertedModel
from regard.engine.ct2_scoring import forced_scores
from regard.engine.fast import Forced, Found
from regard.machine import usable_cores
from regard.search.hypothesis import Hypothesis, best_first, make_hypothesis
from regard.search.interruption import Interruption, SearchStopped
from regard.search.options import FIELDS, SearchOptions, default_of
from regard.search.ranking import Ranking

Ids = Sequence[int]
Outputs = list[tuple[list[str], float]]
"""Hypotheses as pieces and log p, the most probable first."""
_Submitted = tuple[list[int], int, Sequence[Any]]
"""The sentences of a batch, the steps of its search at most, and CTranslate2's answers, which may not be there yet."""

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
_torch_values = attrgetter(*ONLY_TORCH)
_TORCH_DEFAULTS = tuple(map(default_of, ONLY_TORCH))
UNSCORED = (math.nan,)
BATCHES_PER_WORKER = 6
ENOUGH_TOKENS = 1024  # source tokens: smaller batches are slower, and wanted only where each worker gets one
SMALLEST_FAST_BATCH = 512
_LOOK_SECONDS = 0.002
EMPTY_OUTPUT: Outputs = [([], 0.0)]
"""The output of a sentence whose search the time limit ended before it began."""


class Ct2Search:
    """A converted bundle, loaded at the first search, with one single-threaded worker per core."""

    def __init__(self, bundle: OpenBundle, precision: Precision, workers: int | None = None) -> None:
        self._bundle, self._precision, self._workers = bundle, precision, workers or usable_cores()
        self._model = ConvertedModel(bundle, precision, self._workers)
        self._attending: dict[AttendedHeads, ConvertedModel] = {shown_heads(bundle): self._model}
        self._reach = reach(bundle.config)
        self._reads_end = getattr(bundle.config.model, "source_end", True)
        self._pieces = bundle.tokenizers.source.vocabulary.pieces
        self._target_pieces = bundle.tokenizers.target.vocabulary.pieces
        self._outputs = len(self._target_pieces) - 1  # without pad
        self._end = bundle.tokenizers.target.vocabulary.marks.end
        self._ids_of = bundle.tokenizers.target.vocabulary.ids_of

    def obstacle(self, options: SearchOptions, longest: int) -> str | None:
        """An option, as name = value, that CTranslate2 does not support; None: it supports all. longest: the largest limit."""
        values = _torch_values(options)
        if values != _TORCH_DEFAULTS:
            other = zip(ONLY_TORCH, values, _TORCH_DEFAULTS, strict=True)
            return next(f"{name} = {value!r}" for name, value, default in other if value != default)
        if options.shortlist and not self._mappable:
            return "shortlist = True over pieces with spaces"
        if 2 * options.beam > self._outputs:
            return f"beam = {options.beam} over {self._outputs} pieces"
        if longest + 1 > self._reach:
            return f"max_length = {longest}"
        return None

    def interruptible(self, options: SearchOptions) -> bool:
        """Whether such a search can end between tokens: greedy search has a callback."""
        return options.beam == 1

    def prepare(self) -> None:
        """Convert the bundle if that was not done before, and open it."""
        _ = self._model.translator

    def search(
        self,
        sources: Sequence[Ids],
        limits: Sequence[int],
        options: SearchOptions,
        batch_tokens: int | None,
        scores: bool = True,
        interruption: Interruption | None = None,
    ) -> Iterator[Found]:
        """Up to `options.nbest` hypotheses for each source, best first. limits: the maximum output length of each, in tokens.

        They come as soon as they are there, so that the caller works while the other batches are searched.
        scores=False: scores may be NaN. Greedy search then computes no probabilities, which saves a tenth of its time.
        """
        unscored = options.beam == 1 and not scores
        found = (self._unscored if unscored else self._scored)(sources, limits, options, batch_tokens, interruption)
        if interruption is None:
            return found
        results = dict(found)
        return enumerate(interruption.marked([results[number] for number in range(len(sources))]))

    def scores(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> bool:
        """Whether it has positions for the longest target and its end mark, and something to read of every source.

        CTranslate2 gives a log p of 0 to every token whose source is empty, as a blank line is for a model that reads no end mark.
        """
        longest = max(map(len, targets), default=0)
        return longest + 1 <= self._reach and (self._reads_end or all(map(len, sources)))

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids], batch_tokens: int) -> Iterator[Forced]:
        """log p of each token of each target and of the end mark, by teacher forcing, in the precision of the model."""
        pieces = self._pieces, self._target_pieces
        return forced_scores(self._model.translator, pieces, sources, targets, batch_tokens)

    def attention_obstacle(self, how: AlignmentConfig, longest: int) -> str | None:
        """The part of such an alignment that CTranslate2 does not show; None: it shows it. longest: the tokens of the longest target."""
        chosen = attended_heads(how, self._bundle.config.model)
        if isinstance(chosen, str):
            return chosen
        return f"{longest} tokens" if longest + 1 > self._reach else None

    def attention(
        self, sources: Sequence[Ids], targets: Sequence[Ids], how: AlignmentConfig, batch_tokens: int
    ) -> Iterator[Attention]:
        """The mean attention [T, S] of the heads of an alignment, by teacher forcing, in the precision of the model.

        Other heads than those by which the bundle aligns are those of another conversion.
        """
        chosen = attended_heads(how, self._bundle.config.model)
        assert not isinstance(chosen, str), "`attention_obstacle` refuses it"
        if chosen not in self._attending:
            self._attending[chosen] = ConvertedModel(self._bundle, self._precision, self._workers, chosen)
        pieces = self._pieces, self._target_pieces
        return forced_attention(self._attending[chosen].translator, pieces, sources, targets, batch_tokens)

    def _scored(
        self,
        sources: Sequence[Ids],
        limits: Sequence[int],
        options: SearchOptions,
        batch_tokens: int | None,
        interruption: Interruption | None,
    ) -> Iterator[Found]:
        ranking = Ranking(options.alpha)
        beyond: dict[int, Outputs] = {}  # the sentences whose results exceed their limit
        for number, outputs in self._ask(sources, limits, options, batch_tokens, interruption, everything=False):
            limit = limits[number]
            if interruption is not None and interruption.was_cut(number):
                yield number, self._cut_at(limit, [], outputs, ranking, options.nbest)
            elif all(len(pieces) <= limit for pieces, _ in outputs):
                yield number, self._ranked(outputs, [], ranking, options.nbest)
            else:
                beyond[number] = outputs
        if not beyond:
            return
        own = [sources[number] for number in beyond], [limits[number] for number in beyond]
        further = None if interruption is None else interruption.of_batch()
        again = self._search_to(*own, options, batch_tokens, further)
        for place, (number, hypotheses) in enumerate(zip(beyond, again, strict=True)):
            if interruption is not None and further is not None and further.was_cut(place):
                finished = [output for output in beyond[number] if len(output[0]) <= limits[number]]
                interruption.cut([number])
                yield number, self._cut_at(limits[number], finished, beyond[number], ranking, options.nbest)
            else:
                yield number, hypotheses

    def _cut_at(
        self, limit: int, finished: Outputs, outputs: Outputs, ranking: Ranking, nbest: int
    ) -> list[Hypothesis]:
        """The hypotheses of a sentence whose search was interrupted: finished ones first, then the beginnings of the others."""
        cut = [(pieces[:limit], logprob) for pieces, logprob in outputs if (pieces, logprob) not in finished]
        return self._ranked(finished, cut, ranking, nbest)

    def _search_to(
        self,
        sources: list[Ids],
        limits: list[int],
        options: SearchOptions,
        batch_tokens: int | None,
        interruption: Interruption | None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of sentences that reach their limits: finished ones first, then those cut at the limit.

        All are asked for at once: what finishes within the limit, and what goes on there. Greedy search has nothing that finishes.
        """
        count, shorter, ranking = len(sources), [limit - 1 for limit in limits], Ranking(options.alpha)
        ended: list[Outputs] = [[]] * count
        if options.beam == 1:
            answers = dict(self._ask(sources, shorter, options, batch_tokens, interruption, everything=True))
            cut = [answers[place] for place in range(count)]
        else:
            wanted = [*sources] * 2, limits + shorter
            answers = dict(self._ask(*wanted, options, batch_tokens, interruption, everything=True))
            ended, cut = [[answers[start + place] for place in range(count)] for start in (0, count)]
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
            results.append(self._ranked(finished[: options.beam], going, ranking, options.nbest))
        return results

    def _unscored(
        self,
        sources: Sequence[Ids],
        limits: Sequence[int],
        options: SearchOptions,
        batch_tokens: int | None,
        interruption: Interruption | None,
    ) -> Iterator[Found]:
        """Greedy search. Its tokens do not depend on the limit, so a longer output is simply cut at the limit."""
        asked = self._ask(sources, limits, options, batch_tokens, interruption, everything=False, scores=False)
        for number, [(pieces, _)] in asked:
            finished = len(pieces) <= limits[number]
            ids = self._ids_of(pieces if finished else pieces[: limits[number]])
            finished = finished and not (interruption is not None and interruption.was_cut(number))
            yield number, [Hypothesis(ids, math.nan, math.nan, finished)]

    def _ranked(self, finished: Outputs, cut: Outputs, ranking: Ranking, nbest: int) -> list[Hypothesis]:
        """The `nbest` best. Only these are made of pieces: a beam has several times as many."""
        ended, outputs = len(finished), [*finished, *cut]
        order: Sequence[int] = range(len(outputs))
        if len(outputs) > nbest:
            scores = [ranking.score(logprob, len(pieces)) for pieces, logprob in outputs]
            if not any(map(math.isnan, scores)):  # `make_hypothesis` refuses NaN
                order = sorted(order, key=lambda place: (place >= ended, -scores[place]))[:nbest]
        hypotheses = []
        for place in order:
            pieces, logprob = outputs[place]
            ids = self._ids_of(pieces)
            hypotheses.append(make_hypothesis(ids, logprob, ranking=ranking, finished=place < ended))
        return best_first(hypotheses) if len(hypotheses) > 1 else hypotheses

    def _ask(
        self,
        sources: Sequence[Ids],
        limits: Sequence[int],
        options: SearchOptions,
        batch_tokens: int | None,
        interruption: Interruption | None,
        *,
        everything: bool,  # return all hypotheses that finish or reach the limit; the search stops only there
        scores: bool = True,  # else NaN
    ) -> Iterator[tuple[int, Outputs]]:
        """The number of each source and its hypotheses, of at most one token more than the largest limit of their batch."""
        if not sources:
            return  # a search for nothing checks the options: it opens no model
        likeliest_only = options.alpha == 0.0 and options.nbest == 1
        between_tokens = interruption if options.beam == 1 else None
        piece_of, translator = self._pieces.__getitem__, self._model.translator

        def submit(batch: list[int]) -> _Submitted:
            steps = max([limits[number] for number in batch]) + 1
            patience = steps + 1 if everything and options.beam > 1 else 1  # more than can ever finish
            answers = translator.translate_batch(
                [[*map(piece_of, sources[number])] for number in batch],
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
            return batch, steps, answers

        kept = [options.beam * (limit + 1) for limit in limits]
        lengths = [len(ids) for ids in sources]
        fastest = self.batch_tokens(options)
        tokens = min(fastest, self._enough_for_all(lengths) if batch_tokens is None else batch_tokens)
        batches = length_batches(lengths, tokens, kept)
        if everything:  # a batch has one limit
            batches = batches_of_one_limit(limits, lengths, tokens, kept)
        turn: AbstractContextManager[None] = nullcontext()
        if interruption is not None and between_tokens is None and not interruption.waits_for_batches:
            batches, turn = ([number] for number in range(len(sources))), self._taking_turns(interruption)
        answered: set[int] = set()
        with turn:
            for numbers, steps, answers in self._answers(submit, batches, interruption):
                for number, answer in zip(numbers, answers, strict=True):
                    result = answer.result()
                    outputs = [*zip(result.hypotheses, result.scores if scores else UNSCORED, strict=True)]
                    if between_tokens is not None:
                        pieces = outputs[0][0]
                        if pieces and pieces[-1] == self._end:
                            pieces.pop()
                        elif len(pieces) < steps:
                            between_tokens.cut([number])
                    yield number, outputs
                answered.update(numbers)
        if interruption is not None:
            left = [number for number in range(len(sources)) if number not in answered]
            interruption.cut(left)
            yield from ((number, EMPTY_OUTPUT) for number in left)

    def batch_tokens(self, options: SearchOptions) -> int:
        """The source tokens of a batch that are searched fastest."""
        return fast_batch_tokens(options.beam, self._precision, shortlist=options.shortlist)

    def _enough_for_all(self, lengths: Sequence[int]) -> int:
        """The tokens of a batch: so few that each worker has several batches, because the last ones leave the others without work."""
        total = sum(lengths) + len(lengths)
        enough = min(ENOUGH_TOKENS, total // self._workers)
        return max(total // (self._workers * BATCHES_PER_WORKER), enough, SMALLEST_FAST_BATCH)

    @contextmanager
    def _taking_turns(self, interruption: Interruption) -> Iterator[None]:
        """One call at a time: its clock starts when no other call's sentences are before its own."""
        while not self._model.turn.acquire(timeout=_LOOK_SECONDS):
            interruption.due()  # a stop signal
        try:
            interruption.start()
            yield
        finally:
            self._model.turn.release()

    def _answers(
        self, submit: Callable[[list[int]], _Submitted], batches: Iterator[list[int]], interruption: Interruption | None
    ) -> Iterator[_Submitted]:
        """The answers of all batches, in order. With an interruption, few batches are submitted at a time."""
        if interruption is None:
            yield from [submit(batch) for batch in batches]
            return
        running: deque[_Submitted] = deque()
        late = False
        try:
            while True:
                while len(running) <= self._workers and not late:
                    late = interruption.due()
                    if late or (batch := next(batches, None)) is None:
                        break
                    running.append(submit(batch))
                if not running:
                    return
                for answer in running[0][2]:
                    while not answer.done():
                        interruption.due()  # a stop signal
                        time.sleep(_LOOK_SECONDS)
                yield running.popleft()
                interruption.due()
        finally:
            if interruption.waits_for_batches:  # else those who stop one call after the other fill CTranslate2's queue
                while any(not answer.done() for _, _, answers in running for answer in answers):
                    time.sleep(_LOOK_SECONDS)

    @cached_property
    def _mappable(self) -> bool:
        return mappable(self._bundle)


def _callback(interruption: Interruption) -> Callable[[object], bool]:
    """The function that CTranslate2 calls after each token of greedy search: whether the search ends here. The first starts the clock."""

    def ends(_: object) -> bool:
        interruption.start()
        try:
            return interruption.due()
        except SearchStopped:  # it must not pass through CTranslate2; `_answers` raises it
            return True

    return ends
