"""The tokens of the pocket corpus: words that carry their alignment, and the spelling rules where two words meet.

A token is a word and its marks, a bit set. Whoever builds a phrase gives the French and the English words for one idea
the same mark; reordering a phrase moves its tokens and elision unites the marks of the two words that it joins, so the
gold alignment is never guessed: two words are linked when they share a mark. A token with no mark is linked to nothing.

This file knows the sounds that words begin with; it knows no word list and no grammar.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from random import Random
from typing import NamedTuple, TypeVar

Token = tuple[str, int]
Item = TypeVar("Item")

ELIDED = {
    "le": "l'",
    "la": "l'",
    "je": "j'",
    "me": "m'",
    "te": "t'",
    "se": "s'",
    "ne": "n'",
    "de": "d'",
    "que": "qu'",
    "ce": "c'",
    "si": "s'",  # only before il and ils
}
# Words whose first letter is a vowel or an h, and before which French does not elide.
ASPIRATED = frozenset(["haricot", "haricots", "hibou", "hiboux", "huit", "onze"])
# Words whose first letter is a vowel and whose first sound is not: "a university".
CONSONANT_SOUND = ("uni", "use", "euro", "one")


@cache
def opens_with_vowel(word: str) -> bool:
    """Whether a French word makes the word before it elide: "l'homme", "l'eau", but "le hibou", "le onze"."""
    return word[0].lower() in "aeiouyhâàéèêëîïôûœ" and word not in ASPIRATED


@cache
def takes_an(word: str) -> bool:
    """Whether an English word takes "an": "an apple", but "a university"."""
    return word[0].lower() in "aeiou" and not word.lower().startswith(CONSONANT_SOUND)


class FixedPhrase(NamedTuple):
    """A pair of word sequences with its own alignment, to be stamped into a sentence by `Draft.place`."""

    french: tuple[Token, ...]
    english: tuple[Token, ...]
    width: int


class Draft:
    """One sentence in the making: the source of chance and of fresh marks.

    Only `Random.random` is used, the one method whose sequence Python promises never to change for a given seed.
    """

    __slots__ = ("_next", "named", "random")

    def __init__(self, generator: Random) -> None:
        self.random = generator.random
        self.named: list[str] = []  # the persons named so far: nobody is named twice
        self._next = 1

    def mark(self) -> int:
        mark = self._next
        self._next = mark << 1
        return mark

    def choose(self, items: Sequence[Item]) -> Item:
        return items[int(self.random() * len(items))]

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def place(self, phrase: FixedPhrase) -> tuple[list[Token], list[Token]]:
        first = self._next
        self._next = first << phrase.width
        french = [(word, marks * first) for word, marks in phrase.french]
        return french, [(word, marks * first) for word, marks in phrase.english]


def fixed(french: str, english: str) -> FixedPhrase:
    """Read a phrase pair in the notation "la semaine/1 dernière/2", "last/2 week/1".

    The digits after the slash are the links: words with a digit in common are linked, a word without one is not.
    """

    def read(text: str) -> tuple[Token, ...]:
        tokens = []
        for part in text.split():
            word, _, digits = part.partition("/")
            tokens.append((word, sum(1 << (int(digit) - 1) for digit in digits)))
        return tuple(tokens)

    source, target = read(french), read(english)
    return FixedPhrase(source, target, max(marks.bit_length() for _, marks in source + target))


def marked(words: Iterable[str], marks: int) -> list[Token]:
    """The same marks on every word: the parts of one idea."""
    return [(word, marks) for word in words]


def remark(tokens: Iterable[Token], marks: int) -> list[Token]:
    """The same words with further marks."""
    return [(word, old | marks) for word, old in tokens]


def elide(tokens: Iterable[Token]) -> list[Token]:
    """Write French words one after the other: "je" "ai" becomes "j'ai", one word with the marks of both."""
    written: list[Token] = []
    held: Token | None = None
    for token in tokens:
        if held is not None:
            if opens_with_vowel(token[0]) if held[0] != "si" else token[0] in ("il", "ils"):
                token = (ELIDED[held[0]] + token[0], held[1] | token[1])
            else:
                written.append(held)
            held = None
        if token[0] in ELIDED:
            held = token
        else:
            written.append(token)
    if held is not None:
        written.append(held)
    return written


def contract(preposition: Token, phrase: Sequence[Token]) -> list[Token]:
    """Put "à" or "de" before a noun phrase: à + le = au, à + les = aux, de + le = du, de + les = des."""
    article, marks = phrase[0]
    merged = ""
    if article == "les":
        merged = {"à": "aux", "de": "des"}.get(preposition[0], "")
    elif article == "le" and not opens_with_vowel(phrase[1][0]):
        merged = {"à": "au", "de": "du"}.get(preposition[0], "")
    if merged:
        return [(merged, preposition[1] | marks), *phrase[1:]]
    return [preposition, *phrase]


def choose_articles(tokens: Sequence[Token]) -> list[Token]:
    """English "a" becomes "an" before a vowel sound; "can" and "not" are written as one word."""
    written: list[Token] = []
    for place, token in enumerate(tokens):
        if token[0] == "a" and takes_an(tokens[place + 1][0]):
            token = ("an", token[1])
        elif token[0] == "not" and written[-1][0] == "can":
            token = ("cannot", written.pop()[1] | token[1])
        written.append(token)
    return written


def links(french: Sequence[Token], english: Sequence[Token]) -> frozenset[tuple[int, int]]:
    """All (French index, English index) whose words share a mark."""
    return frozenset(
        [
            (i, j)
            for i, (_, theirs) in enumerate(french)
            if theirs
            for j, (_, ours) in enumerate(english)
            if theirs & ours
        ]
    )
