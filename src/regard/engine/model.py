"""A translator: text in, text out. It joins tokenizers, batching and a `Runner`, and knows no network by name.

Two engines search: a torch `Runner`, which does everything, and a `FastSearch`, where there is one and it can do what is asked. The
network is read, and torch imported, when something first needs them. Several threads may use one model.

Lengths. At most `max_tokens` (1,024) tokens of a text are read, fewer where learned positions end sooner; the rest is left out, the
answer says so (`truncated`), and the other texts are not affected. An output has at most 2 x source tokens + 10 tokens unless
`max_length` is given: each text's own limit, so that it does not depend on what shares its batch.
"""

import threading
import warnings
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Protocol

from regard.bundle.config import AlignmentConfig, Languages
from regard.bundle.opened import OpenBundle
from regard.engine.batching import length_batches
from regard.engine.options import SearchOptions
from regard.engine.translation import Alignment, Links, Score, Translation, TruncationWarning
from regard.errors import BundleError, DataError, DiskError, SearchError
from regard.search.expansion import Expansion, Watcher
from regard.search.hypothesis import Hypothesis, normalised
from regard.search.options import check_alpha, check_count
from regard.text.build import TokenizerPair
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from regard.engine.runner import Network, Runner

__all__ = ["Expansion", "Model"]  # what a watcher of `Model.watch_beam` is told, beside the model itself

MAX_TOKENS = 1024  # of one side, end mark not counted; attention grows with the square of it
ALIGNMENT_BATCH_TOKENS = 1024  # the weights of every head and layer are held, so batches are smaller


@dataclass(frozen=True)
class Unread:
    """A network that is read when something first needs it."""

    read: "Callable[[], Network]"


class FastSearch(Protocol):
    """An engine that searches as `Runner` does, where it can."""

    def obstacle(self, options: SearchOptions, longest: int) -> str | None:
        """The option that it does not have; None: it can do what is asked. longest: the largest limit."""
        ...

    def search(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], options: SearchOptions, batch_tokens: int
    ) -> list[list[Hypothesis]]:
        """Up to `options.nbest` hypotheses for each source, best first. limits: the longest output of each, in tokens."""
        ...


