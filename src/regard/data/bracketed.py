"""Sentences of a small English grammar with their trees in brackets, and tests of two kinds of generalisation.

    the dog saw Anna    (S (NP (D the ) (N dog ) ) (VP (V saw ) (NP (PN Anna ) ) ) )

The grammar has no ambiguity: a phrase with a preposition belongs to the noun before it, `to` opens the second object of a verb of
giving, and `that` is a clause after a verb of saying and relative after a noun. So a sentence has one tree.

| type | a sentence has | in training |
| --- | --- | --- |
| `in_distribution` | | the same |
| `lexical_subject_as_object` | an object or a place that is a noun or name of `SUBJECTS` | these are subjects only |
| `lexical_object_as_subject` | a subject of `OBJECTS` | these are objects and places only |
| `lexical_verb_alone` | a verb of `BOUND` without an object | these always have one; others are seen both ways |
| `structural_modified_subject` | a subject with a preposition or a relative clause | only objects and places are modified |
| `structural_deeper_place` | three or four places inside each other | at most two |
| `structural_deeper_clause` | three or four clauses of saying inside each other | at most two |

It knows no model, and everything is a function of the seed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Literal

from regard.errors import DataError

Tree = tuple[str, "str | tuple[Tree, ...]"]
"""A label, and a word or the trees below it."""
Role = Literal["subject", "object"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NOUNS = _words("dog cat boy girl king queen teacher child bird horse friend baker farmer singer pilot")
THINGS = _words("cake box hat book chair table house garden boat lamp bridge car tree river street")
NAMES = _words("Anna Ben Clara David Emma Felix Grace Henry Ida Jonas")
SUBJECTS, OBJECTS = ("lion", "doctor", "sailor", "Karl", "Lena"), ("fox", "nurse", "drummer", "Mia", "Noah")
"""Words of one role in training: the other role is a test."""
ALONE = _words("slept ran laughed smiled danced fell")
WITH_OBJECT = _words("saw found liked helped touched followed met held")
BOTH = _words("ate painted drew cooked called studied")
BOUND = ("baked", "hunted", "cleaned", "drove")
GIVING = _words("gave sent lent sold showed")
SAYING = _words("said thought knew hoped believed")
PREPOSITIONS = _words("on in under beside near behind")

IN_DISTRIBUTION = "in_distribution"
MOST_WORDS = 40


@dataclass(frozen=True)
class Rules:
    """The features that a sentence may have, and those that it must have."""

    places: int = 2
    """The most places inside each other."""
    forced_places: int = 0
    """So many in the object of the innermost clause, where they are."""
    clauses: int = 0
    """Clauses of saying around the innermost one."""
    modified_subject: bool = False
    object_from: tuple[str, ...] = ()
    """Words of the object of the innermost clause."""
    subject_from: tuple[str, ...] = ()
    verb_alone_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parsed:
    """A sentence, its tree in brackets, and the type of its test."""

    sentence: str
    brackets: str
    kind: str


def words_of(tree: Tree) -> list[str]:
    """The words of a tree from left to right."""
    _, below = tree
    return [below] if isinstance(below, str) else [word for part in below for word in words_of(part)]


def brackets_of(tree: Tree) -> str:
    """The tree as text: tokens with spaces between them."""
    label, below = tree
    return f"({label} {below if isinstance(below, str) else ' '.join(map(brackets_of, below))} )"


class Grammar:
    """Draws the trees of sentences."""

    def __init__(self, random: Random, rules: Rules) -> None:
        self.random, self.rules = random, rules

    def sentence(self) -> Tree:
        """A main clause."""
        return self._clause(self.rules.clauses)

    def _clause(self, around: int) -> Tree:
        """around: how many clauses of saying are still to be opened."""
        rules = self.rules
        if around:
            verb, inner = self.random.choice(SAYING), self._clause(around - 1)
            return ("S", (self._noun_phrase("subject", 0), ("VP", (("V", verb), ("SBAR", (("C", "that"), inner))))))
        subject = self._noun_phrase("subject", 0, chosen=rules.subject_from, modified=rules.modified_subject)
        return ("S", (subject, self._verb_phrase()))

    def _verb_phrase(self) -> Tree:
        rules = self.rules
        if rules.verb_alone_from:
            return ("VP", (("V", self.random.choice(rules.verb_alone_from)),))
        if not (rules.object_from or rules.forced_places) and self.random.random() < 0.25:
            return ("VP", (("V", self.random.choice(ALONE + BOTH)),))
        first = self._noun_phrase("object", rules.places, chosen=rules.object_from, forced=rules.forced_places)
        if self.random.random() < 0.2:
            second = ("PP", (("TO", "to"), self._noun_phrase("object", 0)))
            return ("VP", (("V", self.random.choice(GIVING)), first, second))
        return ("VP", (("V", self.random.choice(WITH_OBJECT + BOTH + BOUND)), first))

    def _noun_phrase(
        self, role: Role, places: int, *, chosen: tuple[str, ...] = (), modified: bool = False, forced: int = 0
    ) -> Tree:
        """places: the most that may follow, inside each other. chosen: the words to choose from; forced: places that must follow."""
        word = self.random.choice(chosen or self._nouns(role))
        if word[0].isupper() and not (modified or forced):
            return ("NP", (("PN", word),))
        while word[0].isupper():
            word = self.random.choice(NOUNS + THINGS)
        plain: Tree = ("NP", (("D", self.random.choice(("the", "a"))), ("N", word)))
        if forced or (modified and self.random.random() < 0.5) or (places and self.random.random() < 0.3):
            return ("NP", (plain, self._place(max(places, forced, 1) - 1, max(0, forced - 1))))
        if modified or (places and self.random.random() < 0.15):
            return ("NP", (plain, self._relative()))
        return plain

    def _place(self, places: int, forced: int) -> Tree:
        inner = self._noun_phrase("object", places if places else 0, forced=forced)
        return ("PP", (("P", self.random.choice(PREPOSITIONS)), inner))

    def _relative(self) -> Tree:
        """A relative clause about its object, or about its subject. It has no modifiers of its own."""
        verb: Tree = ("V", self.random.choice(WITH_OBJECT))
        if self.random.random() < 0.5:
            return ("RC", (("C", "that"), self._noun_phrase("subject", 0), verb))
        return ("RC", (("C", "that"), ("VP", (verb, self._noun_phrase("object", 0)))))

    def _nouns(self, role: Role) -> tuple[str, ...]:
        """The words of a role in training."""
        return NOUNS + THINGS + NAMES + (SUBJECTS if role == "subject" else OBJECTS)


_TESTS: dict[str, Callable[[Random], Rules]] = {
    "lexical_subject_as_object": lambda random: replace(usual_rules(random), object_from=SUBJECTS),
    "lexical_object_as_subject": lambda random: replace(usual_rules(random), subject_from=OBJECTS),
    "lexical_verb_alone": lambda random: replace(usual_rules(random), verb_alone_from=BOUND),
    "structural_modified_subject": lambda random: replace(usual_rules(random), modified_subject=True),
    "structural_deeper_place": lambda random: Rules(forced_places=random.choice((3, 4))),
    "structural_deeper_clause": lambda random: Rules(clauses=random.choice((3, 4))),
}
KINDS = tuple(_TESTS)
"""The types of generalisation."""


def usual_rules(random: Random) -> Rules:
    """The rules of a sentence as in training: at most two clauses of saying."""
    return Rules(clauses=random.choices((0, 1, 2), (0.7, 0.2, 0.1))[0])


def parsed_sentences(seed: int, kind: str = IN_DISTRIBUTION) -> Iterator[Parsed]:
    """Different sentences of a type without end, the same for the same seed."""
    if kind != IN_DISTRIBUTION and kind not in _TESTS:
        raise DataError(f"type {kind!r}: not one of {', '.join((IN_DISTRIBUTION, *KINDS))}")
    random = Random(f"{seed} {kind}")
    rules_of = _TESTS.get(kind, usual_rules)
    seen = set[str]()
    while True:
        tree = Grammar(random, rules_of(random)).sentence()
        sentence = " ".join(words_of(tree))
        if sentence not in seen and sentence.count(" ") < MOST_WORDS:
            seen.add(sentence)
            yield Parsed(sentence, brackets_of(tree), kind)


def grammar_files(train: int, valid: int, test: int, each: int, seed: int) -> dict[str, list[Parsed]]:
    """File name -> its sentences. `gen.tsv` has so many of `each` type of generalisation. No sentence is in two files."""
    same = parsed_sentences(seed)
    files = {name: list(islice(same, size)) for name, size in (("train", train), ("valid", valid), ("test", test))}
    files["gen"] = [parsed for kind in KINDS for parsed in islice(parsed_sentences(seed, kind), each)]
    return {f"{name}.tsv": sentences for name, sentences in files.items() if sentences}
