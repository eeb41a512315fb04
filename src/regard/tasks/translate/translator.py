"""`Translator`: text in, text out. It joins tokenizers, batching and engines, for any network.

There are two engines: a torch `Runner`, which supports everything, and optionally a faster one (`FastPath`). The weights are loaded, and
torch is imported, at the first use. Several threads may use one translator.

Lengths. A text is truncated to `max_tokens` (1,024) tokens, or to the learned positions (`reading.py`), and the result says so
(`truncated`). `searching.py` has the limits of outputs.
"""

from collections.abc import Callable, Collection, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from regard.activity import activity
from regard.bundle.config import AlignmentConfig, AlignmentMethod, Languages
from regard.bundle.describe import summary
from regard.bundle.opened import OpenBundle
from regard.engine.constraints import TextPhrase
from regard.engine.fast import FastPath
from regard.engine.forced import ForcedScore
from regard.engine.input_length import MAX_TOKENS
from regard.engine.resident import Resident
from regard.errors import RegardError
from regard.extras import is_installed, needing
from regard.search.checks import NODE_LIMIT, check_count
from regard.search.expansion import BranchWatcher, Watcher
from regard.search.hypothesis import Hypothesis
from regard.search.interruption import Interruption, StopSignal
from regard.search.options import SearchKeywords, SearchOptions, lists_options
from regard.search.ranking import Ranking
from regard.tasks.translate.answers import LinksOfCall, ranked_translation
from regard.tasks.translate.directions import Directions
from regard.tasks.translate.output_length import USUAL, OutputLength, warn_of_cuts
from regard.tasks.translate.pairs import Pairs
from regard.tasks.translate.reading import Reader, read_to_each
from regard.tasks.translate.searching import Searcher
from regard.tasks.translate.translation import Alignment, Links, Source, Translation
from regard.text.build import TokenizerPair

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from regard.engine.runner import Network, Runner
    from regard.ops.probe import Probe
    from regard.tasks.translate.aligner import Aligner
    from regard.tasks.translate.reranking import Reranker

ALIGNMENT_BATCH_TOKENS = 1024  # smaller batches, because the weights of all heads and layers are in memory


