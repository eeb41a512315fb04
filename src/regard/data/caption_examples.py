"""Batches of captioned pictures: an `ExampleSet`. An example is one caption with its picture.

A batch is a pure function of the corpus, the seed and the epoch. It knows no network, only how many patches a picture has for it.

Shapes: N captions, B captions of a batch, R readings of each, C channels, H height, W width, T tokens with the end mark.
"""

from collections.abc import Sequence

import numpy as np
import torch

from regard.data.batches import Batch, pad_rows, plan, split, with_end_marks
from regard.data.captioned import CaptionCorpus
from regard.data.examples import Numbers
from regard.data.images import pixel_tensor
from regard.data.regions import region_attention
from regard.text.packed import Packed
from regard.text.tokenizer import Tokenizer

_SHOWN = 5  # pictures that a message names


class CaptionExamples:
    """Captions with their pictures. A picture with several captions is several examples."""

    def __init__(
        self,
        corpus: CaptionCorpus,
        grid: tuple[int, int],
        tokenizer: Tokenizer,
        mean: Sequence[float],
        deviation: Sequence[float],
    ) -> None:
        """grid: rows and columns of the patches of a picture; a batch counts the longer of picture and caption."""
        self.corpus, self._grid, self._tokenizer = corpus, grid, tokenizer
        # Not by length of caption: it depends on what is said, and a batch of one relation alone would be a poor sample.
        self._widths = np.maximum(corpus.lengths, grid[0] * grid[1])
        self._mean, self._deviation = mean, deviation

    def __len__(self) -> int:
        return len(self.corpus)

    def plan(self, batch_tokens: int, seed: int, epoch: int) -> list[Numbers]:
        return plan(self._widths, self._widths, batch_tokens, seed, epoch)

    def split(self, batch: Numbers, parts: int, seed: int, epoch: int) -> list[Numbers]:
        return split(batch, self._widths, self.corpus.lengths, parts)

    def batch(self, numbers: Sequence[int] | Numbers, seed: int, epoch: int, readings: int = 1) -> Batch:
        chosen = np.asarray(numbers, dtype=np.int64)
        rows = self.corpus.captions(chosen)
        vocabulary = self._tokenizer.vocabulary
        table = pad_rows(rows, vocabulary.pad)
        target_in = np.concatenate([np.full((len(chosen), 1), vocabulary.pad), table], axis=1)
        pictures = self.corpus.images.pictures(self.corpus.pictures[chosen])
        pixels = pixel_tensor(pictures, self._mean, self._deviation)
        ended = with_end_marks(table, rows.lengths, vocabulary.EOS)
        return Batch(
            source=pixels if readings == 1 else pixels.repeat(readings, 1, 1, 1),
            target_in=torch.from_numpy(target_in[:, : ended.shape[1]]),
            target_out=torch.from_numpy(ended.astype(np.int64)),
            indices=tuple(chosen.tolist()),
            tokens=int(rows.lengths.sum()) + len(chosen),
            alignment=self._attention(chosen, rows, readings),
        )

    def _attention(self, chosen: Numbers, captions: Packed, readings: int) -> torch.Tensor | None:
        """[R B, T, S] the attention that the regions ask for; None without regions."""
        if self.corpus.regions is None:
            return None
        words = [self._tokenizer.words(row.tolist()) for row in captions.rows()]
        height, width, _ = self.corpus.images.shape
        wanted = region_attention(self.corpus.regions.of(chosen), words, self._grid, (height, width))
        return torch.from_numpy(wanted).repeat(readings, 1, 1)

    def where(self, batches: Sequence[Numbers], seed: int, epoch: int) -> str:
        names = self.corpus.images.names
        shown = [names[self.corpus.pictures[number]] for batch in batches for number in batch]
        return f"training pictures {', '.join(shown[:_SHOWN])}{', ..' if len(shown) > _SHOWN else ''}"
