"""Large samples of the pocket corpus."""

from itertools import islice
from random import Random

import pytest

from regard.data.pocket.corpus import PocketPair, pocket_pairs, write
from regard.data.pocket.sentences import sentence
from regard.data.pocket.tokens import Draft
from regard.data.pocket.writing import Writing, kind_of

SIZE = 20_000


@pytest.fixture(scope="session")
def sample() -> list[PocketPair]:
    """Sentences as they are drawn, written in all ways."""
    return list(islice(pocket_pairs(seed=11), SIZE))


@pytest.fixture(scope="session")
def bare_sample() -> list[PocketPair]:
    """Sentences without capital and punctuation, but that a question has its mark: for the rules of grammar."""
    generator, pairs = Random(11), []
    for _ in range(SIZE):
        french, english = sentence(Draft(generator))
        pairs.append(write(french, english, Writing(final="?" if kind_of(french) == "?" else "")))
    return pairs
