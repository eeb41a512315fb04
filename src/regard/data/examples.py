"""Training examples of each task: sentence pairs, contexts of a text, and labelled texts, as batches of an epoch.

Batches are a pure function of the corpus, the seed and the epoch, so nothing has to be saved to resume in the middle of an epoch. It sees
ids, never text or a model.

Shapes: N examples, B examples of a batch, R readings of each, T tokens.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.alignments import WordLinks
from regard.data.batches import Batch, make_batch, pad_rows, plan, split, with_end_marks
from regard.data.contexts import Contexts
from regard.data.corpus import EncodedPairs
from regard.data.labelled import LabelledCorpus
from regard.data.mixing import CorpusPart, epoch_examples, is_mixed, origins
from regard.data.texts import TextCorpus
from regard.text.build import TokenizerPair

Numbers = NDArray[np.int64]
"""Numbers of examples in the corpus. Further occurrences of an example in one epoch are its number plus multiples of the corpus's size."""


class ExampleSet(Protocol):
    """A corpus that can be split into batches."""

    def __len__(self) -> int: ...

    def plan(self, batch_tokens: int, seed: int, epoch: int) -> list[Numbers]:
        """The examples of each batch of an epoch, in order. A batch has at most `batch_tokens` tokens, padding included."""
        ...

    def split(self, batch: Numbers, parts: int, seed: int, epoch: int) -> list[Numbers]:
        """A batch split into parts of about equally many tokens. Parts may be empty if examples are few."""
        ...

    def batch(self, numbers: Sequence[int] | Numbers, seed: int, epoch: int, readings: int = 1) -> Batch:
        """The tensors of these examples in this epoch."""
        ...

    def where(self, batches: Sequence[Numbers], seed: int, epoch: int) -> str:
        """The origin of these examples, such as line numbers, for messages."""
        ...


class PairExamples:
    """Sentence pairs, with BPE-dropout (a new segmentation in each epoch) and word alignments if given.

    parts: the training corpora that the pairs come from; their weights say how often a pair occurs in an epoch.
    """

    def __init__(
        self,
        corpus: EncodedPairs,
        tokenizers: TokenizerPair,
        dropout: float = 0.0,
        links: WordLinks | None = None,
        parts: Sequence[CorpusPart] = (),
    ) -> None:
        self.corpus, self._tokenizers, self._dropout, self._links = corpus, tokenizers, dropout, links
        self._parts = parts
        self.costly = dropout > 0.0
        """Whether a batch takes so long to make that training makes it ahead, in a process of its own."""

    def __len__(self) -> int:
        return len(self.corpus)

    def plan(self, batch_tokens: int, seed: int, epoch: int) -> list[Numbers]:
        if not is_mixed(self._parts):
            return plan(self.corpus.source_lengths, self.corpus.target_lengths, batch_tokens, seed, epoch)
        numbers = epoch_examples(self._parts, seed, epoch)
        return [numbers[batch] for batch in plan(*self._lengths(numbers), batch_tokens, seed, epoch)]

    def split(self, batch: Numbers, parts: int, seed: int, epoch: int) -> list[Numbers]:
        return [batch[places] for places in split(np.arange(len(batch)), *self._lengths(batch), parts)]

    def _lengths(self, numbers: Numbers) -> tuple[Numbers, Numbers]:
        """Source and target lengths of these examples."""
        examples = numbers % len(self.corpus)
        return self.corpus.source_lengths[examples], self.corpus.target_lengths[examples]

    def batch(self, numbers: Sequence[int] | Numbers, seed: int, epoch: int, readings: int = 1) -> Batch:
        return make_batch(self.corpus, numbers, self._tokenizers, self._dropout, seed, epoch, readings, self._links)

    def where(self, batches: Sequence[Numbers], seed: int, epoch: int) -> str:
        lines = [int(self.corpus.lines[number % len(self.corpus)]) for batch in batches for number in batch]
        return f"training lines {first_few(origins(self._parts, lines) if len(self._parts) > 1 else lines)}"


