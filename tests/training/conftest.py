"""A corpus and settings small enough to train on in seconds, and processes of a test's own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from training.runs import Child, Undisturbed, small_settings


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    """A run of a few dozen steps."""
    return small_settings(tmp_path)


@pytest.fixture(scope="module")
def _undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture
def undisturbed(_undisturbed: Undisturbed, monkeypatch: pytest.MonkeyPatch) -> Undisturbed:
    """Runs that nothing happened to, one for all tests of a file, and the corpus they share with those that are disturbed."""
    monkeypatch.setenv("REGARD_CACHE", str(_undisturbed.home / "cache"))
    return _undisturbed


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[Callable[[], object]], Child]]:
    """`start(function)` runs it in a process of its own, which does not outlive the test."""
    children: list[Child] = []

    def begin(function: Callable[[], object]) -> Child:
        children.append(Child(function, tmp_path / f"stderr-{len(children)}"))
        return children[-1]

    yield begin
    for child in children:
        child.end()
