"""A character tokeniser: one piece for each frequent character, `▁` for the space, bytes for any other character.

It opens no files.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from regard.errors import TextError
from regard.text.config import OneTextConfig
from regard.text.normalise import SPACE_MARK, Form, normalise
from regard.text.vocabulary import BYTE_PIECES, END, PAD, UNKNOWN, Vocabulary

if TYPE_CHECKING:
    import numpy as np

    from regard.text.packed import Packer


class CharTokenizer:
    """A tokeniser whose pieces are the characters of a fixed list, and bytes."""

    kind = "char"
    keeps_lines = False

    def __init__(
        self, characters: Sequence[str], form: Form = "nfc", lowercase: bool = False, reserved: Sequence[str] = ()
    ) -> None:
        self.form: Form = form
        self.lowercase = lowercase
        bad = next((item for item in characters if len(item) != 1 or item != normalise(item, "none")), None)
        if bad is not None:
            raise TextError(f"{bad!r} is not one normalised character")
        self.vocabulary = Vocabulary(
            [END, UNKNOWN, *reserved, *BYTE_PIECES, SPACE_MARK, *characters, PAD], silent=reserved
        )
        self._ids_of_character = {character: [self.vocabulary.id_of(character)] for character in characters}
        self._space = [self.vocabulary.id_of(SPACE_MARK)]

    def normalise(self, text: str) -> str:
        return normalise(text, self.form, self.lowercase)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        for character in self.normalise(text):
            if character == " ":
                ids += self._space
            else:
                ids += self._ids_of_character.get(character) or self.vocabulary.bytes_of(character)
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def packer(self) -> "Packer":
        from regard.text.packed import pack

        return lambda texts: pack(self.encode_batch(texts))

    def decode(self, ids: Sequence[int]) -> str:
        return self.vocabulary.text(ids)

    def words(self, ids: Sequence[int]) -> list[int]:
        return self.vocabulary.words(ids)

    def drop(self, ids: Sequence[int], probability: float, generator: "np.random.Generator") -> list[int]:
        return list(ids)

    def files(self) -> dict[str, bytes]:
        return {".vocab.json": (json.dumps(list(self._ids_of_character), ensure_ascii=False, indent=0) + "\n").encode()}


def learn_char(config: OneTextConfig, words: Mapping[str, int]) -> CharTokenizer:
    """A tokeniser of the most frequent characters of the counted words."""
    reserved = config.reserved.names
    characters = frequent_characters(words, config.character_coverage, config.vocabulary - len(reserved))
    return CharTokenizer(characters, config.form, config.lowercase, reserved)


def frequent_characters(words: Mapping[str, int], coverage: float, limit: int) -> list[str]:
    """The fewest characters that make up the share `coverage` of the counted words, and at most `limit`.

    Ties are broken by code point.
    """
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    wanted = coverage * counts.total()
    kept: list[str] = []
    covered = 0
    for character in sorted(counts, key=lambda character: (-counts[character], character)):
        if covered >= wanted or len(kept) == limit:
            break
        kept.append(character)
        covered += counts[character]
    return kept
