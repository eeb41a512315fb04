"""Opens and loads bundles of any task. The task's class reads the config."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.bundle.config import BundleSettings, parse_config
from regard.bundle.manifest import open_manifest
from regard.bundle.opened import OpenBundle, parse_bundle
from regard.bundle.weights import WEIGHTS
from regard.tasks.table import TASKS
from regard.text.build import TokenizerPair

if TYPE_CHECKING:
    import torch
    from torch import nn


def bundle_classes() -> Mapping[str, type[BundleSettings]]:
    """The class of a bundle's config.json for each task, extensions included."""
    return {name: task.bundle for name, task in TASKS.items()}


def open_bundle(directory: Path, verify: bool = True) -> OpenBundle:
    """The bundle in `directory`, without its weights. `verify=False` hashes only the files that are read now."""
    return parse_bundle(directory, bundle_classes(), verify)


def open_to_load(directory: Path) -> OpenBundle:
    """The bundle in `directory` for a task's `load`, which hashes the weights: all other files are verified now."""
    return parse_bundle(directory, bundle_classes(), hashed_when_read=(WEIGHTS,))


def read_config(directory: Path) -> Any:
    """The config of the bundle in `directory`, an object of its task's class."""
    return parse_config(open_manifest(directory), bundle_classes())[0]


@dataclass(frozen=True)
class Bundle:
    """A trained model with its config and tokenizers."""

    model: "nn.Module"
    config: Any
    tokenizers: TokenizerPair
    directory: Path


def load_bundle(directory: Path, device: "str | torch.device" = "cpu", verify: bool = True) -> Bundle:
    """The bundle in `directory`, its network in evaluation mode on `device`."""
    from regard.bundle.bundle import read_network, resolve_device

    place = resolve_device(device)
    opened = open_to_load(directory) if verify else open_bundle(directory, verify=False)
    return Bundle(read_network(opened, place), opened.config, opened.codecs, directory)
