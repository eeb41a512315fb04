"""Corpora with weights: an interrupted run goes on to exactly the weights of an uninterrupted one."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from training.runs import assert_same_run, logged, run, small_settings, steps, stop_after


def weighted(home: Path, first: float, second: float) -> dict[str, Any]:
    """The lines of the small run, in two corpora."""
    settings = small_settings(home)
    files = {
        side: (home / f"train.{suffix}").read_text(encoding="utf-8").splitlines()
        for side, suffix in (("src", "xx"), ("tgt", "yy"))
    }
    rows = []
    for name, lines, weight in (("one", slice(0, 80), first), ("two", slice(80, 120), second)):
        paths = {side: home / f"{name}.{suffix}" for side, suffix in (("src", "xx"), ("tgt", "yy"))}
        for side, path in paths.items():
            path.write_text("".join(f"{line}\n" for line in files[side][lines]), encoding="utf-8")
        rows.append({**{side: str(path) for side, path in paths.items()}, "weight": weight})
    return {**settings, "data": {"corpora": rows}}


@pytest.mark.slow
def test_interrupted_in_a_later_epoch_it_resumes_exactly(tmp_path: Path) -> None:
    settings = weighted(tmp_path, 0.3, 2.5)
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    run(settings, straight, max_steps=24)
    with suppress(KeyboardInterrupt):
        run(settings, stopped, stop_after(16), max_steps=24)
    run(settings, stopped, max_steps=24)
    assert_same_run(stopped, straight)
    assert logged(straight, "step")[-1]["epoch"] >= 1


def test_weights_of_one_are_the_concatenation_bit_by_bit(tmp_path: Path) -> None:
    joined, parts = tmp_path / "joined", tmp_path / "parts"
    run(small_settings(tmp_path), joined)
    run(weighted(tmp_path, 1, 1.0), parts)
    assert steps(parts) == steps(joined)
