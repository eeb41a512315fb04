"""From a directory to a translator. It finds, verifies and reads the bundle through `bundle/`, and decides nothing itself."""

from pathlib import Path
from typing import cast

import torch

from regard.bundle.bundle import load_bundle
from regard.bundle.locate import find_bundle
from regard.engine.model import Model
from regard.engine.runner import Network


def load(path: str | Path, device: str | torch.device = "cpu") -> Model:
    """The model of a bundle, or of a run: its best checkpoint, else its latest."""
    bundle = load_bundle(find_bundle(path), device)
    return Model(
        cast(Network, bundle.model),  # every network of `models/` is one; a contract suite holds them to it
        bundle.tokenizers,
        languages=bundle.config.languages,
        alignment=bundle.config.alignment,
        reach=bundle.config.reach,
        bundle=bundle,
    )
