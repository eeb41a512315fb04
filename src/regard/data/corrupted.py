"""Corrupted texts as training examples: contexts of a text, each with what the model reads of it and what it must say.

What is corrupted is a function of (seed, epoch, example), whatever else is in the batch. It sees ids, never text or a model.
"""

from collections.abc import Sequence

import numpy as np
import torch

from regard.data.batches import Batch, pad_rows, plan, split, with_end_marks
from regard.data.contexts import Contexts
from regard.data.corruption import Corrupted, Corrupter
from regard.data.examples import Numbers, first_few
from regard.data.texts import TextCorpus
from regard.text.packed import pack
from regard.text.streams import CORRUPTION, ExampleStreams
from regard.text.vocabulary import Vocabulary


class CorruptedExamples:
    """Contexts of a text, corrupted anew in each epoch."""

    def __init__(
        self,
        corpus: TextCorpus,
        vocabulary: Vocabulary,
        corrupter: Corrupter,
        longest: int,
        *,
        in_place: bool,
        lines: bool,
        moving: bool,
    ) -> None:
        """in_place: the outputs stand at the places of the source. lines: each document is a line, with an end mark in the corpus.

        moving: the first context of a long document has a random length, different in each epoch.
        """
        self.corpus, self._corrupter, self._in_place = corpus, corrupter, in_place
        self._pad, self._end = vocabulary.pad, vocabulary.EOS
        begins, ends = corpus.offsets[:-1], corpus.offsets[1:] - int(lines)
        some = ends > begins  # a line of control characters alone has no tokens
        self._contexts = Contexts(begins[some], ends[some], longest, moving=moving)

    def __len__(self) -> int:
        return len(self._contexts.of(0, 0)[0])

    def plan(self, batch_tokens: int, seed: int, epoch: int) -> list[Numbers]:
        return plan(*self._lengths(seed, epoch), batch_tokens, seed, epoch)

    def split(self, batch: Numbers, parts: int, seed: int, epoch: int) -> list[Numbers]:
        return split(batch, *self._lengths(seed, epoch), parts)

    def _lengths(self, seed: int, epoch: int) -> tuple[Numbers, Numbers]:
        """The most tokens of source and target of each example."""
        return self._corrupter.lengths(self._contexts.of(seed, epoch)[1])

    def corrupted(self, number: int, seed: int, epoch: int) -> Corrupted:
        """An example, without end marks."""
        return self._corrupted([number], seed, epoch)[0]

    def _corrupted(self, numbers: Sequence[int], seed: int, epoch: int) -> list[Corrupted]:
        starts, lengths = self._contexts.of(seed, epoch)
        streams = ExampleStreams(seed, epoch, CORRUPTION)
        self.corpus.files.check()
        results = []
        for number in numbers:
            start = starts[number]
            ids = self.corpus.ids[start : start + lengths[number]].astype(np.int64)
            results.append(self._corrupter(ids, streams.of(number)))
        return results

    def batch(self, numbers: Sequence[int] | Numbers, seed: int, epoch: int, readings: int = 1) -> Batch:
        chosen = np.asarray(numbers, dtype=np.int64).tolist()
        examples = self._corrupted(chosen, seed, epoch)
        sources, targets = (pack([row[side].tolist() for row in examples]) for side in (0, 1))
        source = with_end_marks(pad_rows(sources, self._pad), sources.lengths, self._end)
        target = pad_rows(targets, self._pad)
        if self._in_place:
            expected, given = target, np.full_like(target, self._pad)
        else:
            start = np.full((len(chosen), 1), self._pad, dtype=np.int64)
            given = np.concatenate([start, target[:, :-1]], axis=1)
            expected = with_end_marks(target, targets.lengths, self._end)
        return Batch(
            source=torch.from_numpy(np.tile(source, (readings, 1))),
            target_in=torch.from_numpy(given),
            target_out=torch.from_numpy(expected),
            indices=tuple(chosen),
            tokens=int((expected != self._pad).sum()),
        )

    def where(self, batches: Sequence[Numbers], seed: int, epoch: int) -> str:
        starts, _ = self._contexts.of(seed, epoch)
        return f"contexts from training tokens {first_few([int(starts[number]) + 1 for batch in batches for number in batch])} on"