class ContextExamples:
    """Documents cut into contexts, each with the start token before it."""

    def __init__(self, corpus: TextCorpus, pad: int, longest: int, *, moving: bool) -> None:
        """`moving`: the first context of a long document has a random length, different in each epoch."""
        self.corpus, self._pad = corpus, pad
        self._contexts = Contexts(corpus.offsets[:-1], corpus.offsets[1:], longest, moving=moving)

    def __len__(self) -> int:
        return len(self._contexts.of(0, 0)[0])

    def plan(self, batch_tokens: int, seed: int, epoch: int) -> list[Numbers]:
        _, lengths = self._contexts.of(seed, epoch)
        return plan(lengths - 1, lengths - 1, batch_tokens, seed, epoch)  # `plan` adds one for an end mark

    def split(self, batch: Numbers, parts: int, seed: int, epoch: int) -> list[Numbers]:
        _, lengths = self._contexts.of(seed, epoch)
        return split(batch, lengths, lengths, parts)

    def batch(self, numbers: Sequence[int] | Numbers, seed: int, epoch: int, readings: int = 1) -> Batch:
        chosen = np.asarray(numbers, dtype=np.int64)
        starts, lengths = (part[chosen] for part in self._contexts.of(seed, epoch))
        width = int(lengths.max())
        table = np.full((len(chosen), width + 1), self._pad, dtype=np.int64)
        real = np.arange(width) < lengths[:, None]
        self.corpus.files.check()
        table[:, 1:][real] = self.corpus.ids[(starts[:, None] + np.arange(width))[real]]
        rows = torch.from_numpy(table)
        return Batch(
            source=rows.new_zeros(readings * len(chosen), 0),
            target_in=rows[:, :-1],
            target_out=rows[:, 1:],
            indices=tuple(chosen.tolist()),
            tokens=int(lengths.sum()),
        )

    def where(self, batches: Sequence[Numbers], seed: int, epoch: int) -> str:
        starts, _ = self._contexts.of(seed, epoch)
        return f"contexts from training tokens {first_few([int(starts[number]) + 1 for batch in batches for number in batch])} on"


class LabelledExamples:
    """Labelled texts. A text has one label, or a label at the last token of each word if it is tagged."""

    def __init__(self, corpus: LabelledCorpus, pad: int, end: int, labels: int) -> None:
        self.corpus, self._pad, self._end, self._labels = corpus, pad, end, labels

    def __len__(self) -> int:
        return len(self.corpus)

    def plan(self, batch_tokens: int, seed: int, epoch: int) -> list[Numbers]:
        return plan(self.corpus.lengths, self.corpus.lengths, batch_tokens, seed, epoch)

    def split(self, batch: Numbers, parts: int, seed: int, epoch: int) -> list[Numbers]:
        return split(batch, self.corpus.lengths, self.corpus.lengths, parts)

    def batch(self, numbers: Sequence[int] | Numbers, seed: int, epoch: int, readings: int = 1) -> Batch:
        chosen = np.asarray(numbers, dtype=np.int64)
        rows = self.corpus.texts(np.tile(chosen, readings))
        labels = torch.from_numpy(self._expected(chosen))
        return Batch(
            source=torch.from_numpy(with_end_marks(pad_rows(rows, self._pad), rows.lengths, self._end)),
            target_in=torch.full_like(labels, self._labels),
            target_out=labels,
            indices=tuple(chosen.tolist()),
            tokens=int((labels != self._labels).sum()),
        )

    def _expected(self, chosen: Numbers) -> Numbers:
        """[B, 1] labels, or [B, T] for tagged texts; the number of labels marks positions without a label."""
        if self.corpus.tagged:
            return pad_rows(self.corpus.tags(chosen), self._labels)
        return self.corpus.labels[chosen][:, None]

    def where(self, batches: Sequence[Numbers], seed: int, epoch: int) -> str:
        return f"training lines {first_few([int(self.corpus.lines[number]) for batch in batches for number in batch])}"


def first_few(items: Sequence[int | str]) -> str:
    return ", ".join(map(str, items[:5])) + (", .." if len(items) > 5 else "")
