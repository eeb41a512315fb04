"""`Batcher`: texts of concurrent requests share searches. asyncio in front, worker threads behind.

A request is a job. Its texts wait in the queue until a worker takes them, a few of each job in turn, so that a long list delays a short
request by one batch and not by its length. The texts of a list go by length, the longest first: a batch of texts of like length has less
padding, and its outputs end at about the same time. Workers that have nothing to do share what waits.

Texts share a batch if their model and options agree. What depends on the other texts of a call (sampling counts them, a time limit bounds
them all, a shortlist is of the batch) never shares one: a text's answer does not depend on who else asks.

A worker tokenizes, searches and decodes. The event loop does none of it.
"""

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Protocol

from regard.machine import usable_cores
from regard.search.interruption import BetweenBatches, SearchStopped, StopSignal
from regard.search.options import SearchOptions
from regard.serve.errors import BusyError, SlowdownError, UnavailableError
from regard.serve.jobs import Batch, Job, hand_over
from regard.serve.overload import Overload
from regard.serve.patience import Patience
from regard.serve.settings import BatchSettings, LimitSettings
from regard.serve.workers import ends_when
from regard.tasks.translate.terms.guided import Terms
from regard.tasks.translate.translation import Translation
from regard.tasks.translate.translator import Translator

FOR_LISTS = 0.75  # the share of the queue that requests of many texts may fill
_ROOM_SECONDS = 0.02  # between two looks at a full queue
_WORTH_A_WORKER = 4  # texts: fewer do not wake another worker
_WORTH_STOPPING = 0.25
"""Seconds of a batch. A shorter one runs to its end: to look between its tokens takes a third of its time."""


class BatchListener(Protocol):
    """Is told of each batch."""

    def batch(self, texts: int, source_tokens: int, target_tokens: int, seconds: float) -> None:
        """A batch of so many texts is done. Called in a worker thread."""
        ...


