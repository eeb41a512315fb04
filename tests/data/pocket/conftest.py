"""A large sample of the pocket corpus."""

from itertools import islice

import pytest

from regard.data.pocket.corpus import PocketPair, pocket_pairs


@pytest.fixture(scope="session")
def sample() -> list[PocketPair]:
    return list(islice(pocket_pairs(seed=11), 20_000))
