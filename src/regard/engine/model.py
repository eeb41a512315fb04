"""A translator: text in, text out. It joins tokenizers, batching and a `Runner`, and knows no network by name.

Two engines search: a torch `Runner`, which does everything, and a faster one where `FastPath` leads to it. The network is read, and
torch imported, when something first needs them. Several threads may use one model.

Lengths. At most `max_tokens` (1,024) tokens of a text are read, fewer where learned positions end sooner; the rest is left out, the
answer says so (`truncated`), and the other texts are not affected. An output has at most 2 x source tokens + 10 tokens unless
`max_length` is given: each text's own limit, so that it does not depend on what shares its batch.
"""

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from regard.bundle.config import AlignmentConfig, AlignmentMethod, Languages
from regard.bundle.opened import OpenBundle
from regard.engine.batching import length_batches
from regard.engine.demands import Asked, Demands, suppressed_ids
from regard.engine.fast import FastPath
from regard.engine.options import SearchOptions
from regard.engine.pairs import Pairs
from regard.engine.risk import by_utility, expected_utilities
from regard.engine.translation import Alignment, Links, Score, Source, Translation, TruncationWarning
from regard.errors import DataError, SearchError
from regard.metrics.pairwise import chrf_matrix
from regard.search.expansion import Branching, BranchWatcher, Expansion, Watcher
from regard.search.hypothesis import Hypothesis
from regard.search.options import NODE_LIMIT, Stop, check_count
from regard.search.ranking import LengthForm, Ranking
from regard.text.build import TokenizerPair
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from regard.engine.aligner import Aligner
    from regard.engine.runner import Network, Runner
    from regard.ops.probe import Probe

__all__ = [
    "Branching",
    "Expansion",
    "Hypothesis",
    "Model",
]  # what watchers of a search are told and given, beside the model itself

MAX_TOKENS = 1024  # of one side, end mark not counted; attention grows with the square of it
ENCODED_TOGETHER = 256  # texts: of no more are the tokens past `max_tokens` in memory
ALIGNMENT_BATCH_TOKENS = 1024  # the weights of every head and layer are held, so batches are smaller


