"""Explains the caption of one picture: where in the picture each word looks, by every head of the decoder's cross-attention."""

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.pictures import encoded_png
from regard.data.regions import WordRegion
from regard.errors import shown
from regard.explain.arrays import NamedArray
from regard.explain.explanation import ModelFacts
from regard.search.options import SearchOptions
from regard.tasks.caption.captioner import Captioner, ReadPicture
from regard.tasks.caption.looking import cross_attention, word_maps
from regard.tasks.translate.alignment import merged


@dataclass(frozen=True)
class CaptionMaps:
    """A picture, what is said of it, and where each word looks."""

    name: str
    height: int
    width: int
    png: str  # the picture as the network reads it, base64
    text: str
    words: Sequence[str]
    maps: NamedArray  # [word, row, column] of the patches; each map sums to 1
    reference: str | None = None  # a gold caption, if known
    gold: Sequence[WordRegion] = ()  # the gold region of each word, if known


@dataclass(frozen=True)
class CaptionExplanation:
    """The explanation of a picture's caption."""

    model: ModelFacts
    picture: CaptionMaps
    given: bool  # the caption was given, not found by a search
    logprob: float
    token_logprobs: Sequence[float]  # of each token, the end mark last
    tokens: Sequence[str]
    heads: NamedArray  # [layer, head, word, row, column]: the weights of every head, not scaled
    parts: tuple[str, ...] = field(default=("picture", "heads"), repr=False)

    def __repr__(self) -> str:
        return f"<explanation of {shown(self.picture.name)}: {shown(self.picture.text)}>"

    def _repr_html_(self) -> str:
        from regard.explain.caption_page import render_captioned

        page = html.escape(render_captioned([self]), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0"></iframe>'

    def as_text(self) -> str:
        """The caption, and for each word the patch that it looks at most: row, column and weight."""
        lines = [shown(self.picture.text), f"log-probability {self.logprob:.4f}"]
        for word, weights in zip(self.picture.words, self.picture.maps.values, strict=True):
            row, column = np.unravel_index(int(weights.argmax()), weights.shape)
            lines.append(f"{shown(word)}\trow {row + 1}\tcolumn {column + 1}\t{weights.max():.3f}")
        return "".join(f"{line}\n" for line in lines)

    def save(self, path: str | Path) -> None:
        """Write a page (.html), a figure (.png, .svg, .pdf) or the data (.json)."""
        from regard.explain.caption_page import write_captioned

        write_captioned([self], Path(path))


def explain_caption(
    captioner: Captioner,
    picture: "str | Path | NDArray[Any] | ReadPicture",
    *,
    caption: str | None = None,
    beam: int = 5,
    alpha: float = 1.0,
    name: str | None = None,
) -> CaptionExplanation:
    """The explanation of the caption that the model gives a picture, or of a given one."""
    read = picture if isinstance(picture, ReadPicture) else captioner.read_one(picture)
    if caption is None:
        [found] = captioner.search([read], SearchOptions(beam=beam, alpha=alpha))
        text = found.text
    else:
        text = caption
    [score] = captioner.score([read], [text])
    [ids] = captioner.encode([text])
    [stack] = cross_attention(captioner, [read], [ids])
    maps = word_maps(stack, ids, captioner.tokenizer, captioner.grid, captioner.attention)
    patches = list(range(captioner.grid[0] * captioner.grid[1]))
    heads = merged(stack, patches, captioner.tokenizer.words(ids), len(patches), len(maps.words))
    pieces = captioner.tokenizer.vocabulary.pieces
    return CaptionExplanation(
        model=_facts(captioner, name),
        picture=caption_maps(read, maps.words, NamedArray.of(maps.weights, "word", "row", "column"), text),
        given=caption is not None,
        logprob=score.logprob,
        token_logprobs=score.token_logprobs,
        tokens=[*(pieces[token] for token in ids), "</s>"],
        heads=NamedArray.of(
            heads.reshape(*heads.shape[:-1], *captioner.grid), "layer", "head", "word", "row", "column"
        ),
    )


def caption_maps(
    read: ReadPicture,
    words: Sequence[str],
    maps: NamedArray,
    text: str,
    reference: str | None = None,
    gold: Sequence[WordRegion] = (),
) -> CaptionMaps:
    """The record of a picture and its maps."""
    pixels = np.ascontiguousarray(read.pixels)
    png = base64.b64encode(encoded_png(pixels)).decode("ascii")
    return CaptionMaps(read.name, pixels.shape[0], pixels.shape[1], png, text, words, maps, reference, gold)


def _facts(captioner: Captioner, name: str | None) -> ModelFacts:
    config: Any = None if captioner.bundle is None else captioner.bundle.config
    network: Any = captioner.network
    return ModelFacts(
        name=name or (type(network).__name__ if captioner.bundle is None else captioner.bundle.name),
        kind="captioner",
        score=None if config is None else getattr(config.model, "score", None),
        source_language=None,
        target_language=captioner.languages.target,
        parameters=sum(parameter.numel() for parameter in network.parameters()),
    )
