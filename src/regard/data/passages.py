"""Generated passages with a question each: the answer stands in one fact, among facts that look like it.

A passage tells three facts of each of three people, in random order. One of the nine facts holds the answer; two others are of the same
kind about other people, and two about the same person. A question asks for what is told of a person, or for the person of whom it is told.
So a bag of words, which sees all words of passage and question but not which fact they are in, is right in one case of three.

Names are made of syllables. One in eight, by a hash, is held out: only the part `unseen` has them, so its "who" questions have answers that
no training text has. A passage is a pure function of (part, seed, index). It knows no model.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from random import Random
from typing import Literal, get_args

from regard.metrics.alignment import Links, to_pharaoh

Part = Literal["train", "valid", "test", "unseen"]
PARTS: tuple[Part, ...] = get_args(Part)
PEOPLE, KINDS = 3, 3
"""People of a passage, and kinds of facts that are told of each."""
WHO = 4  # one question in so many asks for the person

_CONSONANTS, _VOWELS = "bdfghjklmnprstvwz", "aeiou"
_SHARES = 8
NAME, VALUE = "{name}", "{value}"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fact: how it is told, how it is asked for, and what can be told."""

    told: tuple[str, ...]
    asked: tuple[str, ...]
    who: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A passage with a question, and its answer."""

    passage: tuple[str, ...]
    """Its words. Marks are words of their own."""
    question: tuple[str, ...]
    answer: tuple[str, ...]
    place: int
    """The first word of the answer in the passage."""
    asks_who: bool

    @property
    def source(self) -> str:
        """The input of a model: the passage, then the question."""
        return " ".join([*self.passage, *self.question])

    @property
    def target(self) -> str:
        """The answer."""
        return " ".join(self.answer)

    @property
    def links(self) -> Links:
        """(word of the source, word of the answer): where the answer stands."""
        return frozenset((self.place + word, word) for word in range(len(self.answer)))


def _pairs(first: str, second: str) -> tuple[str, ...]:
    return tuple(" ".join(pair) for pair in product(first.split(), second.split()))


KIND_TABLE: dict[str, Kind] = {
    "home": Kind(
        ("{name} lives in {value} .", "{name} has a flat in {value} .", "the home of {name} is in {value} ."),
        ("where does {name} live ?", "in which town is the home of {name} ?"),
        ("who lives in {value} ?", "whose home is in {value} ?"),
        ("oslo", "lima", "cairo", "quito", "paris", "delhi", "tunis", "milan", "turin", "ghent", "bergen", "porto"),
    ),
    "birth": Kind(
        ("{name} was born in {value} .", "{name} came to the world in {value} ."),
        ("when was {name} born ?", "in which month and year was {name} born ?"),
        ("who was born in {value} ?",),
        _pairs("january march may july october december", "1961 1974 1980 1988 1993"),
    ),
    "work": Kind(
        ("{name} works as a {value} .", "{name} is a {value} by trade .", "the job of {name} is that of a {value} ."),
        ("what is the job of {name} ?", "what does {name} work as ?"),
        ("who works as a {value} ?", "who is a {value} by trade ?"),
        _pairs("ship piano stone night", "builder tuner mason nurse guard painter"),
    ),
    "pet": Kind(
        ("{name} owns a {value} .", "a {value} belongs to {name} .", "{name} looks after a {value} ."),
        ("which animal does {name} own ?", "what belongs to {name} ?"),
        ("who owns a {value} ?", "who looks after a {value} ?"),
        _pairs("grey black white brown", "cat dog parrot rabbit pony goat"),
    ),
    "dish": Kind(
        ("{name} likes to eat {value} .", "{value} is what {name} likes to eat ."),
        ("what does {name} like to eat ?", "which dish does {name} like ?"),
        ("who likes to eat {value} ?",),
        _pairs("lentil onion pea pumpkin fish", "soup pie stew salad"),
    ),
    "sport": Kind(
        ("on sundays {name} plays {value} .", "{name} plays {value} with friends .", "{value} is the game of {name} ."),
        ("what does {name} play ?", "which game is that of {name} ?"),
        ("who plays {value} ?",),
        ("chess", "tennis", "golf", "hockey", "bowls", "rugby", "darts", "squash", "cricket", "polo", "croquet"),
    ),
}
"""The kinds of facts by name."""

_SYLLABLES = tuple(first + second for first, second in product(_CONSONANTS, _VOWELS))


def held_out(name: str) -> bool:
    """Whether a name is in the part `unseen` alone."""
    return blake2b(name.encode(), digest_size=1).digest()[0] % _SHARES == 0


def question(part: Part, index: int, seed: int = 1) -> Question:
    """The question of a part with this number, with its passage."""
    random = Random(f"{seed} {part} {index}")
    names = _names(random, unseen=part == "unseen")
    facts = []  # (name, kind, value)
    for kind in random.sample(sorted(KIND_TABLE), KINDS):
        values = random.sample(KIND_TABLE[kind].values, PEOPLE)
        facts += [(name, kind, value) for name, value in zip(names, values, strict=True)]
    random.shuffle(facts)
    asked = random.randrange(len(facts))
    words: list[str] = []
    place, asks_who = 0, random.randrange(WHO) == 0
    for number, (name, kind, value) in enumerate(facts):
        told = random.choice(KIND_TABLE[kind].told).split()
        if number == asked:
            before = told[: told.index(NAME if asks_who else VALUE)]
            place = len(words) + len(_filled(before, name, value))
        words += _filled(told, name, value)
    name, kind, value = facts[asked]
    forms = KIND_TABLE[kind].who if asks_who else KIND_TABLE[kind].asked
    return Question(
        tuple(words),
        tuple(_filled(random.choice(forms).split(), name, value)),
        (name,) if asks_who else tuple(value.split()),
        place,
        asks_who,
    )


def questions(part: Part, count: int, seed: int = 1) -> Iterator[Question]:
    """The first questions of a part."""
    return (question(part, index, seed) for index in range(count))


def passage_files(part: Part, count: int, seed: int) -> dict[str, list[str]]:
    """The lines of the files of a part: parallel text, the gold links, and the questions for a value as labelled text."""
    own = list(questions(part, count, seed))
    return {
        f"{part}.src": [one.source for one in own],
        f"{part}.tgt": [one.target for one in own],
        f"{part}.align": [to_pharaoh(one.links) for one in own],
        f"{part}.tsv": [f"{one.source}\t{one.target}" for one in own if not one.asks_who],
    }


def _names(random: Random, *, unseen: bool) -> list[str]:
    """Different names of two or three syllables, all held out or none."""
    names: list[str] = []
    while len(names) < PEOPLE:
        name = "".join(random.choices(_SYLLABLES, k=random.choice((2, 3))))
        if name not in names and held_out(name) == unseen:
            names.append(name)
    return names


def _filled(form: list[str], name: str, value: str) -> list[str]:
    """The words of a form with the name and the value in their places."""
    return [word for part in form for word in {NAME: [name], VALUE: value.split()}.get(part, [part])]
