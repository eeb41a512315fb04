"""For every test: one thread, so that tiny tensors are not slowed by idle threads that spin, here and in the processes that a test starts;
a cache of its own; and a Ctrl-C that works: a shell starts what runs in the background with SIGINT ignored, and every child would inherit
that. Hypothesis asserts no time. Shapes are checked by beartype: the annotations of jaxtyping in the rooms of tensors, in the first
calls of every test. A check costs more than the tensors of a tiny model, so a search of thousands of steps is not checked to its end.
"""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import jaxtyping._decorator
import pytest
import torch
from jaxtyping import install_import_hook

sys.dont_write_bytecode = False
install_import_hook(["regard.ops", "regard.layers", "regard.models"], "beartype.beartype")  # before any is imported

CHECKED_CALLS = 100
"""How many calls of annotated functions have their shapes checked in one test."""


class _FirstCalls:
    """The settings of jaxtyping, which asks at each call whether checks are off: on for the first `CHECKED_CALLS` of a test."""

    jaxtyping_remove_typechecker_stack = False

    def __init__(self) -> None:
        self.calls = 0

    @property
    def jaxtyping_disable(self) -> bool:
        self.calls += 1
        return self.calls > CHECKED_CALLS


hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.delenv(
            "PYTHONDONTWRITEBYTECODE", raising=False
        )  # else every command that a test starts compiles all files
        yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _checked_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping._decorator, "config", _FirstCalls())


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
