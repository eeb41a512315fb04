"""Batches of labelled pictures: an `ExampleSet`, with augmentation in training.

A batch is a pure function of the corpus, the seed and the epoch. It knows no network, only how many tokens a picture has for it.

Shapes: B pictures, R readings of each, C channels, H height, W width, L labels.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from regard.data.augment import augmented, blanked, draw
from regard.data.augment_config import AugmentConfig
from regard.data.batches import Batch
from regard.data.examples import Numbers, first_few
from regard.data.images import ImageCorpus, pixel_tensor

_READING = 1 << 40  # apart: the counters of two readings of one picture


class ImageExamples:
    """Labelled pictures as batches."""

    def __init__(
        self,
        corpus: ImageCorpus,
        labels: int,
        tokens: int,
        mean: Sequence[float],
        deviation: Sequence[float],
        augment: AugmentConfig | None = None,
    ) -> None:
        """labels: how many there are. tokens: of one picture. augment: None to read pictures as they are."""
        self.corpus, self._labels, self._tokens, self._augment = corpus, labels, tokens, augment
        self._mean, self._deviation = mean, deviation

    def __len__(self) -> int:
        return len(self.corpus)

    def plan(self, batch_tokens: int, seed: int, epoch: int) -> list[Numbers]:
        """All pictures in random order, in batches of equal size but for the last."""
        size = max(1, batch_tokens // self._tokens)
        order = np.asarray(np.random.default_rng([seed, epoch]).permutation(len(self)), dtype=np.int64)
        return [order[first : first + size] for first in range(0, len(order), size)]

    def split(self, batch: Numbers, parts: int, seed: int, epoch: int) -> list[Numbers]:
        return np.array_split(batch, parts)

    def batch(self, numbers: Sequence[int] | Numbers, seed: int, epoch: int, readings: int = 1) -> Batch:
        chosen = np.asarray(numbers, dtype=np.int64)
        labels = torch.from_numpy(self.corpus.labels[chosen][:, None].astype(np.int64))
        several = [self._read(chosen, seed, epoch, reading) for reading in range(readings)]
        mixtures = [mixture for _, mixture in several if mixture is not None]
        return Batch(
            source=torch.cat([pixels for pixels, _ in several]),
            target_in=torch.full_like(labels, self._labels),
            target_out=labels,
            indices=tuple(chosen.tolist()),
            tokens=len(chosen),
            mixture=torch.cat(mixtures) if mixtures else None,
        )

    def where(self, batches: Sequence[Numbers], seed: int, epoch: int) -> str:
        return f"training pictures {first_few([self.corpus.names[number] for batch in batches for number in batch])}"

    def _read(self, chosen: Numbers, seed: int, epoch: int, reading: int) -> tuple[Tensor, Tensor | None]:
        """[B, C, H, W] pixels; and [B, L] the expected probabilities if pictures are mixed."""
        config = self._augment
        pictures = self.corpus.pictures(chosen)
        if config is None:
            return pixel_tensor(pictures, self._mean, self._deviation), None
        draws = draw(config, seed, epoch, chosen + reading * _READING)
        pixels = self._changed(config, chosen, draws.own)
        if not config.mixup:
            return pixels, None
        partners = np.minimum((draws.partner * len(self)).astype(np.int64), len(self) - 1)
        share = torch.from_numpy(draws.share).float()
        mixed = torch.lerp(self._changed(config, partners, draws.others), pixels, share[:, None, None, None])
        own, other = (torch.from_numpy(self.corpus.labels[places].astype(np.int64)) for places in (chosen, partners))
        mixture = torch.zeros(len(chosen), self._labels)
        mixture.scatter_(1, own[:, None], share[:, None])
        return mixed, mixture.scatter_add_(1, other[:, None], 1.0 - share[:, None])

    def _changed(self, config: AugmentConfig, chosen: Numbers, draws: "np.typing.NDArray[np.float64]") -> Tensor:
        pictures = augmented(config, self.corpus.pictures(chosen), draws)
        return blanked(config, pixel_tensor(pictures, self._mean, self._deviation), draws)
