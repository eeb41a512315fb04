"""A word tokeniser: one piece for each frequent word, bytes for any other word. White space separates words.

A word of the vocabulary, `low`, is the piece `▁low`. Any other word is the piece `▁` followed by the bytes of its
UTF-8, so decoding gives the text back exactly. It opens no files.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from regard.errors import TextError
from regard.text.config import OneTextConfig
from regard.text.normalise import SPACE_MARK, Form, normalise
from regard.text.vocabulary import BYTE_PIECES, END, PAD, UNKNOWN, Vocabulary

if TYPE_CHECKING:
    import numpy as np

    from regard.text.packed import Packer

_CHUNK_TEXTS = 1000  # counted at once


class WordTokenizer:
    """A tokeniser whose pieces are the words of a fixed list, and bytes."""

    kind = "word"
    keeps_lines = False

    def __init__(
        self, words: Sequence[str], form: Form = "nfc", lowercase: bool = False, reserved: Sequence[str] = ()
    ) -> None:
        self.form: Form = form
        self.lowercase = lowercase
        bad = next((word for word in words if len(word.split()) != 1 or word != normalise(word, "none")), None)
        if bad is not None:
            raise TextError(f"{bad!r} is not one normalised word")
        self.vocabulary = Vocabulary(
            [END, UNKNOWN, *reserved, *BYTE_PIECES, SPACE_MARK, *(SPACE_MARK + word for word in words), PAD],
            silent=reserved,
        )
        self._ids_of_word = {word: [self.vocabulary.id_of(SPACE_MARK + word)] for word in words}
        self._space = self.vocabulary.id_of(SPACE_MARK)

    def normalise(self, text: str) -> str:
        return normalise(text, self.form, self.lowercase)

    def encode(self, text: str) -> list[int]:
        return [index for word in self.normalise(text).split() for index in self._word_ids(word)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def packer(self) -> "Packer":
        from regard.text.packed import WordPacker

        return WordPacker(lambda words: [self._word_ids(word) for word in words], self.form, self.lowercase)

    def decode(self, ids: Sequence[int]) -> str:
        return self.vocabulary.text(ids)

    def words(self, ids: Sequence[int]) -> list[int]:
        return self.vocabulary.words(ids)

    def drop(self, ids: Sequence[int], probability: float, generator: "np.random.Generator") -> list[int]:
        return list(ids)

    def _word_ids(self, word: str) -> list[int]:
        return self._ids_of_word.get(word) or [self._space, *self.vocabulary.bytes_of(word)]

    def files(self) -> dict[str, bytes]:
        return {".vocab.json": (json.dumps(list(self._ids_of_word), ensure_ascii=False, indent=0) + "\n").encode()}


def learn_word(config: OneTextConfig, words: Mapping[str, int]) -> WordTokenizer:
    """A tokeniser of the most frequent of the counted words. Ties are broken by code point."""
    ordered = sorted(words, key=lambda word: (-words[word], word))
    reserved = config.reserved.names
    kept = ordered[: config.vocabulary - len(reserved)]
    return WordTokenizer(kept, config.form, config.lowercase, reserved)


def count_words(texts: Iterable[str], form: Form = "nfc", lowercase: bool = False) -> Counter[str]:
    """Word -> number of its occurrences in the normalised texts."""
    # Normalising never joins words across white space, so each different raw word is normalised once.
    raw_counts: Counter[str] = Counter()
    stream = iter(texts)
    while chunk := list(islice(stream, _CHUNK_TEXTS)):
        raw_counts.update(" ".join(chunk).split())
    counts: Counter[str] = Counter()
    for raw_word, count in raw_counts.items():
        for word in normalise(raw_word, form, lowercase).split():
            counts[word] += count
    return counts
