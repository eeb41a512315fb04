"""`Service`: what all routes share, at `request.app.state.service`: settings, models, the batcher, time limits, the server's state."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from regard.errors import shown
from regard.machine import usable_cores
from regard.search.interruption import SearchStopped, StopSignal
from regard.search.options import SearchOptions
from regard.serve.batching import Batcher
from regard.serve.errors import ClientGoneError, RequestError, SlowdownError, TimeLimitError, UnavailableError
from regard.serve.keys import Keys
from regard.serve.logs import Log
from regard.serve.metrics import Metrics
from regard.serve.models import Route, ServedModel, ServedModels, Step
from regard.serve.pivots import through
from regard.serve.rates import Rates
from regard.serve.served_terms import RequestTerms, check_lengths
from regard.serve.settings import ServeSettings
from regard.serve.stored_files import StoredFiles
from regard.serve.suggestions import Suggestions
from regard.serve.translation_cache import TranslationCache
from regard.serve.workers import Workers, ends_when
from regard.tasks.translate.terms.guided import Terms
from regard.tasks.translate.translation import Translation

Result = TypeVar("Result")
State = Literal["loading", "ready", "draining"]

DOCUMENTS = 4
"""Files that are translated at a time, and beside them as many requests for HTML. Their threads mostly wait for the queue."""
CLOSING_SECONDS = 5.0
"""The longest that a stopping server waits for its threads. A document that is read looks at nothing."""
LOADING_SECONDS = 5.0
"""What Retry-After says while models load or the server stops."""


class Service:
    """The models of a server, and how requests use them."""

    def __init__(self, settings: ServeSettings, paths: Sequence[Path], log: Log | None = None) -> None:
        """paths: bundles or runs, loaded by `load`."""
        self.settings = settings
        self.log = log or Log()
        self.metrics = Metrics()
        self.keys = Keys.read(settings.api_keys)
        self.rates = Rates(settings.rates)
        self.batcher = Batcher(settings.batching, settings.limits, self.metrics)
        self.state: State = "loading"
        self._paths = list(paths)
        self._models: ServedModels | None = None
        self._cache = TranslationCache(settings.cache)
        workers = settings.batching.workers or usable_cores()
        self.files = StoredFiles(settings.storage)
        self.suggestions = Suggestions(settings.suggestions)
        self._pool = Workers(workers, "work")
        self._files = Workers(DOCUMENTS, "file")
        self._fragments = Workers(DOCUMENTS, "fragment")
        self._closing = False
        self.metrics.watch(self)

    @property
    def models(self) -> ServedModels:
        """The present models. While they load, an `UnavailableError`."""
        if self._models is None:
            raise UnavailableError("the models are loading", LOADING_SECONDS)
        return self._models

    def models_of(self, request: Request | None) -> ServedModels:
        """The models that a request began with: a reload does not change them under it."""
        if request is None:
            return self.models
        if not hasattr(request.state, "models"):
            request.state.models = self.models
        models: ServedModels = request.state.models
        return models

    def load(self) -> None:
        """Load the models, all of them or none, and use them from the next request on. Blocks."""
        models = ServedModels.load(self._paths, self.settings)
        models.prepare(self.settings)
        self.use(models)

    def use(self, models: ServedModels) -> None:
        """Use these models from the next request on."""
        self._models, self._cache = models, TranslationCache(self.settings.cache)
        if self.state == "loading":
            self.state = "ready"

    def reload(self) -> None:
        """Load the models and the keys anew; if that fails, the present ones stay. Blocks."""
        began = time.monotonic()
        try:
            keys = Keys.read(self.settings.api_keys)
            self.load()
        except Exception as error:  # whatever is wrong with the new ones, the old ones serve
            self.log.event("reload failed", error=shown(error))
            return
        self.keys = keys
        self.log.event("reloaded", seconds=round(time.monotonic() - began, 3))

    def drain(self) -> None:
        """Refuse new requests from now on."""
        self.state = "draining"

    def end(self) -> None:
        """Refuse what waits, and stop what looks. What is being searched runs at most to the end of its batch."""
        self._closing = True
        self.batcher.end()

    def close(self) -> None:
        """End the worker threads. What they are doing is stopped; blocks for at most `CLOSING_SECONDS`."""
        self._closing = True
        end = time.monotonic() + CLOSING_SECONDS
        self.batcher.close(CLOSING_SECONDS)
        for pool in (self._files, self._fragments, self._pool):
            pool.close(max(0.0, end - time.monotonic()))
        self.files.close()

    def route(self, source: str, target: str, request: Request | None = None) -> Route:
        """The way from one language to another."""
        return self.models_of(request).translator(source, target)

    async def translate(
        self,
        texts: Sequence[str],
        source: str,
        target: str,
        options: SearchOptions,
        request: Request | None = None,
        *,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[str]] | None = None,
        terms: RequestTerms | None = None,
    ) -> list[Translation]:
        """One translation for each text, in order, in batches with those of other requests. A text is a sentence or a line.

        Through a third language: the middle texts are searched with one answer each, and constraints are of the last step.
        request: its time limit, and the end of its connection, cancel the work.
        """
        self.route(source, target, request)  # what the log says of languages is never a text of the client
        if request is not None:
            count(request, texts=len(texts), characters=sum(map(len, texts)), direction=f"{source}-{target}")
        work = self.search(
            texts, source, target, options, request, prefixes=prefixes, phrases=phrases, terms=terms, patient=False
        )
        return await self.while_wanted(work, request)

    async def search(
        self,
        texts: Sequence[str],
        source: str,
        target: str,
        options: SearchOptions,
        request: Request | None = None,
        *,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[str]] | None = None,
        terms: RequestTerms | None = None,
        patient: bool = True,
        stopped: StopSignal | None = None,
    ) -> list[Translation]:
        """`translate` without a time limit and without a look at the connection, for parts of a larger piece of work, which has both.

        patient: wait for room in the queue, see `Batcher.translate`. stopped: ends the search.
        """
        steps, cache = self.route(source, target, request).steps, self._cache
        step_terms = await terms_of_steps(steps, terms, texts)
        plain = not (prefixes or phrases or terms)
        cached = cache.found(steps, options, texts) if plain else [None] * len(texts)
        missing = [place for place, translation in enumerate(cached) if translation is None]
        if plain and cache.size:
            self.metrics.cache(hits=len(texts) - len(missing), misses=len(missing))
        given = [texts[place] for place in missing]
        middle: list[Translation] = []
        for step, own in zip(steps[:-1], step_terms, strict=False):
            middle = await self.batcher.translate(
                step.translator, given, replace(options, nbest=1), terms=own, cancelled=stopped, patient=patient
            )
        found = await self.batcher.translate(
            steps[-1].translator,
            [translation.text for translation in middle] if middle else given,
            options,
            prefixes=None if prefixes is None else [prefixes[place] for place in missing],
            phrases=None if phrases is None else [phrases[place] for place in missing],
            terms=step_terms[-1],
            cancelled=stopped,
            patient=patient,
        )
        found = [through(*both) for both in zip(middle, found, strict=True)] if middle else found
        if plain:
            cache.keep(steps, options, given, found)
        results = dict(zip(missing, found, strict=True))
        return [results[place] if kept is None else kept for place, kept in enumerate(cached)]

    async def run(
        self,
        model: ServedModel,
        function: Callable[[Any, StopSignal], Result],
        *,
        request: Request | None = None,
        seconds: float | None = None,
    ) -> Result:
        """`function(model.served, stopped)` in a worker thread: work that is not batched.

        `stopped` is set when the request's time is over or its client is gone: hand it to the search. What does not look at it
        ends between two activities, such as the parts of an explanation. seconds: instead of `limits.seconds`.
        """
        if request is not None:
            count(request, model=model.name)
        return await self._in_thread(self._pool, lambda stopped: function(model.served, stopped), request, seconds)

    async def run_document(
        self, function: Callable[[StopSignal], Result], request: Request | None = None, seconds: float | None = None
    ) -> Result:
        """`run` for a document, in a thread that mostly waits for the queue.

        seconds: the time limit of a file. Without it, it is a part of an ordinary request, which waits for no file.
        """
        pool = self._fragments if seconds is None else self._files
        return await self._in_thread(pool, function, request, seconds)

    async def _in_thread(
        self,
        pool: Workers,
        function: Callable[[StopSignal], Result],
        request: Request | None,
        seconds: float | None,
    ) -> Result:
        if self._closing:
            raise UnavailableError("the server is stopping", LOADING_SECONDS)
        if pool.pending >= self.settings.limits.jobs:
            raise SlowdownError("Slowdown: the queue is full")
        unwanted = False
        loop = asyncio.get_running_loop()

        def ended() -> None:
            pool.pending -= 1

        def stopped() -> bool:
            return unwanted or self._closing

        def work() -> Result:
            with ends_when(stopped):
                return function(stopped)

        pool.pending += 1
        pending = pool.submit(work)
        pending.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(ended))
        try:
            return await self.while_wanted(asyncio.wrap_future(pending), request, seconds)
        except SearchStopped:
            if self._closing:
                raise UnavailableError("the server is stopping", LOADING_SECONDS) from None
            raise
        finally:
            unwanted = True
            pending.cancel()  # it may not have begun

    async def while_wanted(
        self, work: Awaitable[Result], request: Request | None = None, seconds: float | None = None
    ) -> Result:
        """The result of some work, which is cancelled when its time is over or the client is gone.

        The body of the request must have been read. The time counts from the beginning of the request.
        """
        limit = self.settings.limits.seconds if seconds is None else seconds
        began = None if request is None else request.scope.get("regard.began")
        left = limit if began is None else max(0.0, limit - (time.monotonic() - began))
        task = asyncio.ensure_future(work)
        gone = None if request is None else asyncio.ensure_future(_disconnected(request))
        try:
            awaited: set[asyncio.Future[Any]] = {task} if gone is None else {task, gone}
            done, _ = await asyncio.wait(awaited, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if task in done:
                return task.result()
            if gone in done:
                raise ClientGoneError("the client closed the connection")
            raise TimeLimitError(f"the request took longer than {limit:g} seconds; send less at once")
        finally:
            running = [other for other in (task, gone) if other is not None and not other.done()]
            for other in running:
                other.cancel()
            if task in running:  # its place in the queue is free before the client is answered
                await asyncio.wait([task])

    def check_options(self, options: SearchOptions) -> SearchOptions:
        """The options, if they are within the limits."""
        limits = self.settings.limits
        wanted = {
            "beam": (options.beam if not options.draws else 1, limits.beam),
            "nbest": (options.nbest, max(limits.alternatives + 1, limits.beam)),
            "mbr": (options.mbr, limits.beam),
            "max_length": (options.max_length or 0, limits.max_length),
            "min_length": (options.min_length, limits.max_length),
        }
        for name, (value, most) in wanted.items():
            if value > most:
                raise RequestError(f"{name} = {value}: this server allows at most {most}")
        return options

    def check_texts(self, texts: Sequence[str]) -> None:
        """Refuse more texts, or longer ones, than a request may have."""
        limits = self.settings.limits
        self.check_count(len(texts), "texts")
        characters = sum(map(len, texts))
        if characters > limits.characters:
            raise RequestError(f"Invalid request: request ({characters}) exceeds text limit ({limits.characters})")

    def check_count(self, inputs: int, name: str) -> None:
        """Refuse more inputs than a request may have. name: what they are, of several."""
        most = self.settings.limits.batch_texts
        if inputs > most:
            raise RequestError(f"Invalid request: {inputs} {name} exceed the limit of {most} {name}")


async def terms_of_steps(
    steps: Sequence[Step], terms: RequestTerms | None, texts: Sequence[str]
) -> Sequence[Terms | None]:
    """The terms of each step of a way: the server's, and those that a request brings, which are made in a thread."""
    if terms is not None or any(step.terms for step in steps):
        check_lengths(texts)
    if terms is None:
        return [step.terms for step in steps]
    if terms.entries and len(steps) > 1:
        through = f"{steps[0].source} to {steps[-1].target} goes through {steps[0].target}"
        raise RequestError(f"glossary: {through}, where no term can be followed; leave it out")
    return await run_in_threadpool(lambda: [terms.beside(step.terms, (step.source, step.target)) for step in steps])


def count(request: Request, **values: Any) -> None:
    """Add to what the log says of a request. Numbers are added up."""
    known: dict[str, Any] = request.scope.setdefault("regard.counts", {})
    for name, value in values.items():
        known[name] = known.get(name, 0) + value if isinstance(value, int | float) else value


async def _disconnected(request: Request) -> None:
    """Returns when the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
