"""A faster engine beside the torch `Runner`: asked first, where there is one and it can do what is wanted. It knows no engine by name
but in what it says.
"""

import warnings
from collections.abc import Sequence
from typing import Protocol

from regard.engine.demands import Asked
from regard.engine.options import SearchOptions
from regard.errors import BundleError, DiskError, SearchError
from regard.search.hypothesis import Hypothesis


class FastSearch(Protocol):
    """An engine that searches as `Runner` does, where it can. It has no prefixes and no phrases."""

    def obstacle(self, options: SearchOptions, longest: int) -> str | None:
        """The option that it does not have; None: it can do what is asked. longest: the largest limit."""
        ...

    def search(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchOptions,
        batch_tokens: int,
        scores: bool,
    ) -> list[list[Hypothesis]]:
        """Up to `options.nbest` hypotheses for each source, best first.

        limits: the longest output of each, in tokens; scores: False where they may be NaN.
        """
        ...


class FastPath:
    """The way to it, open or closed."""

    def __init__(self, engine: FastSearch | None = None, *, only: bool = False) -> None:
        """only: what it cannot do is an error."""
        self._engine, self._only = engine, only

    def search(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchOptions,
        asked: Asked,
        batch_tokens: int,
        scores: bool,
    ) -> list[list[Hypothesis]] | None:
        """What the engine finds; None where there is none, or it cannot do what is asked."""
        if self._engine is None:
            return None
        missing = "prefixes and phrases" if asked else self._engine.obstacle(options, max(limits, default=0))
        if missing is not None:
            if self._only:
                raise SearchError(f"{missing}: not with engine = 'ct2'; use engine = 'torch'")
            return None
        try:
            return self._engine.search(sources, limits, options, batch_tokens, scores)
        except (BundleError, DiskError) as error:  # it could not be made ready
            if self._only:
                raise
            warnings.warn(f"{error}; translating with torch", stacklevel=2)
            self._engine = None
            return None