class Batcher:
    """The queue of texts and its workers."""

    def __init__(self, settings: BatchSettings, limits: LimitSettings, listener: BatchListener | None = None) -> None:
        self._settings, self._limits, self._listener = settings, limits, listener
        self._queue: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._waiting = 0
        self._idle = 0  # the workers that have nothing to do
        count = settings.workers or usable_cores()
        self._overload = Overload(settings, limits, count)
        self._patience = Patience(settings.delay)
        self._workers = [
            threading.Thread(target=self._work, name=f"batch-{number}", daemon=True) for number in range(count)
        ]
        for worker in self._workers:
            worker.start()

    @property
    def waiting(self) -> int:
        """The texts that no worker has taken."""
        return self._waiting

    @property
    def idle(self) -> int:
        """The workers that have nothing to do."""
        return self._idle

    async def translate(
        self,
        model: Translator,
        texts: Sequence[str],
        options: SearchOptions,
        *,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[str]] | None = None,
        terms: Terms | None = None,
        cancelled: StopSignal | None = None,
        patient: bool = False,
    ) -> list[Translation]:
        """One translation for each text, in order. model: of one direction (`Step.translator`).

        terms: a glossary and protected strings; texts share a batch only with those of the same object.
        cancelled: looked at between the tokens of a search; the task may be cancelled as well. A full queue is a `SlowdownError`;
        patient: wait for room instead, as a document does.
        """
        if not texts:
            return []
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Translation]] = loop.create_future()
        job = Job(
            model=model,
            texts=texts,
            options=options,
            prefixes=prefixes,
            phrases=phrases,
            cancelled=cancelled or _never,
            loop=loop,
            future=future,
            arrived=time.monotonic(),
            terms=terms,
        )
        while (refusal := self._enter(job)) is not None:
            if not patient or isinstance(refusal, UnavailableError):
                raise refusal
            if job.unwanted():
                raise SearchStopped
            await asyncio.sleep(_ROOM_SECONDS)
        try:
            return await future
        finally:
            if not future.done() or future.cancelled():
                self._leave(job)

    def close(self, seconds: float | None = None) -> None:
        """Let the workers finish what is queued, and end them. Call it from a thread other than theirs.

        seconds: the longest wait for them; None: until they have ended.
        """
        end = None if seconds is None else time.monotonic() + seconds
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for worker in self._workers:
            worker.join(None if end is None else max(0.0, end - time.monotonic()))

    def end(self) -> None:
        """Refuse what waits and what comes: a worker finishes at most its batch."""
        with self._changed:
            self._closed = True
            for job in list(self._queue):
                self._drop(job, UnavailableError("the server is stopping"))
            self._changed.notify_all()

    def _enter(self, job: Job) -> BusyError | None:
        """Put a job into the queue. A refusal says why there is no room."""
        with self._changed:
            if self._closed:
                return UnavailableError("the server is stopping")
            others = [other.characters for other in self._queue]
            most = self._limits.queue if len(job.texts) <= self._settings.slice else int(self._limits.queue * FOR_LISTS)
            if self._queue and self._waiting + len(job.texts) > most:
                return SlowdownError("Slowdown: the queue is full", self._overload.wait(job.characters, others))
            if (refusal := self._overload.refusal(job.characters, others)) is not None:
                return refusal
            self._queue.append(job)
            self._waiting += len(job.texts)
            self._changed.notify()
            return None

    def _leave(self, job: Job) -> None:
        """Take a job that nobody wants out of the queue."""
        with self._changed:
            job.dead = True
            if job in self._queue:
                self._queue.remove(job)
                self._waiting -= job.left

    def _work(self) -> None:
        """The loop of a worker."""
        while (batch := self._next()) is not None:
            self._run(batch)

    def _count(self, batch: Batch, tokens: tuple[int, int], seconds: float) -> None:
        """Measure a batch that is done, and tell the listener."""
        with self._changed:
            self._overload.learn(len(batch.places), batch.characters, seconds)
            self._patience.learn(len(batch.places) + self._waiting, seconds, time.monotonic())
        if self._listener is not None:
            self._listener.batch(len(batch.places), *tokens, seconds)

    def _next(self) -> Batch | None:
        """The next batch; waits for one. None: the batcher is closed, and nothing is left."""
        with self._changed:
            while True:
                while not self._queue:
                    if self._closed:
                        return None
                    self._pause()
                left = self._patience.until(self._queue[0].arrived, self._waiting) - time.monotonic()
                if left > 0 and not self._closed and not self._enough(self._queue[0]):
                    self._pause(left)
                    continue
                batch = self._take()
                if batch.places:
                    return batch

    def _pause(self, seconds: float | None = None) -> None:
        """Wait for a change of the queue. The caller has the lock."""
        self._idle += 1
        self._changed.wait(seconds)
        self._idle -= 1

    def _enough(self, first: Job) -> bool:
        """Whether there is a full batch."""
        if first.alone:
            return True
        return sum(job.left for job in self._queue if job.fits(first)) >= self._settings.texts

    def _take(self) -> Batch:
        """Some texts of the first job, and of all others that fit it, a slice of each in turn. The caller has the lock."""
        first = self._queue[0]
        jobs = [first] if first.alone else [job for job in self._queue if job.fits(first)]
        for job in [job for job in jobs if job.unwanted()]:
            self._drop(job, SearchStopped())
            jobs.remove(job)
        places: list[tuple[Job, int]] = []
        longest, full = 0, False
        most = min(
            self._settings.texts, max(_WORTH_A_WORKER, math.ceil(sum(job.left for job in jobs) / (1 + self._idle)))
        )
        turn: deque[Job] = deque(jobs)
        while turn and not full:
            job = turn.popleft()
            for _ in range(job.left if job.alone else min(job.left, self._settings.slice)):
                place = job.order[job.begun]
                wider = max(longest, len(job.texts[place]))
                if places and not job.alone:
                    full = len(places) >= most
                    if full or (len(places) + 1) * wider > self._settings.characters:
                        break
                longest = wider
                places.append((job, place))
                job.characters -= len(job.texts[place])
                job.begun += 1
            else:
                if job.left:
                    turn.append(job)
        self._waiting -= len(places)
        for job in jobs:  # those with texts left go to the end: the next batch is another's
            self._queue.remove(job)
            if job.left:
                self._queue.append(job)
        if self._queue:
            self._changed.notify()
        return Batch(places)

    def _drop(self, job: Job, error: BaseException) -> None:
        self._queue.remove(job)
        self._waiting -= job.left
        job.error = error
        job.dead = True
        hand_over([job])

    def _run(self, batch: Batch) -> None:
        """Search a batch, and hand each finished job its results."""
        began = time.monotonic()
        try:
            seconds = self._overload.seconds(batch.effort)
            tokens, results = _searched(batch, stoppable=seconds is None or seconds > _WORTH_STOPPING)
        except BaseException as error:
            jobs = batch.jobs
            if len(jobs) > 1 and not isinstance(error, SearchStopped):  # one job's error is not another's
                for job in jobs:
                    self._run(batch.of(job))
            else:
                for job in jobs:
                    self._fail(job, error)
            return
        self._count(batch, tokens, time.monotonic() - began)
        done: list[Job] = []
        for (job, place), result in zip(batch.places, results, strict=True):
            job.results[place] = result
            if len(job.results) == len(job.texts):
                done.append(job)
        hand_over(done)

    def _fail(self, job: Job, error: BaseException) -> None:
        with self._changed:
            if job in self._queue:
                self._queue.remove(job)
                self._waiting -= job.left
        job.error = job.error or error  # it may have been refused meanwhile
        hand_over([job])


def _searched(batch: Batch, *, stoppable: bool) -> tuple[tuple[int, int], list[Translation]]:
    """The number of source and target tokens, and the translation of each text. stoppable: look meanwhile whether to stop."""
    first = batch.places[0][0]
    between_tokens = first.constrained or (first.terms is None and first.model.is_interruptible(first.options))
    wanted_no_more: StopSignal = batch.unwanted if between_tokens else BetweenBatches(batch.unwanted)
    sources = first.model.read([job.texts[place] for job, place in batch.places])
    search = first.model.search_read if first.terms is None else partial(first.terms.search_read, first.model)
    looking = stoppable or first.terms is not None  # terms may need searches that take many times as long
    with ends_when(batch.unwanted) if first.terms is not None else nullcontext():
        results = search(
            sources,
            first.options,
            prefixes=[job.prefixes[place] if job.prefixes else "" for job, place in batch.places]
            if first.constrained
            else None,
            phrases=[job.phrases[place] if job.phrases else () for job, place in batch.places]
            if first.constrained
            else None,
            batch_tokens=first.model.fast_batch_tokens(
                first.options
            ),  # not so few that each core has several: these are its texts
            stopped=wanted_no_more if looking else None,
        )
    return (sum(len(source.ids) for source in sources), sum(len(result.tokens) for result in results)), results


def _never() -> bool:
    return False
