"""How to search, checked before any work is done. It knows which options go together, and searches nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import SearchError
from regard.search.options import NODE_LIMIT, Stop, check_beam, check_count, check_groups, check_sampling, stop_rule
from regard.search.ranking import LengthForm, Ranking


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """What `Model.translate` was asked for. A value out of range is a `SearchError` that names it."""

    beam: int = 5
    """Hypotheses kept at each step; 1 is greedy search. Without meaning for sampling."""
    alpha: float = 1.0
    """Exponent of the length normalisation. Exact search has none."""
    length_form: LengthForm = "power"
    """What log p is divided by: `power` is |y|^alpha, `wu` ((5 + |y|) / 6)^alpha."""
    coverage: float = 0.0
    """Weight of the penalty for source tokens that were not looked at."""
    stop: Stop = "likely"
    """When a beam ends: `likely`, `first` or `safe`."""
    nbest: int = 1
    """Hypotheses returned; samples drawn, where sampling."""
    groups: int = 1
    """Groups that the beam is divided into, each avoiding what those before it say."""
    diversity: float = 0.5
    """What a token costs a group for each earlier hypothesis that says it at the same step."""
    sample: bool = False
    """Draw from the model's distribution instead of searching for the best."""
    temperature: float = 1.0
    """Divides the logits before drawing."""
    top_k: int = 0
    """Draw among so many most probable tokens; 0: all."""
    top_p: float = 1.0
    """Draw among the fewest most probable tokens whose probabilities reach p."""
    seed: int = 0
    """Of the draws; each text draws its own numbers, whatever shares its batch."""
    mbr: int = 0
    """Draw so many samples and return the one that is most like all of them by chrF (minimum Bayes risk); 0: no."""
    exact: bool = False
    """Find the most probable output of all, from the beam's on."""
    node_limit: int = NODE_LIMIT
    """Partial outputs that an exact search may continue, for each text."""
    min_length: int = 0
    """The fewest tokens of an output."""
    max_length: int | None = None
    """The most tokens of an output; if None, 2 x source tokens + 10."""
    no_repeat: int = 0
    """No sequence of so many tokens occurs twice in an output; 0: any may."""
    suppress: Sequence[str] = ()
    """Pieces of the vocabulary that no output may have."""

    def __post_init__(self) -> None:
        Ranking(self.alpha, self.length_form, self.coverage)
        check_beam(self.beam, 1 if self.draws else self.nbest)
        stop_rule(self.stop, self.beam, 1)
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
        if isinstance(self.suppress, str):
            raise SearchError(f"suppress = {self.suppress!r}: must be a list of pieces")
        object.__setattr__(self, "suppress", tuple(self.suppress))  # so that equal options are equal
        self._check_together()

    @property
    def draws(self) -> bool:
        """Whether hypotheses are drawn rather than searched for."""
        return self.sample or self.mbr > 0

    @property
    def kind(self) -> str:
        """The option that asks for another search than a beam; `beam` where none does."""
        return (self._asked() or ["beam"])[0]

    def _asked(self) -> list[str]:
        asked = {"sample": self.sample, "mbr": self.mbr > 0, "exact": self.exact, "groups": self.groups > 1}
        return [name for name, wanted in asked.items() if wanted]

    def _check_together(self) -> None:
        asked = self._asked()
        if len(asked) > 1:
            raise SearchError(f"{asked[0]} and {asked[1]} are different searches: choose one")
        if self.coverage and (self.draws or self.exact):
            raise SearchError(f"coverage = {self.coverage:g}: {asked[0]} does not rank by it; leave it out")
        if self.exact and self.nbest > 1:
            raise SearchError(f"nbest = {self.nbest}: exact search has one answer; leave it out")
        if self.mbr and self.nbest > self.mbr:
            raise SearchError(f"nbest = {self.nbest}: above mbr = {self.mbr} samples; raise that")
