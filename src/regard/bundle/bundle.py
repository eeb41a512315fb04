"""A bundle in memory and on disk: weights, config and tokenizers. No pickle; nothing is read before its hash is right.

It neither trains nor decodes, and does not know what else may lie beside the bundle's files in a checkpoint.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.bundle.config import CONFIG, BundleConfig
from regard.bundle.manifest import MEND, write_manifest
from regard.bundle.opened import WEIGHTS, OpenBundle, open_bundle
from regard.bundle.tensors import read_tensors, write_tensors
from regard.errors import BundleError, ConfigError
from regard.files import disk_errors, to_json, whole_directory
from regard.models.build import build_model, counted_model
from regard.models.config import MarkovConfig
from regard.models.network import Learner
from regard.text.build import TokenizerPair, save_tokenizers


@dataclass(frozen=True)
class Bundle:
    """Everything that is needed to use a trained model."""

    model: nn.Module
    config: BundleConfig
    tokenizers: TokenizerPair
    directory: Path


def save_bundle(path: Path, tensors: Mapping[str, Tensor], config: BundleConfig, tokenizers: TokenizerPair) -> None:
    """A whole bundle at `path`, or nothing: it appears with its manifest, synced."""
    with whole_directory(path) as staging:
        write_bundle(staging, tensors, config, tokenizers)
        write_manifest(staging)


def write_bundle(
    directory: Path, tensors: Mapping[str, Tensor], config: BundleConfig, tokenizers: TokenizerPair
) -> None:
    """The bundle's files into an existing directory, without the manifest: the caller may add files before it writes that.

    `tensors` is a `state_dict`, or its values from elsewhere (an average) under the same names; tied duplicates are stored once. Of a model
    that was counted they are its tables.
    """
    counted = isinstance(config.model, MarkovConfig)
    expected = {name: value.shape for name, value in tensors.items()} if counted else tensor_shapes(config)
    assert expected.keys() <= tensors.keys(), f"no tensor for {sorted(expected.keys() - tensors.keys())}"
    for name, shape in expected.items():
        assert tensors[name].shape == shape, f"{name} has shape {list(tensors[name].shape)}, not {list(shape)}"
    sizes = (len(tokenizers.source.vocabulary), len(tokenizers.target.vocabulary))
    assert sizes == (config.vocabulary.source, config.vocabulary.target), f"tokenizers of {sizes} pieces, {config}"
    write_tensors(directory / WEIGHTS, {name: tensors[name] for name in expected})
    with disk_errors(directory):
        (directory / CONFIG).write_text(to_json(config.model_dump(mode="json")), encoding="utf-8")
        save_tokenizers(tokenizers, directory)


def rewrite_config(directory: Path, config: BundleConfig) -> None:
    """The bundle, and what else a checkpoint holds, with another config: whole or as it was."""
    with whole_directory(directory) as staging:
        shutil.copytree(directory, staging, dirs_exist_ok=True)
        (staging / CONFIG).write_text(to_json(config.model_dump(mode="json")), encoding="utf-8")
        write_manifest(staging)


def load_bundle(directory: Path, device: str | torch.device = "cpu", verify: bool = True) -> Bundle:
    """The bundle in `directory`, its network in evaluation mode on `device`.

    `verify=False` skips the hashes, for a caller that has just checked them.
    """
    place = resolve_device(device)
    opened = open_bundle(directory, verify)
    return Bundle(read_network(opened, place), opened.config, opened.tokenizers, directory)


def read_network(opened: OpenBundle, device: str | torch.device = "cpu") -> nn.Module:
    """The network of a bundle that was verified when it was opened, in evaluation mode on `device`."""
    config, path = opened.config, opened.directory / WEIGHTS
    tensors = read_tensors(path)
    if isinstance(config.model, MarkovConfig):
        return _counted(path, config.model, config.vocabulary.target, tensors).to(resolve_device(device)).eval()
    _check_tensors(path, tensors, tensor_shapes(config))
    network = _fresh_network(config)
    network.load_state_dict(tensors, strict=False)  # what is tied has one name in the file, checked above
    return network.to(resolve_device(device)).eval()


def _counted(path: Path, config: MarkovConfig, vocabulary: int, tables: Mapping[str, Tensor]) -> nn.Module:
    try:
        return counted_model(config, vocabulary, tables)
    except ValueError as error:
        raise BundleError(f"{path}: {error}; it does not fit {CONFIG}; {MEND}") from None


def tensor_shapes(config: BundleConfig) -> dict[str, torch.Size]:
    """Name -> shape of what a bundle stores: parameters and lasting buffers, of those that are tied the first."""
    return dict(_tensor_shapes(config))


@cache  # a run asks at each of its checkpoints
def _tensor_shapes(config: BundleConfig) -> tuple[tuple[str, torch.Size], ...]:
    network = _fresh_network(config)
    lasting = network.state_dict().keys()
    named = [*network.named_parameters(), *network.named_buffers()]  # each without duplicates
    return tuple((name, tensor.shape) for name, tensor in named if name in lasting)


def _fresh_network(config: BundleConfig) -> nn.Module:
    """A network whose random weights nobody uses, so nobody's random numbers are to move for them."""
    with torch.random.fork_rng(devices=[]):
        return new_network(config)


def new_network(config: BundleConfig) -> Learner:
    """A freshly initialised network, as the config says."""
    sizes = config.vocabulary
    context = None if config.texts is None else config.texts.context
    return build_model(
        config.model,
        sizes.source,
        sizes.target,
        sizes.joint,
        task=config.task,
        context=context,
        labels=len(config.labels),
        labels_of=config.labels_of,
    )


def resolve_device(name: str | torch.device) -> torch.device:
    """A device that is there."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"device = {str(name)!r}: no such device; use cpu, cuda, cuda:N or mps") from None
    if device.type == "cuda":
        present = torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count()
    else:
        present = device.type == "cpu" or (device.type == "mps" and torch.backends.mps.is_available())
    if not present:
        raise ConfigError(f"device = {str(name)!r}: not available on this machine; use cpu")
    return device


def _check_tensors(path: Path, tensors: Mapping[str, Tensor], expected: Mapping[str, torch.Size]) -> None:
    """Refuse weights that are not those of the network in the config."""
    missing, unknown = sorted(expected.keys() - tensors.keys()), sorted(tensors.keys() - expected.keys())
    if missing:
        raise BundleError(
            f"{path}: no tensor {missing[0]!r} ({len(missing)} missing); it does not fit {CONFIG}; {MEND}"
        )
    if unknown:
        raise BundleError(
            f"{path}: unknown tensor {unknown[0]!r} ({len(unknown)} unknown); it does not fit {CONFIG}; {MEND}"
        )
    for name, shape in expected.items():
        found = tensors[name]
        if found.shape != shape or not found.is_floating_point():
            raise BundleError(
                f"{path}: {name} is {list(found.shape)} {found.dtype}, {CONFIG} asks for {list(shape)} of floats; {MEND}"
            )
