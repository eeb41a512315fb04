"""`FastPath`: an optional faster engine beside the torch `Runner`, used for the searches that it supports.

The error for an unsupported search names the option that prevents it. No engine is hard-coded by name.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from regard.bundle.config import AlignmentConfig
from regard.engine.constraints import TextConstraints
from regard.errors import DiskError, EngineError, ResourceError, SearchError
from regard.extras import is_installed, require
from regard.search.hypothesis import Hypothesis
from regard.search.interruption import Interruption
from regard.search.options import SearchOptions

if TYPE_CHECKING:
    from regard.engine.ct2_attention import Attention

Found = tuple[int, list[Hypothesis]]
"""The number of a source, and its hypotheses."""
Forced = tuple[int, list[float]]
"""The number of a pair, and log p of each of its target's tokens and of the end mark."""


class FastSearch(Protocol):
    """An engine with the same results as `Runner`, for some search options. It supports no prefixes and no phrases."""

    def obstacle(self, options: SearchOptions, longest: int) -> str | None:
        """An option that it does not support; None: it supports this search. longest: the largest limit."""
        ...

    def interruptible(self, options: SearchOptions) -> bool:
        """Whether a time limit or a stop signal can end such a search between its tokens."""
        ...

    def batch_tokens(self, options: SearchOptions) -> int:
        """The source tokens of a batch that it searches fastest."""
        ...

    def prepare(self) -> None:
        """Load or convert the model now. Raises a `BundleError`, `DiskError` or `ResourceError` if that is not possible."""
        ...

    def search(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchOptions,
        batch_tokens: int | None,
        scores: bool,
        interruption: Interruption | None = None,
    ) -> Iterator[Found]:
        """Up to `options.nbest` hypotheses for each source, best first, as soon as they are there.

        limits: the maximum output length of each, in tokens; batch_tokens: source tokens of a batch, None: the engine chooses.
        scores=False: scores may be NaN.
        interruption: looked at as often as the engine can.
        """
        ...

    def scores(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> bool:
        """Whether it can score all of these targets, which are without end marks, as torch does."""
        ...

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], batch_tokens: int
    ) -> Iterator[Forced]:
        """log p of each token of each target and of the end mark, by teacher forcing."""
        ...

    def attention_obstacle(self, how: AlignmentConfig, longest: int) -> str | None:
        """The part of such an alignment that it does not show; None: it shows it. longest: the tokens of the longest target."""
        ...

    def attention(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        how: AlignmentConfig,
        batch_tokens: int,
    ) -> "Iterator[Attention]":
        """The mean attention of the heads of an alignment, a row for each token of each target and one for the end mark."""
        ...


class FastPath:
    """Uses a faster engine if there is one and it supports the search."""

    def __init__(self, engine: FastSearch | None = None, *, only: bool = False) -> None:
        """only: an unsupported search is an error."""
        self._engine, self._only = engine, only

    def search(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchOptions,
        constraints: TextConstraints,
        batch_tokens: int | None,
        scores: bool,
        interruption: Interruption | None = None,
    ) -> Iterator[Found] | None:
        """The engine's hypotheses; None if there is no engine or it does not support this search."""
        engine = self._engine
        if engine is None:
            return None
        obstacle = "prefixes and phrases" if constraints else engine.obstacle(options, max(limits, default=0))
        if obstacle is not None:
            if self._only:
                raise SearchError(f"{obstacle}: not with engine = 'ct2'; use engine = 'torch'")
            require("torch", f"a search with {obstacle}")
            return None
        patient = interruption is None or interruption.waits_for_batches
        if not patient and self._leaves_to_torch(engine, options):
            return None
        if sources and not self._loaded():
            return None
        return engine.search(sources, limits, options, batch_tokens, scores, interruption)

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], batch_tokens: int
    ) -> Iterator[Forced] | None:
        """The engine's log-probabilities of given targets; None if there is no engine or it cannot score them all."""
        engine = self._engine
        if engine is None or not engine.scores(sources, targets) or not self._loaded():
            return None
        return engine.score(sources, targets, batch_tokens)

    def attends(self, how: AlignmentConfig) -> bool:
        """Whether there is an engine that shows the attention of such an alignment."""
        return self._engine is not None and self._engine.attention_obstacle(how, 0) is None

    def attention(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        how: AlignmentConfig,
        batch_tokens: int,
    ) -> "Iterator[Attention] | None":
        """The engine's attention of given targets to their sources; None if there is no engine or it does not show it."""
        engine = self._engine
        if engine is None:
            return None
        obstacle = engine.attention_obstacle(how, max(map(len, targets), default=0))
        if obstacle is not None:
            require("torch", f"word alignment by {obstacle}")
        if obstacle is not None or not self._loaded():
            return None
        return engine.attention(sources, targets, how, batch_tokens)

    def prepare(self, options: SearchOptions) -> bool:
        """Load the engine now if it supports such a search, of whatever length. False: it is not used for it."""
        engine = self._engine
        if engine is None:
            return False
        if (obstacle := engine.obstacle(options, 0)) is not None:
            require("torch", f"a search with {obstacle}")
            return False
        return not (options.time_limit is not None and self._leaves_to_torch(engine, options)) and self._loaded()

    def batch_tokens(self, options: SearchOptions) -> int | None:
        """The source tokens of a batch that the engine searches fastest; None: it is not used for such a search."""
        return self._engine.batch_tokens(options) if self.prepare(options) and self._engine is not None else None

    def is_interruptible(self, options: SearchOptions) -> bool:
        """Whether a stop signal can end such a search between its tokens without another engine than the one that does it now."""
        return not self.prepare(options) or (self._engine is not None and self._engine.interruptible(options))

    def _leaves_to_torch(self, engine: FastSearch, options: SearchOptions) -> bool:
        """Whether a search that may be interrupted is left to torch, which looks between its steps: if torch is there and may be used."""
        return not (self._only or engine.interruptible(options)) and is_installed("torch")

    def _loaded(self) -> bool:
        """Whether the engine is loaded now. False: it cannot be, and is not used any more."""
        engine = self._engine
        if engine is None:
            return False
        try:
            engine.prepare()
        except (DiskError, EngineError, ResourceError) as error:
            if self._only or not is_installed("torch"):
                raise
            warnings.warn(f"{error}; translating with torch", stacklevel=3)
            self._engine = None
            return False
        return True
