"""For every test: one thread, so that tiny tensors are not slowed by idle threads that spin, here and in the processes that a test starts;
a cache of its own; and a Ctrl-C that works: a shell starts what runs in the background with SIGINT ignored, and every child would inherit
that. Hypothesis asserts no time. Shapes are checked: every annotation of jaxtyping in the rooms of tensors, by beartype.
"""

import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import torch
from jaxtyping import install_import_hook

install_import_hook(["regard.ops", "regard.layers", "regard.models"], "beartype.beartype")  # before any is imported

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
