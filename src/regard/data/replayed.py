"""`ReplayedExamples`: the examples of a run, with batches of old examples among them, for texts and labelled texts.

Sentence pairs are mixed within batches instead (`data.mixing`). The plan is a pure function of the sets, the seed and the epoch.
"""

from collections.abc import Sequence

import numpy as np

from regard.data.batches import Batch
from regard.data.examples import ExampleSet, Numbers

OLD = 1 << 44
"""What is added to the number of an old example, once for each pass over the old ones in an epoch."""
_PASSES = 1_000_003  # more than the epochs of a run, so that every pass has an order of its own


class ReplayedExamples:
    """New examples and old ones. A batch has examples of one of the two, and the old ones are a share of each epoch."""

    def __init__(self, new: ExampleSet, old: ExampleSet, share: float) -> None:
        self._new, self._old, self._share = new, old, share
        self.costly = bool(getattr(new, "costly", False))
        """Whether a batch takes so long to make that training makes it ahead, in a process of its own."""

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def plan(self, batch_tokens: int, seed: int, epoch: int) -> list[Numbers]:
        """The batches of an epoch. Of the last old batch a random draw decides, so that the share is met on average."""
        batches = self._new.plan(batch_tokens, seed, epoch)
        generator = np.random.default_rng([seed, epoch, 0, 5])
        wanted = self._share / (1.0 - self._share) * sum(map(len, batches))
        old: list[Numbers] = []
        turn = 0
        while wanted > 0:
            again = self._old.plan(batch_tokens, seed, epoch + turn * _PASSES)
            for place in generator.permutation(len(again)).tolist():
                batch = again[place]
                if generator.random() >= min(1.0, wanted / len(batch)):
                    wanted = 0.0
                    break
                old.append(np.asarray(batch) + (turn + 1) * OLD)
                wanted -= len(batch)
                if wanted <= 0:
                    break
            turn += 1
        places = set(generator.choice(len(batches) + len(old), len(old), replace=False).tolist())
        rest, again_old = iter(batches), iter(old)
        return [next(again_old if place in places else rest) for place in range(len(batches) + len(old))]

    def split(self, batch: Numbers, parts: int, seed: int, epoch: int) -> list[Numbers]:
        """A batch split into parts of about equally many tokens."""
        examples, numbers, pass_epoch, offset = self._of(batch, epoch)
        return [part + offset for part in examples.split(numbers, parts, seed, pass_epoch)]

    def batch(self, numbers: Sequence[int] | Numbers, seed: int, epoch: int, readings: int = 1) -> Batch:
        """The tensors of these examples in this epoch."""
        examples, own, pass_epoch, _ = self._of(np.asarray(numbers, dtype=np.int64), epoch)
        return examples.batch(own, seed, pass_epoch, readings)

    def where(self, batches: Sequence[Numbers], seed: int, epoch: int) -> str:
        """The origin of these examples, such as line numbers, for messages."""
        several = []
        for batch in batches:
            examples, numbers, pass_epoch, offset = self._of(batch, epoch)
            text = examples.where([numbers], seed, pass_epoch)
            several.append(f"replayed {text}" if offset else text)
        return ", ".join(dict.fromkeys(several))

    def _of(self, batch: Numbers, epoch: int) -> tuple[ExampleSet, Numbers, int, int]:
        """(the set of a batch, the numbers there, the epoch of the pass over it, what was added to the numbers)."""
        turn = int(batch[0]) // OLD if len(batch) else 0
        if not turn:
            return self._new, batch, epoch, 0
        return self._old, batch - turn * OLD, epoch + (turn - 1) * _PASSES, turn * OLD
