"""Words between spaces. The most frequent have a piece each; any other word is spelled in bytes.

A known word `low` is the piece `▁low`. An unknown one is the piece `▁` followed by the bytes of its UTF-8, so the text
always comes back exactly. Knows no files.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from regard.errors import TextError
from regard.text.config import TextConfig
from regard.text.normalise import SPACE_MARK, Form, normalise
from regard.text.vocabulary import BYTE_PIECES, END, PAD, UNKNOWN, Vocabulary

if TYPE_CHECKING:
    import numpy as np

    from regard.text.packed import Packer

_TEXTS = 1000  # counted at once


class WordTokenizer:
    """Words of a fixed list, and bytes."""

    kind = "word"

    def __init__(self, words: Sequence[str], form: Form = "nfc", lowercase: bool = False) -> None:
        self.form: Form = form
        self.lowercase = lowercase
        bad = next((word for word in words if len(word.split()) != 1 or word != normalise(word, "none")), None)
        if bad is not None:
            raise TextError(f"{bad!r} is not one normalised word")
        self.vocabulary = Vocabulary(
            [END, UNKNOWN, *BYTE_PIECES, SPACE_MARK, *(SPACE_MARK + word for word in words), PAD]
        )
        self._known = {word: [self.vocabulary.id_of(SPACE_MARK + word)] for word in words}
        self._space = self.vocabulary.id_of(SPACE_MARK)

    def normalise(self, text: str) -> str:
        return normalise(text, self.form, self.lowercase)

    def encode(self, text: str) -> list[int]:
        return [index for word in self.normalise(text).split() for index in self._cut(word)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def packer(self) -> "Packer":
        from regard.text.packed import WordPacker

        return WordPacker(lambda words: [self._cut(word) for word in words], self.form, self.lowercase)

    def decode(self, ids: Sequence[int]) -> str:
        return self.vocabulary.text(ids)

    def words(self, ids: Sequence[int]) -> list[int]:
        return self.vocabulary.words(ids)

    def drop(self, ids: Sequence[int], probability: float, generator: "np.random.Generator") -> list[int]:
        return list(ids)

    def _cut(self, word: str) -> list[int]:
        return self._known.get(word) or [self._space, *self.vocabulary.bytes_of(word)]

    def files(self) -> dict[str, bytes]:
        return {".vocab.json": (json.dumps(list(self._known), ensure_ascii=False, indent=0) + "\n").encode()}


def learn_word(config: TextConfig, words: Mapping[str, int]) -> WordTokenizer:
    """The most frequent of the counted words; of equally frequent ones the first in code point order."""
    ordered = sorted(words, key=lambda word: (-words[word], word))
    return WordTokenizer(ordered[: config.vocabulary], config.form, config.lowercase)


def count_words(texts: Iterable[str], form: Form = "nfc", lowercase: bool = False) -> Counter[str]:
    """How often each word occurs in the normalised texts."""
    # What stands between white space can be normalised by itself, so each different one is normalised once.
    found: Counter[str] = Counter()
    stream = iter(texts)
    while some := list(islice(stream, _TEXTS)):
        found.update(" ".join(some).split())
    counts: Counter[str] = Counter()
    for spelling, count in found.items():
        for word in normalise(spelling, form, lowercase).split():
            counts[word] += count
    return counts
