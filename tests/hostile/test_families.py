"""Some seeded cases of every family. `benchmarks/hostile.py` plays thousands."""

from pathlib import Path

import pytest

from hostile.families import FAMILIES, play
from hostile.verbs import Materials, Server

CASES = 7  # of each family


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_hostile_input_is_handled(family: str, server: Server, materials: Materials, tmp_path: Path) -> None:
    rounds = [play(family, seed, materials, server, tmp_path) for seed in range(CASES)]
    short = [(r.seed, r.problems, r.command, r.outcome.code, r.outcome.err[-500:]) for r in rounds if r.problems]
    assert short == []
