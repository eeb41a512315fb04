"""Generated tasks that show what a mixer remembers: associative recall of three forms, and a question far from its answer.

An example is a pure function of (seed, index), so that training and test are told apart by their seeds and nothing is stored.

`single`: pairs of a key and its value stand at random places of the sequence, blanks elsewhere. Its last token is one of the keys; the
answer is the value of that key. `multi` (MQAR, Arora et al. 2023): the pairs stand in the first half. In the second half each key comes
once more, at a random place, and is answered there. `repeated` (Poli et al. 2023, who ask at the end only): nothing but pairs, drawn with
replacement, so that a key has stood with its value many times; each key that has come before is asked. A far question is a text
of noise that begins with two statements and ends with a question about one of them; the label is the answer. It knows no model.

Shapes: B examples, L tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError

BLANK = 0
SYMBOLS = 64
"""Keys, and as many values, if a task has no other number of them."""
UNASKED = -1
"""The target of a position where nothing is asked."""
SUBJECTS = ("alpha", "beta")
"""A question is the name of one. A statement is the name and its label in one word: `alphaup`."""
LABELS = ("up", "down")
NOISE = tuple("abcdefghijklmnop")
EDGE = 16
"""The statements stand in the first sixteenth of a text, the question in the last."""
SHORTEST = 2 * EDGE
"""Words of the shortest text: its first sixteenth has room for both statements."""

RecallForm = Literal["single", "multi", "repeated"]
Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Recall:
    """A task of associative recall: its form, the length of a sequence in tokens, how many pairs it holds, and of how many symbols.

    Ids 1 .. symbols are keys, symbols + 1 .. 2 symbols values. Two pairs of a sequence have different keys.
    """

    form: RecallForm
    length: int
    pairs: int
    symbols: int = SYMBOLS

    def __post_init__(self) -> None:
        if self.symbols < 2:
            raise DataError(f"recall of {self.symbols} symbols: one value alone needs no memory; take at least 2")
        if not 1 <= self.pairs <= self.most_pairs:
            raise DataError(
                f"recall of {self.pairs} pairs in {self.length} tokens, of {self.symbols} symbols: there are 1 to "
                f"{self.most_pairs} of them; lower the pairs, or raise the length or the symbols"
            )

    @property
    def vocabulary(self) -> int:
        """The ids: the blank, keys and values."""
        return 1 + 2 * self.symbols

    @property
    def places(self) -> int:
        """The places of pairs: a pair takes two tokens, and so does a query of `multi`."""
        return self.length // 4 if self.form == "multi" else max(0, self.length - 1) // 2

    @property
    def most_pairs(self) -> int:
        """The pairs that there are places and keys for."""
        return min(self.symbols, self.places)

    def example(self, seed: int, index: int) -> tuple[Ids, Ids]:
        """(tokens [L], targets [L]): the value that answers each query, and `UNASKED` elsewhere."""
        generator = np.random.default_rng([seed, index])
        tokens, targets = np.full(self.length, BLANK), np.full(self.length, UNASKED)
        keys = 1 + generator.permutation(self.symbols)[: self.pairs]
        values = 1 + self.symbols + generator.integers(self.symbols, size=self.pairs)
        if self.form == "repeated":
            drawn = generator.integers(self.pairs, size=self.places + 1)
            drawn[-1] = drawn[generator.integers(self.places)]  # the last token is a key that has come
            before = np.isin(np.arange(len(drawn)), np.unique(drawn, return_index=True)[1], invert=True)
            places = self.length - 1 - 2 * np.arange(self.places, -1, -1)
            tokens[places], tokens[places[:-1] + 1] = keys[drawn], values[drawn[:-1]]
            targets[places[before]] = values[drawn[before]]
            return tokens, targets
        places = 2 * generator.permutation(self.places)[: self.pairs]
        tokens[places], tokens[places + 1] = keys, values
        if self.form == "single":
            tokens[-1], targets[-1] = (
                keys[0],
                values[0],
            )  # the places are in random order, so the first key may stand anywhere
        else:
            asked = 2 * (self.places + generator.permutation(self.places)[: self.pairs])
            tokens[asked], targets[asked] = keys, values
        return tokens, targets

    def batch(self, seed: int, first: int, count: int) -> tuple[Ids, Ids]:
        """(tokens [B, L], targets [B, L]) of the examples `first` .. `first + count - 1`."""
        examples = [self.example(seed, index) for index in range(first, first + count)]
        return np.stack([tokens for tokens, _ in examples]), np.stack([targets for _, targets in examples])


def far_question(length: int, seed: int, index: int) -> tuple[str, str]:
    """(text of `length` words, its label): two statements in the first sixteenth, a question in the last, noise elsewhere.

    Without the question no rule is right more than three times in four, and without the statements more than once in two.
    """
    if length < SHORTEST:
        raise DataError(f"a far question of {length} words: it needs at least {SHORTEST}; raise the length")
    generator = np.random.default_rng([seed, length, index])
    words = np.array(NOISE, dtype=object)[generator.integers(len(NOISE), size=length)].tolist()
    labels = [LABELS[number] for number in generator.integers(len(LABELS), size=len(SUBJECTS))]
    places = generator.choice(length // EDGE, len(SUBJECTS), replace=False)
    for subject, label, place in zip(SUBJECTS, labels, places, strict=True):
        words[place] = subject + label
    asked = int(generator.integers(len(SUBJECTS)))
    words[length - 1 - int(generator.integers(length // EDGE))] = SUBJECTS[asked]
    return " ".join(words), labels[asked]


def far_lines(lengths: Sequence[int], words: int, seed: int) -> Iterator[str]:
    """Far questions as lines of a labelled corpus, text, tab, label: about `words` words of texts of each length."""
    for length in lengths:
        for index in range(max(1, words // length)):
            text, label = far_question(length, seed, index)
            yield f"{text}\t{label}"