class Translator:
    """A translation model. Made by `regard.load`, or around a network that is being trained."""

    def __init__(
        self,
        network: "Network | Resident[Network]",
        tokenizers: TokenizerPair,
        *,
        languages: Languages | None = None,
        alignment: AlignmentConfig | None = None,
        reach: int | None = None,
        max_tokens: int = MAX_TOKENS,
        bundle: OpenBundle | None = None,
        fast: FastPath | None = None,
        directions: Directions | None = None,
        longest: OutputLength | None = None,
    ) -> None:
        """`reach`: the longest sequence that the network has positions for, end mark included (`BundleConfig.reach`).

        `fast`: a faster engine, used for the searches that it supports. `directions`: of a model of several; `towards` chooses among them.
        longest: how long outputs may be (`TranslateBundle.longest_output`).
        """
        check_count("max_tokens", max_tokens)
        self._resident: Resident[Network] = network if isinstance(network, Resident) else Resident(network)
        self.languages = languages or Languages()
        self.directions = directions or Directions((), self.languages)
        self._plain_tokenizers = tokenizers
        self.tokenizers = self.directions.undirected(tokenizers)
        self.alignment = alignment or AlignmentConfig()
        self.bundle = bundle
        self.max_tokens = max_tokens if reach is None else min(max_tokens, reach - 1)
        self.reach = reach
        self._reader = Reader(self.tokenizers, self.max_tokens)
        self.longest = longest or USUAL
        self._searcher = Searcher(
            tokenizers.target, lambda: self._runner, fast or FastPath(), reach, bundle, self.longest
        )

    def __repr__(self) -> str:
        return summary(type(self).__name__, self.bundle, self._resident.loaded)

    @property
    def network(self) -> "Network":
        """The network, loaded at the first access."""
        return self._resident.network

    @cached_property
    def _runner(self) -> "Runner":
        with needing("such a search"):
            from regard.engine.runner import Runner
            from regard.engine.sources import IdSources

        pads = (self.tokenizers.source.vocabulary.pad, self.tokenizers.target.vocabulary.pad)
        return Runner(self._resident, sources=IdSources(pads[0]), target_pad=pads[1])

    @cached_property
    def _aligner(self) -> "Aligner":
        from regard.tasks.translate.aligner import Aligner

        return Aligner(self.tokenizers, self.evidence, self._searcher.fast)

    @property
    def device(self) -> "torch.device":
        """The device of the weights."""
        return self._resident.device

    def towards(self, to: str | None = None, from_: str | None = None) -> "Translator":
        """The same model for one of its directions: every method then reads sources in it. Without arguments, its only target language.

        The network is shared. A model of one direction accepts its own languages.
        """
        languages = self.directions.chosen(to, from_)
        if not self.directions.seen:
            return self
        assert languages.target is not None, "a direction has one"
        directed = copy(self)
        directed.languages = languages
        directed.tokenizers = self.directions.directed(self._plain_tokenizers, languages.target)
        directed._reader = Reader(directed.tokenizers, self.max_tokens)
        directed.__dict__.pop("_aligner", None)  # made of the tokenizers
        return directed

    @lists_options
    def translate(
        self,
        texts: Sequence[str],
        *,
        to: str | Sequence[str] | None = None,
        from_: str | None = None,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[TextPhrase]] | None = None,
        batch_tokens: int | None = None,
        scores: bool = True,
        stopped: StopSignal | None = None,
        **options: Unpack[SearchKeywords],
    ) -> list[Translation]:
        """One translation for each text, in order. The translation of a blank text is empty.

        to: the target language, or one for each text, of a model of several directions; from_: the source language, see `towards`.
        options: the fields of `SearchOptions`. prefixes, phrases, scores and stopped: see `search`. batch_tokens: the source tokens of a
        batch, which bound memory; None: the engine chooses. The first access to an `alignment` costs one more forward pass over all texts.
        """
        return self.search(
            texts,
            SearchOptions.of(
                options, beside=("to", "from_", "prefixes", "phrases", "batch_tokens", "scores", "stopped")
            ),
            to=to,
            from_=from_,
            prefixes=prefixes,
            phrases=phrases,
            batch_tokens=batch_tokens,
            scores=scores,
            stopped=stopped,
        )

    def search(
        self,
        texts: Sequence[str],
        options: SearchOptions,
        *,
        to: str | Sequence[str] | None = None,
        from_: str | None = None,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[TextPhrase]] | None = None,
        batch_tokens: int | None = None,
        scores: bool = True,
        stopped: StopSignal | None = None,
    ) -> list[Translation]:
        """`translate`, with a `SearchOptions` object.

        prefixes: the beginning of each translation; phrases: the phrases that each translation must contain, tokenized by the target
        tokenizer one by one; a list in place of a phrase holds alternatives, of which one is enough. A constraint that cannot be met is
        dropped with a warning, and named in `unmet`. scores=False allows a faster greedy search, which leaves `score` and `logprob` NaN.

        `options.time_limit` bounds the whole call, all batches together, from the first batch on. stopped: a function, such as the `is_set`
        of an event, that is called between the steps of the search; if it returns True, `SearchStopped` is raised.
        """
        sources = self.read(texts, to, from_)
        return self.search_read(
            sources,
            options,
            prefixes=prefixes,
            phrases=phrases,
            batch_tokens=batch_tokens,
            scores=scores,
            stopped=stopped,
        )

    def prepare(self, options: SearchOptions, *, constrained: bool = False) -> None:
        """Load what such a search needs, so that the first search does not wait. constrained: there are prefixes or phrases."""
        self._searcher.prepare(options, constrained=constrained)

    @property
    def aligns(self) -> bool:
        """Whether words can be aligned: the network has attention to the source."""
        return self.bundle is None or bool(getattr(self.bundle.config, "aligns", True))

    @property
    def can_align(self) -> bool:
        """Whether words can be aligned here, in the model's own way."""
        return self.aligns and (is_installed("torch") or self._searcher.fast.attends(self.alignment))

    def engine(self, **options: Unpack[SearchKeywords]) -> Literal["ct2", "torch"]:
        """The engine of such a search, loaded now."""
        return "ct2" if self.searches_fast(SearchOptions.of(options)) else "torch"

    def searches_fast(self, options: SearchOptions) -> bool:
        """Whether the faster engine does such a search, of whatever length and without constraints. It is loaded now."""
        return self._searcher.fast.prepare(options)

    def is_interruptible(self, options: SearchOptions) -> bool:
        """Whether `stopped` ends such a search between its tokens without a change of its engine. A beam of CTranslate2 runs to its end."""
        return self._searcher.fast.is_interruptible(options)

    def fast_batch_tokens(self, options: SearchOptions) -> int | None:
        """The source tokens of a batch that the faster engine searches fastest; None: it does not do such a search."""
        return self._searcher.fast.batch_tokens(options)

    def read(
        self, texts: Sequence[str], to: str | Sequence[str] | None = None, from_: str | None = None
    ) -> list[Source]:
        """The tokenized texts, with the ids that `search_read` and `forced` take."""
        if to is not None and not isinstance(to, str):
            return read_to_each(lambda one: self._towards(one, from_)._reader, texts, to)
        return self._towards(to, from_)._reader.sources(texts)

    def _towards(self, to: str | None, from_: str | None) -> "Translator":
        """`towards`, where a language is given."""
        return self if to is None and from_ is None else self.towards(to, from_)

    def search_read(
        self,
        sources: Sequence[Source],
        options: SearchOptions,
        *,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[TextPhrase]] | None = None,
        batch_tokens: int | None = None,
        scores: bool = True,
        stopped: StopSignal | None = None,
    ) -> list[Translation]:
        """`search`, for texts tokenized by `read`."""
        wide = options if self.reranker is None else self.reranker.widened(options)
        scores = scores or self.reranker is not None
        if batch_tokens is not None:
            check_count("batch_tokens", batch_tokens)
        constraints = self._searcher.constraints(len(sources), prefixes, phrases)
        rows = [source.ids for source in sources]
        interruption = Interruption.of(wide.time_limit, stopped)
        hypotheses: list[list[Hypothesis]] = [[]] * len(sources)
        links = LinksOfCall(self._links, rows, hypotheses)
        results: list[Translation | None] = [None] * len(sources)
        with activity("translating", len(sources), "sentences") as progress:
            for number, own in self._searcher.search(rows, wide, constraints, batch_tokens, scores, interruption):
                utilities = None
                if wide.mbr:
                    own, utilities = self._searcher.least_risk(own, wide.nbest)
                hypotheses[number] = own
                # made here, while an engine of several threads searches the other sentences
                results[number] = ranked_translation(
                    self.tokenizers.target, number, sources[number], own, utilities, wide, constraints, links
                )
                progress.advance()
        warn_of_cuts(rows, wide, hypotheses, self.longest)
        ranked = cast(list[Translation], results)
        return ranked if self.reranker is None else self.reranker.ranked(ranked, options)

    def watch(
        self, text: str, watch: Watcher, options: SearchOptions, *, prefix: str = "", phrases: Sequence[TextPhrase] = ()
    ) -> list[Hypothesis]:
        """The best hypotheses for one text, as token ids; `watch` gets every step. Not of exact and exhaustive search, which have none."""
        [source] = self.read([text])
        return self._searcher.watch(source.ids, options, self._searcher.constraints(1, [prefix], [phrases]), watch)

    def watch_exact(
        self, text: str, watch: BranchWatcher, *, beam: int = 5, node_limit: int = NODE_LIMIT
    ) -> Hypothesis:
        """The most probable hypothesis for one text, as token ids; `watch` gets every expansion of the exact search."""
        [source] = self.read([text])
        return self._searcher.watch_exact(
            source.ids, SearchOptions(beam=beam, exact=True, node_limit=node_limit), watch
        )

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        to: str | None = None,
        from_: str | None = None,
        alpha: float = 0.0,
        batch_tokens: int = 4096,
    ) -> list[ForcedScore]:
        """log p of each target given its source, by teacher forcing, in the engine and precision that translate.

        to, from_: see `towards`.
        """
        pairs = self._towards(to, from_)._reader.pairs(sources, targets)
        return self._searcher.forced_scores(pairs, Ranking(alpha), batch_tokens)

    reranker: "Reranker | None" = None
    """A second model that chooses among the hypotheses of `search`, if one is set (`reranking.py`)."""
    explainer: "Callable[..., Any] | None" = None
    """The function that explains a sentence; `regard.load` sets it."""

    def explain(
        self,
        text: str,
        *,
        to: str | None = None,
        from_: str | None = None,
        target: str | None = None,
        beam: int = 5,
        alpha: float = 1.0,
        parts: Collection[str] | None = None,
        changes: Sequence[Any] = (),
        name: str | None = None,
    ) -> Any:
        """The explanation of the translation of `text`, or of a given `target`. A notebook shows it as a page.

        parts: some of `explain.PARTS`, by default all; some are slow. changes: interventions to compare with. name: the model's name on the
        page. to, from_: see `towards`.
        """
        if self.explainer is None:
            raise RegardError("this translator was made without an explainer; load it with regard.load")
        model = self._towards(to, from_)
        return self.explainer(
            model, text, target=target, beam=beam, alpha=alpha, parts=parts, changes=changes, name=name
        )

    def forced(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        probe: "Probe | None" = None,
        *,
        gradients: bool = False,
    ) -> "Tensor":
        """[B, T, D]: the last hidden states by teacher forcing, for ids without end marks. The probe sees the forward pass."""
        return self._runner.forced(sources, targets, probe, gradients=gradients)

    def align(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        to: str | None = None,
        from_: str | None = None,
        settings: AlignmentConfig | None = None,
        batch_tokens: int = ALIGNMENT_BATCH_TOKENS,
    ) -> list[Alignment]:
        """The word alignment of each pair, by teacher forcing. `settings`: how to align; None: as the model's config says.

        to, from_: see `towards`.
        """
        pairs = self._towards(to, from_)._reader.pairs(sources, targets)
        return self._aligner.align(sources, targets, pairs, settings or self.alignment, batch_tokens)

    def evidence(
        self, pairs: Pairs, method: AlignmentMethod = "attention", batch_tokens: int = ALIGNMENT_BATCH_TOKENS
    ) -> "list[Tensor]":
        """The evidence for links between the tokens of each pair, [L, H, T, S], end marks last."""
        with needing("word alignment"):
            from regard.tasks.translate.evidence import evidence_of_all
        return evidence_of_all(self._runner, method, pairs, batch_tokens)

    def _links(self, sources: Sequence[list[int]], hypotheses: Sequence[Sequence[Hypothesis]]) -> list[list[Links]]:
        """The links of every hypothesis of every source, by teacher forcing of the hypotheses."""
        return self._aligner.links_of_all(sources, hypotheses, self.alignment, ALIGNMENT_BATCH_TOKENS)
