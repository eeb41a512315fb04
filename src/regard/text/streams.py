"""Random generators by counter: one for each example of an epoch, independent of all draws before it. It knows no corpus."""

import numpy as np

DROPOUT, CORRUPTION = 0, 1
"""What the numbers are for: two purposes share none."""

_MASK = (1 << 64) - 1


class ExampleStreams:
    """The generator of each example of one epoch. Resetting one generator is faster than making many."""

    def __init__(self, seed: int, epoch: int, purpose: int = DROPOUT) -> None:
        # Philox is a function of key and counter: epoch and example fill the upper half of the counter, so 2^64 blocks
        # of numbers separate two examples.
        counter = np.array([0, 0, epoch & _MASK, 0], dtype=np.uint64)
        self._source = np.random.Philox(counter=counter, key=np.array([seed & _MASK, purpose], dtype=np.uint64))
        self._generator = np.random.Generator(self._source)
        self._start = self._source.state

    def of(self, example: int) -> np.random.Generator:
        """The generator of an example. It is shared: draw all numbers before the next call."""
        self._start["state"]["counter"][3] = example & _MASK
        self._source.state = self._start
        return self._generator
