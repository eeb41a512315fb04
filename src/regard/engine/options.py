"""How to search, checked before any work is done. It knows which options go together, and searches nothing."""

from dataclasses import dataclass

from regard.search.options import check_alpha, check_beam, check_sampling


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """What `Model.translate` was asked for. A value out of range is a `SearchError` that names it."""

    beam: int = 5
    """Hypotheses kept at each step; 1 is greedy search. Without meaning for sampling."""
    alpha: float = 1.0
    """Exponent of the length normalisation."""
    nbest: int = 1
    """Hypotheses returned; samples drawn, where sampling."""
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

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        check_beam(self.beam, None, 1 if self.sample else self.nbest)
        check_sampling(self.temperature, self.top_k, self.top_p, self.nbest, self.seed)
