"""The objective of a prefix language model: where texts are cut. On what that depends: `test_corrupted`."""

import numpy as np

from regard.data.corruption import Splitting
from regard.data.objectives import OBJECTIVES, objectives_of


def test_every_cut_inside_a_text_is_as_probable() -> None:
    """Of five tokens four cuts, each with probability 1/4: within four standard deviations of 3,000 draws."""
    generator, ids, draws = np.random.default_rng(1), np.arange(10, 15), 3000
    cuts = np.zeros(6)
    for _ in range(draws):
        source, target = Splitting()(ids, generator)
        assert [*source, *target] == ids.tolist()
        cuts[len(source)] += 1
    assert cuts[0] == cuts[5] == 0
    assert (np.abs(cuts[1:5] / draws - 0.25) < 4 * (0.25 * 0.75 / draws) ** 0.5).all()
    longest = Splitting().lengths(np.array([5, 1]))
    assert [part.tolist() for part in longest] == [[4, 0], [4, 1]]


def test_a_text_of_one_token_has_nothing_before_it() -> None:
    source, target = Splitting()(np.array([7]), np.random.default_rng(1))
    assert (source.tolist(), target.tolist()) == ([], [7])


def test_the_objectives_of_each_network() -> None:
    """The first is the default: of a prefix language model its own."""
    assert objectives_of("prefix") == ["prefix", "denoise", "span"]
    assert objectives_of("transformer")[0] == objectives_of("recurrent")[0] == "denoise"
    assert OBJECTIVES["prefix"].networks[0] == "prefix"
