"""Bundles to export."""

from pathlib import Path

import pytest

from tasks.bundles import random_bundle
from timm_models import declare_operators

declare_operators()  # transformers imports torchvision


@pytest.fixture(scope="session")
def pre_norm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pre-norm bundle with sinusoidal positions, whose languages are known."""
    path = tmp_path_factory.mktemp("bundles") / "pre"
    return random_bundle(path, norm="pre", positions="sinusoidal", languages={"source": "fr", "target": "en"})
