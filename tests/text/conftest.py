"""A small corpus of real-looking text, and a tokeniser of each kind learned from it."""

import random

import pytest

from regard.text.build import TokenizerPair, learn_pair
from regard.text.config import TextConfig

SUBJECTS = [("I", "je"), ("the old sailor", "le vieux marin"), ("Zoë's neighbour", "le voisin de Zoë")]
SUBJECTS += [("nobody", "personne"), ("our daughters", "nos filles"), ("the 42 students", "les 42 étudiants")]
VERBS = [("will not forget", "n'oubliera pas"), ("sees", "voit"), ("had been counting", "avait compté")]
VERBS += [("translates", "traduit"), ("understood", "a compris"), ("would have preferred", "aurait préféré")]
OBJECTS = [("the unhappiness of others", "le malheur des autres"), ("a pie", "une tarte"), ("me", "moi")]
OBJECTS += [("three lighthouses", "trois phares"), ("his own handwriting", "sa propre écriture"), ("it", "ça")]
ENDINGS = [(".", "."), ("!", " !"), ("?", " ?"), (", again and again.", ", encore et encore.")]


def corpus(size: int = 400) -> list[tuple[str, str]]:
    """Sentence pairs, the same every time."""
    generator = random.Random(7)
    pairs = []
    for _ in range(size):
        parts = [generator.choice(group) for group in (SUBJECTS, VERBS, OBJECTS)]
        ending = generator.choice(ENDINGS)
        source, target = (" ".join(part[side] for part in parts) + ending[side] for side in (0, 1))
        pairs.append((source, target))
    return pairs


KINDS = ("bpe", "unigram", "word", "char")


@pytest.fixture(scope="session")
def pairs() -> list[tuple[str, str]]:
    return corpus()


@pytest.fixture(scope="session")
def tokenizers(pairs: list[tuple[str, str]]) -> dict[tuple[str, bool], TokenizerPair]:
    """By kind and joint."""
    return {
        (kind, joint): learn_pair(TextConfig(kind=kind, joint=joint, vocabulary=450), lambda: pairs)
        for kind in KINDS
        for joint in (True, False)
    }
