"""`Captioner`: describes pictures with a trained model, scores captions, and says where each word looks.

Pictures come as files or arrays of any size. Each is brought to the form that the network reads (`PictureFormat`).

Shapes: B pictures, C channels, H height, W width, T tokens with end mark, S patches, L layers, N heads.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from regard.activity import activity
from regard.bundle.config import AlignmentConfig, Languages
from regard.bundle.describe import summary
from regard.bundle.opened import OpenBundle
from regard.bundle.pictures import PictureFormat
from regard.data.images import pixel_tensor
from regard.data.pictures import fitted, picture_of_array, read_picture
from regard.engine.batching import length_batches
from regard.engine.constraints import TextConstraints, search_constraints
from regard.engine.forced import ForcedScore
from regard.engine.resident import Resident
from regard.engine.risk import least_risk
from regard.errors import InputTypeError, RegardError, SearchError
from regard.search.checks import check_count
from regard.search.hypothesis import Hypothesis
from regard.search.interruption import NOT_BEGUN, Interruption, StopSignal
from regard.search.options import MOST_POSITIONS, SearchKeywords, SearchOptions, lists_options
from regard.search.ranking import Ranking
from regard.tasks.caption.caption import Caption, WordMaps
from regard.tasks.checks import check_list
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from regard.engine.runner import Network, Runner, SearchBatch
    from regard.ops.probe import Probe

BATCH = 64  # pictures
TIMES, MORE = 2, 10  # no sound caption is longer than so many times the longest in training, and so many tokens more

Given = "str | Path | NDArray[Any]"


class ReadPicture(NamedTuple):
    """A picture in the form that the network reads, and its name."""

    name: str
    pixels: NDArray[np.uint8]


class PictureSources:
    """Pictures as the tensor that a network reads: a `Sources`."""

    def __init__(self, form: PictureFormat, patches: int) -> None:
        self._form, self._patches = form, patches

    def tensor(self, sources: Sequence[NDArray[np.uint8]], end_token: int, device: "torch.device") -> "Tensor":
        """[B, C, H, W]"""
        return pixel_tensor(np.stack(list(sources)), self._form.mean, self._form.deviation).to(device)

    def length(self, source: NDArray[np.uint8]) -> int:
        """The number of patches."""
        return self._patches


class Captioner:
    """A model that describes pictures. Made by `regard.load`, or around a network that is being trained."""

    def __init__(
        self,
        network: "Network | Resident[Network]",
        tokenizer: Tokenizer,
        pictures: PictureFormat,
        grid: tuple[int, int],
        *,
        longest: int,
        languages: Languages | None = None,
        attention: AlignmentConfig | None = None,
        reach: int | None = None,
        bundle: OpenBundle | None = None,
    ) -> None:
        """grid: rows and columns of patches. longest: tokens of the longest training caption. reach: see `BundleConfig.reach`."""
        self._resident: Resident[Network] = network if isinstance(network, Resident) else Resident(network)
        self.tokenizer, self.pictures, self.grid = tokenizer, pictures, grid
        self.languages = languages or Languages()
        self.attention = attention or AlignmentConfig()
        self.bundle = bundle
        self._longest, self._reach = longest, reach

    def __repr__(self) -> str:
        return summary(type(self).__name__, self.bundle, self._resident.loaded)

    @property
    def network(self) -> "Network":
        """The network."""
        return self._resident.network

    @property
    def device(self) -> "torch.device":
        """The device of the weights."""
        return self._resident.device

    @cached_property
    def _runner(self) -> "Runner":
        from regard.engine.runner import Runner

        sources = PictureSources(self.pictures, self.grid[0] * self.grid[1])
        return Runner(self._resident, sources=sources, target_pad=self.tokenizer.vocabulary.pad)

    @lists_options
    def caption(
        self,
        pictures: "Sequence[str | Path | NDArray[Any]]",
        *,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[str]] | None = None,
        batch: int = BATCH,
        stopped: StopSignal | None = None,
        **options: Unpack[SearchKeywords],
    ) -> list[Caption]:
        """One caption for each picture, in order: paths of PNG or JPEG files, or arrays [H, W] or [H, W, 3] of bytes or of 0 to 1.

        options: the fields of `SearchOptions`. prefixes: the beginning of each caption; phrases: the phrases that each must contain.
        batch: pictures at a time. stopped: a function that is called between steps; if it returns True, `SearchStopped` is raised.
        """
        return self.search(
            self.read(pictures),
            SearchOptions.of(options, beside=("prefixes", "phrases", "batch", "stopped")),
            prefixes=prefixes,
            phrases=phrases,
            batch=batch,
            stopped=stopped,
        )

    def read(self, pictures: "Sequence[str | Path | NDArray[Any]]") -> list[ReadPicture]:
        """The pictures in the form that the network reads."""
        if not isinstance(pictures, np.ndarray):
            check_list(pictures, "pictures", "['a.png', ..], or arrays")
        return [self.read_one(picture, f"picture {number}") for number, picture in enumerate(pictures, 1)]

    def read_one(self, picture: "str | Path | NDArray[Any]", name: str = "the picture") -> ReadPicture:
        """One picture in that form. name: of an array, for messages."""
        form = self.pictures
        if isinstance(picture, str | Path):
            name, pixels = str(picture), read_picture(picture)
        elif hasattr(picture, "__array__") or isinstance(picture, np.ndarray):
            pixels = picture_of_array(picture, name)
        else:
            raise InputTypeError(f"{name}: of type {type(picture).__name__}; give the path of a file, or an array")
        return ReadPicture(name, fitted(pixels, form.height, form.width, form.channels, form.fit))

    def search(
        self,
        pictures: Sequence[ReadPicture],
        options: SearchOptions,
        *,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[str]] | None = None,
        batch: int = BATCH,
        stopped: StopSignal | None = None,
    ) -> list[Caption]:
        """`caption`, for pictures read by `read` and with a `SearchOptions` object."""
        check_count("batch", batch)
        if options.shortlist:
            raise SearchError("shortlist: a captioner has none, for its source has no words; leave it out")
        constraints = TextConstraints(self.tokenizer, len(pictures), prefixes, phrases)
        hypotheses = self._hypotheses(
            pictures, options, constraints, batch, Interruption.of(options.time_limit, stopped)
        )
        utilities: list[list[float]] = []
        if options.mbr:
            chosen = [least_risk(drawn, self.tokenizer.decode, options.nbest) for drawn in hypotheses]
            hypotheses, utilities = [best for best, _ in chosen], [values for _, values in chosen]
        pieces = self.tokenizer.vocabulary.pieces
        results = []
        for number, picture in enumerate(pictures):
            ranked = [
                Caption(
                    picture=picture.name,
                    text=self.tokenizer.decode(hypothesis.tokens),
                    score=hypothesis.score,
                    tokens=[pieces[token] for token in hypothesis.tokens],
                    logprob=hypothesis.logprob,
                    finished=hypothesis.finished,
                    unmet=constraints.unmet(number, hypothesis.tokens) if constraints else (),
                    utility=utilities[number][rank] if utilities else None,
                    proof=hypothesis.proof,
                    timed_out=hypothesis.timed_out,
                )
                for rank, hypothesis in enumerate(hypotheses[number])
            ]
            results.append(ranked[0] if options.nbest == 1 else replace(ranked[0], alternatives=tuple(ranked)))
        return results

    def _hypotheses(
        self,
        pictures: Sequence[ReadPicture],
        options: SearchOptions,
        constraints: TextConstraints,
        batch: int,
        interruption: Interruption | None,
    ) -> list[list[Hypothesis]]:
        limits = [self._most_tokens(options, constraints.needs(number)) for number in range(len(pictures))]
        in_tokens = search_constraints(self.tokenizer, constraints, limits, options)
        results: list[list[Hypothesis]] = [[NOT_BEGUN] for _ in pictures]
        kept = [options.width * (limit + 1) for limit in limits]
        groups = [sorted(group) for group in length_batches([0] * len(pictures), batch, kept)]
        with activity("describing", len(pictures), "pictures") as progress:
            batches = [self._batch(group, pictures, limits, in_tokens) for group in groups]
            if interruption is None:
                found = self._runner.search_all(batches, options)
            else:
                found = (
                    [[NOT_BEGUN] for _ in one.numbers]
                    if interruption.due()
                    else self._runner.search(one, options, interruption=interruption)
                    for one in batches
                )
            for group, hypotheses in zip(groups, found if batches else (), strict=True):
                for number, own in zip(group, hypotheses, strict=True):
                    results[number] = own
                progress.advance(len(group))
        return results

    def _batch(
        self, numbers: list[int], pictures: Sequence[ReadPicture], limits: Sequence[int], constraints: Any
    ) -> "SearchBatch":
        from regard.engine.runner import SearchBatch

        return SearchBatch(
            [pictures[number].pixels for number in numbers],
            [limits[number] for number in numbers],
            numbers,
            constraints.take(numbers),
        )

    def _most_tokens(self, options: SearchOptions, needed: int) -> int:
        """The maximum length of a caption in tokens: `max_length`, or a multiple of the longest in training."""
        limit = options.max_length
        if limit is None:
            usual = max(TIMES * self._longest + MORE, options.min_length)
            limit = max(min(usual, MOST_POSITIONS // options.width - 1), needed + MORE if needed else 0)
        return limit if self._reach is None else min(limit, self._reach - 1)

    def encode(self, captions: Sequence[str]) -> list[list[int]]:
        """The tokens of given captions, cut to the positions that the network has."""
        most = None if self._reach is None else self._reach - 1
        return [self.tokenizer.encode(caption)[:most] for caption in captions]

    def score(
        self, pictures: Sequence[ReadPicture], captions: Sequence[str], *, alpha: float = 0.0, batch: int = BATCH
    ) -> list[ForcedScore]:
        """log p of each caption given its picture, by teacher forcing."""
        ranking, results = Ranking(alpha), []
        targets = self.encode(captions)
        with activity("scoring", len(pictures), "captions") as progress:
            for first in range(0, len(pictures), batch):
                part = slice(first, first + batch)
                scores = self._runner.score([picture.pixels for picture in pictures[part]], targets[part])
                for ids, logprobs in zip(targets[part], scores, strict=True):
                    logprob = sum(logprobs)
                    results.append(ForcedScore(logprob, ranking.score(logprob, len(ids)), len(ids), logprobs))
                progress.advance(len(scores))
        return results

    def forced(
        self, pictures: Sequence[ReadPicture], targets: Sequence[Sequence[int]], probe: "Probe | None" = None
    ) -> "Tensor":
        """[B, T, D]: the last hidden states by teacher forcing, for ids without end marks. The probe sees the forward pass."""
        return self._runner.forced([picture.pixels for picture in pictures], targets, probe)

    def look(
        self,
        pictures: Sequence[ReadPicture],
        captions: Sequence[str],
        *,
        settings: AlignmentConfig | None = None,
        batch: int = BATCH,
    ) -> list[WordMaps]:
        """Where each word of each caption looks, by teacher forcing. `settings`: which heads; None: as the model's config says."""
        from regard.tasks.caption.looking import cross_attention, word_maps

        results: list[WordMaps] = []
        targets = self.encode(captions)
        with activity("looking", len(pictures), "pictures") as progress:
            for first in range(0, len(pictures), batch):
                part = slice(first, first + batch)
                stacks = cross_attention(self, pictures[part], targets[part])
                for stack, ids in zip(stacks, targets[part], strict=True):
                    results.append(word_maps(stack, ids, self.tokenizer, self.grid, settings or self.attention))
                progress.advance(len(stacks))
        return results

    explainer: "Callable[..., Any] | None" = None
    """The function that explains a picture; `regard.load` sets it."""

    def explain(
        self, picture: "str | Path | NDArray[Any]", *, caption: str | None = None, beam: int = 5, alpha: float = 1.0
    ) -> Any:
        """The explanation of the caption of a picture, or of a given `caption`. A notebook shows it as a page."""
        if self.explainer is None:
            raise RegardError("this captioner was made without an explainer; load it with regard.load")
        return self.explainer(self, picture, caption=caption, beam=beam, alpha=alpha)
