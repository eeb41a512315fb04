"""`Job`: the texts of one request in the queue; `Batch`: texts of several that are searched together. No threads are here."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from regard.search.interruption import StopSignal
from regard.search.options import SearchOptions, default_of
from regard.tasks.translate.terms.guided import Terms
from regard.tasks.translate.translation import Translation
from regard.tasks.translate.translator import Translator

_CHARACTERS_OF_TOKEN = 3  # of the source, for each token of the output that an option asks for


@dataclass(eq=False)
class Job:
    """The texts of one request."""

    model: Translator
    texts: Sequence[str]
    options: SearchOptions
    prefixes: Sequence[str] | None
    phrases: Sequence[Sequence[str]] | None
    cancelled: StopSignal
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[list[Translation]]"
    """Gets the results, or the error, in the event loop."""
    arrived: float
    terms: Terms | None = None
    """What its translations keep and say."""
    begun: int = 0
    """The texts that workers have taken."""
    results: dict[int, Translation] = field(default_factory=dict)
    error: BaseException | None = None
    dead: bool = False
    """Nobody waits for it."""
    order: Sequence[int] = field(init=False)
    """The places of its texts, in the order in which workers take them."""
    characters: int = field(init=False)
    """The characters of texts that no worker has taken."""

    def __post_init__(self) -> None:
        self.characters = sum(map(len, self.texts))
        places = range(len(self.texts))
        self.order = places if self.alone else sorted(places, key=lambda place: -len(self.texts[place]))

    @property
    def alone(self) -> bool:
        """Whether its answers would depend on the other texts of its batch."""
        options = self.options
        return options.draws or options.shortlist or options.time_limit is not None

    def fits(self, other: "Job") -> bool:
        """Whether both may share a batch."""
        return (
            self.model is other.model
            and self.options == other.options
            and not (self.alone or other.alone)
            and self.constrained == other.constrained
            and self.terms is other.terms
        )

    @property
    def constrained(self) -> bool:
        return bool(self.prefixes or self.phrases)

    @property
    def left(self) -> int:
        """Its texts that no worker has taken."""
        return len(self.texts) - self.begun

    def unwanted(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.dead or self.cancelled()


@dataclass
class Batch:
    """Texts that are searched together: places of jobs."""

    places: list[tuple[Job, int]]

    @property
    def jobs(self) -> list[Job]:
        return list(dict.fromkeys(job for job, _ in self.places))

    def of(self, job: Job) -> "Batch":
        """The part of one job."""
        return Batch([place for place in self.places if place[0] is job])

    @property
    def characters(self) -> int:
        return sum(len(job.texts[place]) for job, place in self.places)

    @property
    def effort(self) -> float:
        """The characters that an ordinary search takes as long for."""
        options = self.places[0][0].options
        return effort(self.characters, len(self.places), options)

    def unwanted(self) -> bool:
        return all(job.unwanted() for job in self.jobs)


def effort(characters: int, texts: int, options: SearchOptions) -> float:
    """The characters of an ordinary search that takes as long as this one, at least: short texts may have long outputs."""
    if options.exact or options.exhaustive:
        return math.inf  # they grow with the number of outputs
    written = max(characters, _CHARACTERS_OF_TOKEN * options.min_length * texts)
    usual: int = default_of("beam")
    return written * max(1.0, options.width / usual, options.nbest / usual)


def hand_over(jobs: Sequence[Job]) -> None:
    """Give the results of jobs to those who wait. An event loop is woken once for all of its jobs, which costs as much as for one."""
    for loop in dict.fromkeys(job.loop for job in jobs):
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle, [job for job in jobs if job.loop is loop])


def _settle(jobs: Sequence[Job]) -> None:
    """Settle the futures of jobs, in their event loop."""
    for job in jobs:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result([job.results[place] for place in range(len(job.texts))])
