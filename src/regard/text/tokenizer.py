"""The `Tokenizer` protocol. Nothing outside of this room depends on the kind of a tokeniser.

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
    """Encodes text into ids and decodes ids into text."""

    @property
    def kind(self) -> str:
        """`bpe`, `unigram`, `word` or `char`, or that of an imported one."""
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
    def keeps_lines(self) -> bool:
        """Whether `encode` reads a text of several lines as one, and its pieces keep spaces and line breaks."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The pieces and their ids."""
        ...

    def normalise(self, text: str) -> str:
        """The normalised text: what `decode(encode(text))` returns."""
        ...

    def encode(self, text: str) -> list[int]:
        """The ids of the normalised text, without an end mark."""
        ...

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each text, faster than one by one."""
        ...

    def packer(self) -> "Packer":
        """A function that encodes many texts into one array; it may cache words between calls."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """One line of text. End marks and padding are ignored. Invalid bytes become U+FFFD, line breaks become spaces."""
        ...

    def words(self, ids: Sequence[int]) -> list[int]:
        """For each id the index of its word in `decode(ids).split(" ")`."""
        ...

    def drop(self, ids: Sequence[int], probability: float, generator: "np.random.Generator") -> list[int]:
        """A random segmentation of the same text by BPE-dropout; `ids` unchanged if the kind is not `bpe`."""
        ...

    def files(self) -> dict[str, bytes]:
        """The files that store this tokeniser: file suffix -> content."""
        ...


def word_ends(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    """The position of the last token of each word, where a left-to-right model has read the whole word."""
    return [place for place, (word, following) in enumerate(pairwise([*tokenizer.words(ids), -1])) if word != following]
