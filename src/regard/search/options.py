"""`SearchOptions`: the options of all searches, checked when they are created. The command line flags are made from its fields.

To add an option: add a field and its line in `SearchKeywords` here, implement it in its search, and pass it on in `run.py`. No torch.
"""

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import lru_cache
from numbers import Real
from typing import Any, TypedDict, TypeVar, Unpack

from regard.errors import InputTypeError, SearchError
from regard.search.checks import (
    LARGEST_ALPHA,
    LARGEST_TEMPERATURE,
    NODE_LIMIT,
    check_beam,
    check_count,
    check_groups,
    check_sampling,
)
from regard.search.ranking import LengthForm, Ranking
from regard.search.stopping import Stop, stop_rule


def about(
    help: str, *, metavar: str | None = None, only_for: tuple[str, ...] = (), most: float | None = None
) -> Mapping[str, Any]:
    """Metadata of a field: its help text, its metavar on the command line, and the options that it needs to have an effect.

    most: the largest value, which the help text states; of a list, the largest number of entries.
    """
    if most is not None:
        help = f"{help} At most {int(most):,}."
    return {"help": help, "metavar": metavar, "only_for": only_for, "most": most}


SAMPLING = ("sample", "mbr")
MOST_HYPOTHESES = 1_000  # of one text: a beam, or samples
LONGEST_OUTPUT = 10_000  # tokens
MOST_POSITIONS = 1 << 18
"""The most hypotheses of one text times their longest length: what a search keeps in memory for each position, it keeps so often."""


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The options of a search. A value out of range is a `SearchError` that names it."""

    beam: int = field(default=5, metadata=about("Hypotheses kept at each step; 1 is greedy.", most=MOST_HYPOTHESES))
    alpha: float = field(default=1.0, metadata=about("Scores are divided by length^alpha.", most=LARGEST_ALPHA))
    length_form: LengthForm = field(default="power", metadata=about("power: |y|^alpha; wu: ((5 + |y|) / 6)^alpha."))
    coverage: float = field(
        default=0.0, metadata=about("Weight of the penalty for source tokens not looked at; 0: none.", most=1_000)
    )
    stop: Stop = field(default="likely", metadata=about("When a beam ends: likely, first (as many toolkits) or safe."))
    stop_after: int | None = field(
        default=None,
        metadata=about("A beam ends when N hypotheses have finished, instead of by --stop.", metavar="N", most=10_000),
    )
    nbest: int = field(
        default=1,
        metadata=about("The N best, printed as `line ||| text ||| F0=logprob ||| score`.", most=MOST_HYPOTHESES),
    )  # where sampling, the samples drawn
    groups: int = field(
        default=1, metadata=about("Diverse beam: groups that avoid each other's tokens.", most=MOST_HYPOTHESES)
    )
    diversity: float = field(
        default=0.5,
        metadata=about("For --groups: what a token of an earlier group costs.", only_for=("groups",), most=1_000),
    )
    sample: bool = field(default=False, metadata=about("Draw from the model instead of searching."))
    temperature: float = field(
        default=1.0,
        metadata=about("For sampling: below 1 sharper, above 1 flatter.", only_for=SAMPLING, most=LARGEST_TEMPERATURE),
    )
    top_k: int = field(
        default=0,
        metadata=about("For sampling: only the k likeliest tokens; 0: all.", only_for=SAMPLING, most=1_000_000),
    )
    top_p: float = field(
        default=1.0,
        metadata=about("For sampling: only the likeliest tokens that make up p.", only_for=SAMPLING, most=1),
    )
    seed: int = field(
        default=0, metadata=about("For sampling: the random numbers.", most=2**64 - 1)
    )  # each text draws its own numbers, whatever its batch
    mbr: int = field(
        default=0,
        metadata=about("Draw N, print the one most like all of them (chrF); 0: no.", metavar="N", most=MOST_HYPOTHESES),
    )
    exact: bool = field(default=False, metadata=about("The most probable output of all; reports on stderr."))
    node_limit: int = field(
        default=NODE_LIMIT,
        metadata=about("For --exact: partial outputs continued, per line.", only_for=("exact",), most=100_000),
    )
    exhaustive: bool = field(
        default=False, metadata=about("The best of all outputs, each of them scored; needs a small --max-length.")
    )
    min_length: int = field(default=0, metadata=about("Shortest output in tokens.", most=LONGEST_OUTPUT))
    max_length: int | None = field(
        default=None, metadata=about("Longest output in tokens.", most=LONGEST_OUTPUT)
    )  # None: 2 x source tokens + 10
    no_repeat: int = field(
        default=0, metadata=about("No N tokens occur twice in the same order; 0: they may.", metavar="N", most=1_000)
    )
    suppress: Sequence[str] = field(
        default=(), metadata=about("Never said; may be repeated.", metavar="PIECE", most=1_000)
    )
    shortlist: bool = field(
        default=False, metadata=about("Only pieces that the source's may become (`regard shortlist`): faster.")
    )
    time_limit: float | None = field(
        default=None,
        metadata=about(
            "Seconds for the lines that are searched together; then the best so far is printed.",
            metavar="S",
            most=86_400,
        ),
    )

    @classmethod
    def of(cls, keywords: "SearchKeywords", beside: Sequence[str] = ()) -> "SearchOptions":
        """The options of these keywords. An unknown one is refused with the nearest name, which may be one of `beside`."""
        for name in keywords:
            if name not in FIELDS:
                near = difflib.get_close_matches(name, [*FIELDS, *beside], n=1, cutoff=0.5)
                advice = f"did you mean {near[0]}?" if near else f"the options are {', '.join(FIELDS)}"
                raise InputTypeError(f"{name} is no search option; {advice}")
        try:
            return _checked(**keywords)
        except TypeError:  # a list cannot be a key of the cache
            pass
        return cls(**keywords)

    def __post_init__(self) -> None:
        self._check_types()
        Ranking(self.alpha, self.length_form, self.coverage)
        self._check_bounds()
        by_width = (
            not self.draws and not self.exhaustive and not self.exact and self.stop_after is None
        )  # the beam gives the n best
        check_beam(self.beam, self.nbest if by_width else 1)
        stop_rule(self.stop, self.beam, 1)
        if self.stop_after is not None:
            stop_rule(self.stop, self.beam, self.nbest, self.stop_after)
        check_groups(self.beam, self.groups, self.diversity)
        check_sampling(self.temperature, self.top_k, self.top_p, self.nbest, self.seed)
        check_count("mbr", self.mbr, least=0)
        check_count("node_limit", self.node_limit)
        check_count("min_length", self.min_length, least=0)
        check_count("no_repeat", self.no_repeat, least=0)
        if self.max_length is not None:
            check_count("max_length", self.max_length)
            if self.min_length > self.max_length:
                raise SearchError(f"min_length = {self.min_length}: above max_length = {self.max_length}")
        seconds = self.time_limit
        if seconds is not None and not (isinstance(seconds, int | float) and math.isfinite(seconds) and seconds > 0.0):
            raise SearchError(f"time_limit = {self.time_limit!r}: must be a number of seconds above 0")
        object.__setattr__(self, "suppress", tuple(self.suppress))  # so that equal options are equal
        self._check_together()

    @property
    def draws(self) -> bool:
        """Whether hypotheses are sampled."""
        return self.sample or self.mbr > 0

    @property
    def kind(self) -> str:
        """The kind of search: the name of the option that selects it, or `beam`."""
        return (self._kinds() or ["beam"])[0]

    @property
    def width(self) -> int:
        """The most hypotheses of one text that are kept at once."""
        return (self.mbr or self.nbest) if self.draws else self.beam

    def _check_types(self) -> None:
        """Refuse what is no number where the default is one, what is no bool, and what is no list. Whole numbers: `check_count`."""
        if isinstance(self.suppress, str) or not isinstance(self.suppress, Sequence):
            raise SearchError(f"suppress = {self.suppress!r}: must be a list of pieces")
        for name, option in FIELDS.items():
            value, kind = getattr(self, name), type(option.default)
            if kind is float and (isinstance(value, bool) or not isinstance(value, Real)):
                raise SearchError(f"{name} = {value!r}: must be a number")
            if kind is bool and not isinstance(value, bool):
                raise SearchError(f"{name} = {value!r}: must be True or False")

    def _check_bounds(self) -> None:
        """Refuse values above the bounds of their fields, before anything is computed from them."""
        for name, option in FIELDS.items():
            value, most = getattr(self, name), option.metadata["most"]
            size = len(value) if name == "suppress" else value
            if most is not None and isinstance(size, int | float) and size > most:
                raise SearchError(f"{name} = {value!r}: must be at most {int(most):,}")

    def _kinds(self) -> list[str]:
        kinds = {
            "sample": self.sample,
            "mbr": self.mbr > 0,
            "exact": self.exact,
            "exhaustive": self.exhaustive,
            "groups": self.groups > 1,
        }
        return [name for name, wanted in kinds.items() if wanted]

    def _check_together(self) -> None:
        kinds = self._kinds()
        if len(kinds) > 1:
            raise SearchError(f"{kinds[0]} and {kinds[1]} are different searches: choose one")
        if self.coverage and self.kind not in ("beam", "groups"):
            raise SearchError(f"coverage = {self.coverage:g}: {kinds[0]} does not rank by it; leave it out")
        if self.stop_after is not None and self.kind != "beam":
            raise SearchError(f"stop_after = {self.stop_after}: only a beam ends by it, not {kinds[0]}; leave it out")
        if self.stop_after is not None and self.stop != default_of("stop"):
            raise SearchError(f"stop = {self.stop!r}: stop_after = {self.stop_after} says when a beam ends; choose one")
        if self.exact and self.nbest > 1:
            raise SearchError(f"nbest = {self.nbest}: exact search has one answer; leave it out")
        if self.mbr and self.nbest > self.mbr:
            raise SearchError(f"nbest = {self.nbest}: above mbr = {self.mbr} samples; raise that")
        longest = max(self.min_length, self.max_length or 0)
        if self.width * (longest + 1) > MOST_POSITIONS:
            name = "min_length" if self.max_length is None else "max_length"
            raise SearchError(
                f"{name} = {longest}: with {self.width:,} hypotheses a text takes more than {MOST_POSITIONS:,} tokens in memory; "
                f"lower it to {MOST_POSITIONS // self.width - 1}, or keep fewer hypotheses"
            )
        if names := given_in_vain(vars(self)):
            given = next(name for name in names if getattr(self, name) != default_of(name))
            needed = " or ".join(f"{name}=" for name in FIELDS[given].metadata["only_for"])
            raise SearchError(
                f"{given} = {getattr(self, given)!r}: has no effect without {needed}; add it, or leave {given} out"
            )
        if self.exhaustive and self.max_length is None:
            raise SearchError(
                "exhaustive search scores every output: give a small max_length; "
                "1 if the vocabulary has thousands of pieces, 3 if it has some dozens"
            )


class SearchKeywords(TypedDict, total=False):
    """The fields of `SearchOptions` as keywords: `def translate(.., **options: Unpack[SearchKeywords])`. A test binds the two."""

    beam: int
    alpha: float
    length_form: LengthForm
    coverage: float
    stop: Stop
    stop_after: int | None
    nbest: int
    groups: int
    diversity: float
    sample: bool
    temperature: float
    top_k: int
    top_p: float
    seed: int
    mbr: int
    exact: bool
    node_limit: int
    exhaustive: bool
    min_length: int
    max_length: int | None
    no_repeat: int
    suppress: Sequence[str]
    shortlist: bool
    time_limit: float | None


@lru_cache(maxsize=64, typed=True)
def _checked(**keywords: Unpack[SearchKeywords]) -> SearchOptions:
    """The options of these keywords. The checks take as long as a part of a short sentence, and callers repeat their options."""
    return SearchOptions(**keywords)


FIELDS: dict[str, "Field[Any]"] = {option.name: option for option in fields(SearchOptions)}
"""The options by name, in the order in which help shows them."""


def default_of(name: str) -> Any:
    """The default value of an option."""
    return FIELDS[name].default


def given_in_vain(options: Mapping[str, Any]) -> list[str]:
    """The given options that have no effect, because no option selects their search. All are of the same kind of search."""
    for only_for in dict.fromkeys(option.metadata["only_for"] for option in FIELDS.values()):
        if only_for and not any(options.get(name, default_of(name)) != default_of(name) for name in only_for):
            names = [name for name, option in FIELDS.items() if option.metadata["only_for"] == only_for]
            if any(options.get(name, default_of(name)) != default_of(name) for name in names):
                return names
    return []


Function = TypeVar("Function", bound=Callable[..., Any])


def lists_options(function: Function) -> Function:
    """A decorator for a function or class with the options as keywords: its docstring names each with its default and meaning."""
    lines = (
        f"    {name} = {field.default!r}: {_as_keywords(field.metadata['help'])}" for name, field in FIELDS.items()
    )
    function.__doc__ = "\n".join([(function.__doc__ or "").rstrip(), "", "Options of the search:", *lines])
    return function


def _as_keywords(help: str) -> str:
    """A help text with the names of flags as keywords: `--stop-after` becomes `stop_after`."""
    return re.sub(r"--([a-z][a-z-]*)", lambda match: match[1].replace("-", "_"), help)


lists_options(SearchOptions)
