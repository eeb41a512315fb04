"""What every tokeniser does. Nothing outside of this room knows which kind it holds.

The contract: `decode(encode(x)) == normalise(x)` for every `str`, whatever the tokeniser was learned from.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from regard.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np

    from regard.text.packed import Packer


class Tokenizer(Protocol):
    """Text to ids and back."""

    @property
    def kind(self) -> str:
        """`bpe`, `unigram`, `word` or `char`."""
        ...

    @property
    def form(self) -> str:
        """The Unicode form of `normalise`."""
        ...

    @property
    def lowercase(self) -> bool:
        """Whether `normalise` lowercases."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The pieces."""
        ...

    def normalise(self, text: str) -> str:
        """The spelling that `encode` reads and `decode` gives back."""
        ...

    def encode(self, text: str) -> list[int]:
        """The ids of the normalised text, without an end mark."""
        ...

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each text, faster than one by one."""
        ...

    def packer(self) -> "Packer":
        """A function that encodes many texts at once into one array; it may remember words from call to call."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """One line of text. End marks and padding are ignored, invalid bytes become U+FFFD, a line break a space."""
        ...

    def words(self, ids: Sequence[int]) -> list[int]:
        """For each id the index of its word in `decode(ids).split(" ")`."""
        ...

    def drop(self, ids: Sequence[int], probability: float, generator: "np.random.Generator") -> list[int]:
        """`ids` cut anew with BPE-dropout, spelling the same text; unchanged where the kind is not `bpe`."""
        ...

    def files(self) -> dict[str, bytes]:
        """What must be stored to have this tokeniser again: file suffix to content."""
        ...


def word_ends(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    """Where the last token of each word stands; to one who reads from left to right, the whole word is known there."""
    return [place for place, (word, following) in enumerate(pairwise([*tokenizer.words(ids), -1])) if word != following]