@dataclass(frozen=True)
class Unread:
    """A network that is read when something first needs it."""

    read: "Callable[[], Network]"


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
        fast: FastPath | None = None,
    ) -> None:
        """`reach`: the longest sequence that the network has positions for, end mark included (`BundleConfig.reach`).

        `fast`: the way to an engine that searches where it can.
        """
        check_count("max_tokens", max_tokens)
        self._network = network
        self.tokenizers = tokenizers
        self.languages = languages or Languages()
        self.alignment = alignment or AlignmentConfig()
        self.bundle = bundle
        self.max_tokens = max_tokens if reach is None else min(max_tokens, reach - 1)
        self.reach = reach
        self._fast = fast or FastPath()
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

    @cached_property
    def _aligner(self) -> "Aligner":
        from regard.engine.aligner import Aligner

        return Aligner(self.tokenizers, self.evidence)

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
        length_form: LengthForm = "power",
        coverage: float = 0.0,
        stop: Stop = "likely",
        nbest: int = 1,
        groups: int = 1,
        diversity: float = 0.5,
        sample: bool = False,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        mbr: int = 0,
        exact: bool = False,
        node_limit: int = NODE_LIMIT,
        min_length: int = 0,
        max_length: int | None = None,
        no_repeat: int = 0,
        suppress: Sequence[str] = (),
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[str]] | None = None,
        batch_tokens: int = 4096,
    ) -> list[Translation]:
        """One translation for each text, in order; a blank text gives an empty one.

        The options of the search are those of `SearchOptions`; prefixes and phrases those of `search`. `batch_tokens` bounds the source
        tokens that are read together, and with them memory. Word alignments cost one more pass, made for all texts when the first
        `alignment` is looked at.
        """
        options = SearchOptions(
            beam=beam,
            alpha=alpha,
            length_form=length_form,
            coverage=coverage,
            stop=stop,
            nbest=nbest,
            groups=groups,
            diversity=diversity,
            sample=sample,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            mbr=mbr,
            exact=exact,
            node_limit=node_limit,
            min_length=min_length,
            max_length=max_length,
            no_repeat=no_repeat,
            suppress=suppress,
        )
        return self.search(texts, options, prefixes=prefixes, phrases=phrases, batch_tokens=batch_tokens)

    def search(
        self,
        texts: Sequence[str],
        options: SearchOptions,
        *,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[str]] | None = None,
        batch_tokens: int = 4096,
        scores: bool = True,
    ) -> list[Translation]:
        """`translate`, with the options in one piece.

        prefixes: what each translation must begin with; phrases: for each the phrases that it must contain, cut into tokens as the target
        tokenizer cuts them by themselves. What cannot be met is left out with a warning, and named in `unmet`. scores: False where nobody
        looks at `score` and `logprob`; a greedy search may then be faster, and leave them NaN.
        """
        sources = self.read(texts)
        return self.search_read(
            sources, options, prefixes=prefixes, phrases=phrases, batch_tokens=batch_tokens, scores=scores
        )

    def read(self, texts: Sequence[str]) -> list[Source]:
        """The texts as they are searched with, for whoever wants to know their lengths before."""
        rows, cut = self._encode(texts, self.tokenizers.source, "source")
        return [Source(text, ids, number in cut) for number, (text, ids) in enumerate(zip(texts, rows, strict=True))]

    def search_read(
        self,
        sources: Sequence[Source],
        options: SearchOptions,
        *,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[str]] | None = None,
        batch_tokens: int = 4096,
        scores: bool = True,
    ) -> list[Translation]:
        """`search`, for texts that were read before."""
        check_count("batch_tokens", batch_tokens)
        asked = Asked(self.tokenizers.target, len(sources), prefixes, phrases)
        rows = [source.ids for source in sources]
        found = self._search(rows, options, asked, batch_tokens, scores)
        utilities = None
        if options.mbr:
            found, utilities = self._least_risk(found, options.nbest)
        links = cache(partial(self._links, rows, found))
        pieces = self.tokenizers.target.vocabulary.pieces
        results = []
        for number, source in enumerate(sources):
            ranked = [
                Translation(
                    source=source.text,
                    text=self.tokenizers.target.decode(hypothesis.tokens),
                    score=hypothesis.score,
                    tokens=[pieces[token] for token in hypothesis.tokens],
                    logprob=hypothesis.logprob,
                    finished=hypothesis.finished,
                    truncated=source.truncated,
                    unmet=asked.unmet(number, hypothesis.tokens) if asked else (),
                    utility=None if utilities is None else utilities[number][rank],
                    proof=hypothesis.proof,
                    links=partial(_one, links, number, rank),
                )
                for rank, hypothesis in enumerate(found[number])
            ]
            results.append(ranked[0] if options.nbest == 1 else replace(ranked[0], alternatives=tuple(ranked)))
        return results

    def watch_beam(
        self, text: str, watch: Watcher, *, beam: int = 5, alpha: float = 1.0, nbest: int = 1
    ) -> list[Hypothesis]:
        """The best hypotheses for one text, as token ids, with every step of the search told to `watch`."""
        return self.watch(text, watch, SearchOptions(beam=beam, alpha=alpha, nbest=nbest))

    def watch(
        self, text: str, watch: Watcher, options: SearchOptions, *, prefix: str = "", phrases: Sequence[str] = ()
    ) -> list[Hypothesis]:
        """The same by any search but the exact one, which does not go step by step."""
        if options.exact:
            raise SearchError("exact search has no steps to watch; use watch_exact")
        [ids], _ = self._encode([text], self.tokenizers.source, "source")
        asked = Asked(self.tokenizers.target, 1, [prefix], [phrases])
        limits = [self._output_limit(len(ids), options, asked.needs(0))]
        demands = self._demands(asked, limits, options)
        with self._turn:
            [found] = self._runner.search([ids], limits, [0], options, demands, watch)
        return found

    def watch_exact(
        self, text: str, watch: BranchWatcher, *, beam: int = 5, node_limit: int = NODE_LIMIT
    ) -> Hypothesis:
        """The most probable hypothesis for one text, as token ids, with all that the exact search continued told to `watch`."""
        [ids], _ = self._encode([text], self.tokenizers.source, "source")
        options = SearchOptions(beam=beam, exact=True, node_limit=node_limit)
        with self._turn:
            return self._runner.exact(ids, self._output_limit(len(ids), options, 0), options, watch)

    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, alpha: float = 0.0, batch_tokens: int = 4096
    ) -> list[Score]:
        """How probable each target is, given its source: one forced pass, no search."""
        ranking = Ranking(alpha)
        pairs = self._pairs(sources, targets)
        results: dict[int, Score] = {}
        for batch in length_batches(pairs.widths, batch_tokens):
            with self._turn:
                found = self._runner.score(*pairs.rows(batch))
            for number, logprobs in zip(batch, found, strict=True):
                kept = logprobs[:-1] if number in pairs.cut_targets else logprobs  # it does not end where it was cut
                tokens, logprob = len(pairs.targets[number]), sum(kept)
                score = ranking.score(logprob, tokens)
                results[number] = Score(logprob, score, tokens, kept, truncated=number in pairs.cut)
        return [results[number] for number in range(len(sources))]

    def forced(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        probe: "Probe | None" = None,
        *,
        gradients: bool = False,
    ) -> "Tensor":
        """[B, T, D]: what the network projects to logits, in a forced pass over ids without end marks, which the probe sees."""
        with self._turn:
            return self._runner.forced(sources, targets, probe, gradients=gradients)

    def align(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        settings: AlignmentConfig | None = None,
        batch_tokens: int = ALIGNMENT_BATCH_TOKENS,
    ) -> list[Alignment]:
        """Which source word each target word comes from: forced passes, no search. `settings`: how to tell, the model's own if None."""
        pairs = self._pairs(sources, targets)
        return self._aligner.align(sources, targets, pairs, settings or self.alignment, batch_tokens)

    def evidence(
        self, pairs: Pairs, method: AlignmentMethod = "attention", batch_tokens: int = ALIGNMENT_BATCH_TOKENS
    ) -> "list[Tensor]":
        """For each pair what speaks for a link between tokens, [L, H, T, S] of every layer and head, the end marks last."""
        from regard.engine.evidence import evidence

        results: dict[int, Tensor] = {}
        for batch in length_batches(pairs.widths, batch_tokens):
            with self._turn:
                found = evidence(self._runner, method, *pairs.rows(batch))
            results.update(zip(batch, found, strict=True))
        return [results[number] for number in range(len(pairs.sources))]

    def _encode(self, texts: Sequence[str], tokenizer: Tokenizer, side: str) -> tuple[list[list[int]], set[int]]:
        """The ids of each text, and the numbers of the texts whose end was left out."""
        if isinstance(texts, str):
            raise TypeError(f"expected a list of texts, not one text: write [{texts[:20]!r}]")
        rows: list[list[int]] = []
        cut: dict[int, int] = {}  # number -> tokens
        for start in range(0, len(texts), ENCODED_TOGETHER):
            for ids in tokenizer.encode_batch(texts[start : start + ENCODED_TOGETHER]):
                if len(ids) > self.max_tokens:
                    cut[len(rows)] = len(ids)
                rows.append(ids[: self.max_tokens])
        if cut:
            first = min(cut)
            warnings.warn(
                f"{len(cut)} {side} texts are longer than {self.max_tokens} tokens and were cut there; "
                f"the first is number {first + 1}, with {cut[first]} tokens",
                TruncationWarning,
                stacklevel=3,
            )
        return rows, set(cut)

    def _pairs(self, sources: Sequence[str], targets: Sequence[str]) -> Pairs:
        if len(sources) != len(targets):
            raise DataError(f"{len(sources)} sources, but {len(targets)} targets: give one target for each source")
        source_ids, cut_sources = self._encode(sources, self.tokenizers.source, "source")
        target_ids, cut_targets = self._encode(targets, self.tokenizers.target, "target")
        return Pairs(source_ids, target_ids, cut_targets, cut_sources | cut_targets)

    def _search(
        self, sources: Sequence[list[int]], options: SearchOptions, asked: Asked, batch_tokens: int, scores: bool
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each source, in order; of an empty one the empty sentence, at no cost."""
        nothing = Hypothesis(tokens=(), logprob=0.0, score=0.0, finished=True)
        results = [[nothing] for _ in sources]
        limits = [
            self._output_limit(len(ids), options, asked.needs(number) if asked else 0)
            for number, ids in enumerate(sources)
        ]
        demands = self._demands(asked, limits, options)
        told = [number for number, ids in enumerate(sources) if ids]
        rows, longest = [sources[number] for number in told], [limits[number] for number in told]
        fast = self._fast.search(rows, longest, options, asked, batch_tokens, scores)
        if fast is not None:
            return _placed(results, told, fast)
        for batch in length_batches([len(ids) for ids in rows], batch_tokens):
            numbers = [told[place] for place in batch]
            with self._turn:
                found = self._runner.search(
                    [rows[place] for place in batch],
                    [longest[place] for place in batch],
                    numbers,
                    options,
                    demands.of(numbers),
                )
            _placed(results, numbers, found)
        return results

    def _demands(self, asked: Asked, limits: Sequence[int], options: SearchOptions) -> Demands:
        if asked.phrases and options.kind != "beam":
            raise SearchError(f"phrases are for beam search, not for {options.kind}: leave one of the two out")
        suppressed = suppressed_ids(self.tokenizers.target.vocabulary, options.suppress)
        return replace(asked.demands(limits), suppressed=suppressed)

    def _output_limit(self, source_tokens: int, options: SearchOptions, needed: int) -> int:
        """The longest output, in tokens: what was asked for, or a length that no sound translation has; never past the positions."""
        limit = options.max_length
        if limit is None:
            limit = max(2 * source_tokens + 10, options.min_length, needed + 10 if needed else 0)
        return limit if self.reach is None else min(limit, self.reach - 1)

    def _least_risk(
        self, samples: Sequence[Sequence[Hypothesis]], nbest: int
    ) -> tuple[list[list[Hypothesis]], list[list[float]]]:
        """Of each text's samples the n different ones that are most like all of them, and how much."""
        found, utilities = [], []
        for drawn in samples:
            texts = [self.tokenizers.target.decode(one.tokens) for one in drawn]
            values = expected_utilities(texts, chrf_matrix)
            best = by_utility(values, texts)[:nbest]
            found.append([drawn[number] for number in best])
            utilities.append([values[number] for number in best])
        return found, utilities

    def _links(self, sources: Sequence[list[int]], found: Sequence[Sequence[Hypothesis]]) -> list[list[Links]]:
        """The links of every hypothesis, from a forced pass over what was said."""
        flat = [(sources[number], list(one.tokens)) for number, some in enumerate(found) for one in some]
        pairs = Pairs([source for source, _ in flat], [target for _, target in flat])
        links = iter(self._aligner.links(pairs, self.alignment, ALIGNMENT_BATCH_TOKENS))
        return [[next(links) for _ in some] for some in found]


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
