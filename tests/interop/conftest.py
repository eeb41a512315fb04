"""Bundles to export, and `transformers` without what translating does not need of it."""

import sys
from pathlib import Path

import pytest

from tasks.bundles import random_bundle

try:
    import torchvision  # noqa: F401
except (ImportError, RuntimeError):  # one that does not fit torch would end the import of transformers
    sys.modules["torchvision"] = None  # type: ignore[assignment]


@pytest.fixture(scope="session")
def pre_norm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pre-norm bundle with sinusoidal positions, whose languages are known."""
    path = tmp_path_factory.mktemp("bundles") / "pre"
    return random_bundle(path, norm="pre", positions="sinusoidal", languages={"source": "fr", "target": "en"})
