"""Some seeded cases of every family. `benchmarks/hostile.py` plays thousands."""

from pathlib import Path

import pytest

from hostile.families import FAMILIES, play
from hostile.verbs import Materials, Server

CASES, MANY_CASES = 4, 30  # of each family


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_hostile_input_is_handled(family: str, server: Server, materials: Materials, tmp_path: Path) -> None:
    are_handled(family, range(CASES), server, materials, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_much_hostile_input_is_handled(family: str, server: Server, materials: Materials, tmp_path: Path) -> None:
    are_handled(family, range(CASES, MANY_CASES), server, materials, tmp_path)


def are_handled(family: str, seeds: range, server: Server, materials: Materials, tmp_path: Path) -> None:
    rounds = [play(family, seed, materials, server, tmp_path) for seed in seeds]
    short = [(r.seed, r.problems, r.command, r.outcome.code, r.outcome.err[-500:]) for r in rounds if r.problems]
    assert short == []
