"""From the cross-attention of a captioner to a map of the picture for each word, and how often its peak is where the word belongs.

Shapes: L layers, N heads, T tokens with end mark, S patches, r rows and c columns of patches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from regard.bundle.config import AlignmentConfig
from regard.data.regions import NAMED, WordRegion
from regard.data.scenes.corpus import inside_grid
from regard.ops.probe import Probe
from regard.tasks.caption.caption import WordMaps
from regard.tasks.translate.alignment import merged, to_one, token_weights
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.tasks.caption.captioner import Captioner, ReadPicture

JUDGED = ("colour", "shape", NAMED)
"""The words whose attention is judged: they name what is to be seen in one place, or have a region in a file of captions."""


def cross_attention(
    captioner: "Captioner", pictures: "Sequence[ReadPicture]", targets: Sequence[Sequence[int]]
) -> list[Tensor]:
    """[L, N, T, S] of each picture, by teacher forcing."""
    probe = Probe("decoder.*.cross.weights")
    captioner.forced(pictures, targets, probe)
    names = sorted(probe, key=lambda name: int(name.split(".")[1]))
    stack = torch.stack([probe[name] for name in names], dim=1)  # [B, L, N, T, S]
    return [own[:, :, : len(ids) + 1] for own, ids in zip(stack, targets, strict=True)]


def word_maps(
    stack: Tensor, ids: Sequence[int], tokenizer: Tokenizer, grid: tuple[int, int], how: AlignmentConfig
) -> WordMaps:
    """The map of each word: the mean over its tokens of the chosen heads of `stack` [L, N, T, S]."""
    weights = token_weights(stack, how.layer, how.heads, how.shift)
    words = tokenizer.decode(ids).split()
    patches = list(range(grid[0] * grid[1]))  # each patch is a "word" of the source
    maps = to_one(merged(weights, patches, tokenizer.words(ids), len(patches), len(words)))
    return WordMaps(words, torch.from_numpy(maps).view(len(words), *grid))


@dataclass(frozen=True)
class Pointing:
    """How often the peak of a word's map lies in its gold region."""

    hits: int
    words: int
    chance: float
    """The expected share of hits of a peak anywhere: the mean share of patches that lie in the region."""

    @property
    def share(self) -> float:
        return self.hits / self.words


def pointing(
    maps: Sequence[WordMaps], regions: Sequence[Sequence[WordRegion]], roles: Sequence[str] = JUDGED
) -> Pointing | None:
    """How often words of these roles peak in their gold regions. The maps are those of the gold captions. None: no such word.

    A peak lies in a region if the centre of its patch lies in a box of the region.
    """
    hits, words, chance = 0, 0, 0.0
    for own, gold in zip(maps, regions, strict=True):
        if own.words != [word.text for word in gold]:
            continue  # a tokenizer that does not give the words back
        for number, word in enumerate(gold):
            if word.role in roles and word.boxes:
                inside = inside_grid(word.boxes, (own.weights.shape[1], own.weights.shape[2]))
                hits += bool(inside[own.peak(number)])
                words += 1
                chance += float(np.mean(inside))
    return Pointing(hits, words, chance / words) if words else None