class Model:
    """A network with its tokenizers. Made by `load`, or around a network that is being trained."""

    def __init__(
        self,
        network: "Network | Unread",
        tokenizers: TokenizerPair,
        *,
        languages: Languages | None = None,
        alignment: AlignmentConfig | None = None,
        reach: int | None = None,
        max_tokens: int = MAX_TOKENS,
        bundle: OpenBundle | None = None,
        fast: FastSearch | None = None,
        fast_only: bool = False,
    ) -> None:
        """`reach`: the longest sequence that the network has positions for, end mark included (`BundleConfig.reach`).

        `fast`: the engine that searches where it can; `fast_only`: what it cannot do is an error.
        """
        check_count("max_tokens", max_tokens)
        self._network = network
        self.tokenizers = tokenizers
        self.languages = languages or Languages()
        self.alignment = alignment or AlignmentConfig()
        self.bundle = bundle
        self.max_tokens = max_tokens if reach is None else min(max_tokens, reach - 1)
        self._longest_output = None if reach is None else reach - 1
        self._fast, self._fast_only = fast, fast_only
        self._turn = threading.RLock()  # a network is used by one thread at a time

    @property
    def network(self) -> "Network":
        """The network; read now, if it was not yet."""
        with self._turn:
            if isinstance(self._network, Unread):
                self._network = self._network.read()
            return self._network

    @cached_property
    def _runner(self) -> "Runner":
        from regard.engine.runner import Runner

        pads = (self.tokenizers.source.vocabulary.pad, self.tokenizers.target.vocabulary.pad)
        return Runner(self.network, source_pad=pads[0], target_pad=pads[1])

    @property
    def device(self) -> "torch.device":
        """Where the weights are."""
        return self._runner.device

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int = 5,
        alpha: float = 1.0,
        nbest: int = 1,
        sample: bool = False,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        max_length: int | None = None,
        batch_tokens: int = 4096,
    ) -> list[Translation]:
        """One translation for each text, in order; a blank text gives an empty one.

        The options of the search are those of `SearchOptions`. `batch_tokens` bounds the source tokens that are read together, and with
        them memory. Word alignments cost one more pass, made for all texts when the first `alignment` is looked at.
        """
        options = SearchOptions(
            beam=beam,
            alpha=alpha,
            nbest=nbest,
            sample=sample,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
        )
        check_count("batch_tokens", batch_tokens)
        if max_length is not None:
            check_count("max_length", max_length)
        sources, cut = self._encode(texts, self.tokenizers.source, "source")
        found = self._search(sources, options, max_length, batch_tokens)
        links = cache(partial(self._links, sources, found))
        results = []
        for number, text in enumerate(texts):
            ranked = tuple(
                self._translation(text, hypothesis, partial(_one, links, number, rank), number in cut)
                for rank, hypothesis in enumerate(found[number])
            )
            results.append(replace(ranked[0], alternatives=ranked if nbest > 1 else ()))
        return results

    def watch_beam(
        self, text: str, watch: Watcher, *, beam: int = 5, alpha: float = 1.0, nbest: int = 1
    ) -> list[Hypothesis]:
        """The best hypotheses for one text, as token ids, with every step of the search told to `watch`."""
        options = SearchOptions(beam=beam, alpha=alpha, nbest=nbest)
        [ids], _ = self._encode([text], self.tokenizers.source, "source")
        return self._runner.watch_beam(ids, self._output_limit(len(ids), None), options, watch)

    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, alpha: float = 0.0, batch_tokens: int = 4096
    ) -> list[Score]:
        """How probable each target is, given its source: one forced pass, no search."""
        check_alpha(alpha)
        pairs = self._pairs(sources, targets)
        results: dict[int, Score] = {}
        for batch in length_batches(pairs.widths, batch_tokens):
            with self._turn:
                found = self._runner.score(*pairs.rows(batch))
            for number, logprobs in zip(batch, found, strict=True):
                kept = logprobs[:-1] if number in pairs.cut_targets else logprobs  # it does not end where it was cut
                tokens, logprob = len(pairs.targets[number]), sum(kept)
                score = normalised(logprob, tokens, alpha)
                results[number] = Score(logprob, score, tokens, kept, truncated=number in pairs.cut)
        return [results[number] for number in range(len(sources))]

    def align(
        self, sources: Sequence[str], targets: Sequence[str], *, batch_tokens: int = ALIGNMENT_BATCH_TOKENS
    ) -> list[Alignment]:
        """Which source word each target word looks at: one forced pass, no search."""
        from regard.engine.alignment import best_links

        pairs = self._pairs(sources, targets)
        source_words = [self.tokenizers.source.normalise(text).split() for text in sources]
        target_words = [self.tokenizers.target.normalise(text).split() for text in targets]
        counts = [(len(some), len(others)) for some, others in zip(source_words, target_words, strict=True)]
        return [
            Alignment(best_links(weights), weights, source_words[number], target_words[number], number in pairs.cut)
            for number, weights in enumerate(self._word_weights(pairs, counts, batch_tokens))
        ]

    def _encode(self, texts: Sequence[str], tokenizer: Tokenizer, side: str) -> tuple[list[list[int]], set[int]]:
        """The ids of each text, and the numbers of the texts whose end was left out."""
        if isinstance(texts, str):
            raise TypeError(f"expected a list of texts, not one text: write [{texts[:20]!r}]")
        rows = tokenizer.encode_batch(texts)
        cut = {number for number, ids in enumerate(rows) if len(ids) > self.max_tokens}
        if cut:
            first = min(cut)
            warnings.warn(
                f"{len(cut)} {side} texts are longer than {self.max_tokens} tokens and were cut there; "
                f"the first is number {first + 1}, with {len(rows[first])} tokens",
                TruncationWarning,
                stacklevel=3,
            )
        return [ids[: self.max_tokens] for ids in rows], cut

    def _pairs(self, sources: Sequence[str], targets: Sequence[str]) -> "_Pairs":
        if len(sources) != len(targets):
            raise DataError(f"{len(sources)} sources, but {len(targets)} targets: give one target for each source")
        source_ids, cut_sources = self._encode(sources, self.tokenizers.source, "source")
        target_ids, cut_targets = self._encode(targets, self.tokenizers.target, "target")
        return _Pairs(source_ids, target_ids, cut_targets, cut_sources | cut_targets)

    def _search(
        self, sources: Sequence[list[int]], options: SearchOptions, max_length: int | None, batch_tokens: int
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each source, in order; of an empty one the empty sentence, at no cost."""
        nothing = Hypothesis(tokens=(), logprob=0.0, score=0.0, finished=True)
        results = [[nothing] for _ in sources]
        told = [number for number, ids in enumerate(sources) if ids]
        limits = [self._output_limit(len(sources[number]), max_length) for number in told]
        rows = [sources[number] for number in told]
        fast = self._fast_search(rows, limits, options, batch_tokens)
        if fast is not None:
            return _placed(results, told, fast)
        for batch in length_batches(list(map(len, rows)), batch_tokens):
            numbers = [told[place] for place in batch]
            with self._turn:
                found = self._runner.search(
                    [rows[place] for place in batch], [limits[place] for place in batch], numbers, options
                )
            _placed(results, numbers, found)
        return results

    def _fast_search(
        self, rows: list[list[int]], limits: list[int], options: SearchOptions, batch_tokens: int
    ) -> list[list[Hypothesis]] | None:
        """What the fast engine finds; None where there is none, or it cannot do what is asked."""
        if self._fast is None:
            return None
        missing = self._fast.obstacle(options, max(limits, default=0))
        if missing is not None:
            if self._fast_only:
                raise SearchError(f"{missing}: not with engine = 'ct2'; use engine = 'torch'")
            return None
        try:
            return self._fast.search(rows, limits, options, batch_tokens)
        except (BundleError, DiskError) as error:  # it could not be made ready
            if self._fast_only:
                raise
            warnings.warn(f"{error}; translating with torch", stacklevel=2)
            self._fast = None
            return None

    def _output_limit(self, source_tokens: int, asked: int | None) -> int:
        """The longest output, in tokens: what was asked for, or a length that no sound translation has; never past the positions."""
        limit = 2 * source_tokens + 10 if asked is None else asked
        return limit if self._longest_output is None else min(limit, self._longest_output)

    def _translation(
        self, source: str, hypothesis: Hypothesis, links: Callable[[], Links], truncated: bool
    ) -> Translation:
        vocabulary = self.tokenizers.target.vocabulary
        return Translation(
            source=source,
            text=self.tokenizers.target.decode(hypothesis.tokens),
            score=hypothesis.score,
            tokens=[vocabulary.piece(token) for token in hypothesis.tokens],
            logprob=hypothesis.logprob,
            finished=hypothesis.finished,
            truncated=truncated,
            links=links,
        )

    def _links(self, sources: Sequence[list[int]], found: Sequence[Sequence[Hypothesis]]) -> list[list[Links]]:
        """The links of every hypothesis, from a forced pass over what was said."""
        from regard.engine.alignment import best_links

        flat = [(sources[number], list(one.tokens)) for number, some in enumerate(found) for one in some]
        pairs = _Pairs([source for source, _ in flat], [target for _, target in flat])
        counts = [
            (
                max(self.tokenizers.source.words(source), default=-1) + 1,
                len(self.tokenizers.target.decode(target).split()),
            )
            for source, target in flat
        ]
        links = iter([best_links(weights) for weights in self._word_weights(pairs, counts, ALIGNMENT_BATCH_TOKENS)])
        return [[next(links) for _ in some] for some in found]

    def _word_weights(self, pairs: "_Pairs", counts: Sequence[tuple[int, int]], batch_tokens: int) -> "list[Tensor]":
        """For each pair the weights [target words, source words]; counts: the words of its source and of its target."""
        from regard.engine.alignment import token_weights, word_weights

        results: dict[int, Tensor] = {}
        for batch in length_batches(pairs.widths, batch_tokens):
            with self._turn:
                stacks = self._runner.attention(*pairs.rows(batch))
            for number, stack in zip(batch, stacks, strict=True):
                source_count, target_count = counts[number]
                results[number] = word_weights(
                    token_weights(stack, self.alignment.layer),
                    self.tokenizers.source.words(pairs.sources[number]),
                    self.tokenizers.target.words(pairs.targets[number]),
                    source_count,
                    target_count,
                )
        return [results[number] for number in range(len(counts))]


def _placed(
    results: list[list[Hypothesis]], numbers: Sequence[int], found: Sequence[list[Hypothesis]]
) -> list[list[Hypothesis]]:
    """`results` with what was found for the given sentences in its place."""
    for number, hypotheses in zip(numbers, found, strict=True):
        results[number] = hypotheses
    return results


def _one(links: Callable[[], list[list[Links]]], text: int, rank: int) -> Links:
    """The links of one hypothesis, out of those of all that were found together."""
    return links()[text][rank]


@dataclass(frozen=True)
class _Pairs:
    """Sources and targets as ids, side by side, and the numbers of those that were cut."""

    sources: list[list[int]]
    targets: list[list[int]]
    cut_targets: Set[int] = frozenset()
    cut: Set[int] = frozenset()

    @property
    def widths(self) -> list[int]:
        return [max(len(source), len(target)) for source, target in zip(self.sources, self.targets, strict=True)]

    def rows(self, batch: Sequence[int]) -> tuple[list[list[int]], list[list[int]]]:
        return [self.sources[number] for number in batch], [self.targets[number] for number in batch]
