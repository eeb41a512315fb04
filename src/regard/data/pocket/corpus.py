"""The pocket corpus: French sentences with their English translations and gold word alignments, made up on the spot.

It is the corpus of the demo, of many tests and of alignment measurement: a few hundred words, agreement, elision,
negation, questions, clitic pronouns, several tenses, relative clauses, idioms, so that the word order of the two
languages really differs. A French sentence has exactly one translation; the conventions that make it so are told in
`nominals`, those of the alignment in `clauses` and `tokens`, those of case and punctuation in `writing`. An alignment
indexes the words between spaces, from 0; "m'a" and "dort." are each one word, linked to what both parts are linked to.

This file draws sentences and splits them; it knows no word and no rule of grammar.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from random import Random

from regard.data.pocket.sentences import lecture_sentences, sentence
from regard.data.pocket.tokens import Draft, Token, choose_articles, elide, links
from regard.data.pocket.writing import Writing, draw_writing, kind_of, plain, written
from regard.errors import DataError

MIN_WORDS, MAX_WORDS = 2, 16
BOOK = Writing(capital=True, final=".", commas=True)
BARE = Writing()
# Of 64 shares of the sentences, by a hash of the plain English one: 2 for validation, 4 for the test, the rest for training.
_SHARES, _VALID, _TEST = 64, 2, 6
VALID, TEST = 500, 1_000  # pairs that judge a corpus


@dataclass(frozen=True, slots=True)
class PocketPair:
    """A sentence, its translation, and all (French word, English word) that belong together."""

    french: str
    english: str
    alignment: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class PocketSplit:
    train: tuple[PocketPair, ...]
    valid: tuple[PocketPair, ...]
    test: tuple[PocketPair, ...]


def write(source: list[Token], target: list[Token], writing: Writing) -> PocketPair:
    """Spell a sentence, write it in the given way, and read its alignment off the marks."""
    french, english = written(elide(source), choose_articles(target), writing)
    return PocketPair(
        " ".join([word for word, _ in french]), " ".join([word for word, _ in english]), links(french, english)
    )


def lecture_pairs() -> tuple[PocketPair, ...]:
    """The pairs of the lectures and their nearest relatives, bare and as in a book: always in the training part."""
    sentences = lecture_sentences(Draft(Random(0)))
    return tuple(write(french, english, writing) for writing in (BARE, BOOK) for french, english in sentences)


def pocket_pairs(seed: int) -> Iterator[PocketPair]:
    """Pairs without end, the same for the same seed; a short sentence may come again."""
    generator = Random(seed)
    while True:
        draft = Draft(generator)
        french, english = sentence(draft)
        if len(french) <= MAX_WORDS and len(english) <= MAX_WORDS:
            pair = write(french, english, draw_writing(draft, kind_of(french)))
            if plain(pair.french).count(" ") >= MIN_WORDS - 1:
                yield pair


def vocabulary(texts: Iterable[str]) -> frozenset[str]:
    """The word forms of sentences without their case: "L'homme" has two, "donne-le-moi" three."""
    return frozenset(word for text in texts for word in re.findall(r"\w+", text.lower()))


def _share(english: str) -> int:
    return blake2b(english.encode(), digest_size=1).digest()[0] % _SHARES


def pocket_split(train: int = 40_000, valid: int = VALID, test: int = TEST, seed: int = 1) -> PocketSplit:
    """Distinct pairs for training, validation and test.

    The plain English sentence alone decides, by a hash, where its pair belongs. So no sentence of one part is in
    another, in either language (a French sentence has one translation) and however it is written, whatever the sizes
    and even between seeds.
    """
    for part, size in (("train", train), ("valid", valid), ("test", test)):
        if size < 0:
            raise DataError(f"pocket corpus: {part} = {size}: the number of pairs must be 0 or more")
    lectures = lecture_pairs()
    always = {plain(pair.english) for pair in lectures}
    parts: tuple[list[PocketPair], ...] = (list(lectures[:train]), [], [])
    sizes = (train, valid, test)
    seen = {pair.french for pair in lectures}
    pairs = pocket_pairs(seed)
    while any(len(part) < size for part, size in zip(parts, sizes, strict=True)):
        pair = next(pairs)
        if pair.french in seen:
            continue
        seen.add(pair.french)
        english = plain(pair.english)
        share = _share(english)
        index = 0 if english in always or share >= _TEST else 1 if share < _VALID else 2
        if len(parts[index]) < sizes[index]:
            parts[index].append(pair)
    return PocketSplit(*(tuple(part) for part in parts))
