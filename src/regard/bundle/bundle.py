"""Saves bundles (weights, config and codecs) and loads their networks. No pickle; hashes are verified before reading.

It does not know the other files of a checkpoint.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.bundle.adapter import ADAPTER, ADAPTER_WEIGHTS, LORA_A, LORA_B, Adapter, adapter_record, read_adapter_file
from regard.bundle.building import unfilled_network
from regard.bundle.config import CONFIG, BundleSettings
from regard.bundle.manifest import MEND, write_manifest
from regard.bundle.opened import OpenBundle
from regard.bundle.quantised import dequantised, is_quantised
from regard.bundle.tensors import tensors_of, write_tensors
from regard.bundle.weights import WEIGHTS, not_finite, read_weights_file, shapes_of_sum, tensor_shapes
from regard.errors import BundleError, ConfigError
from regard.files import disk_errors, to_json, whole_directory


def save_bundle(path: Path, tensors: Mapping[str, Tensor], config: BundleSettings, codecs: Any) -> None:
    """Write a bundle with its manifest atomically."""
    with whole_directory(path) as staging:
        write_bundle(staging, tensors, config, codecs)
        write_manifest(staging)


def write_bundle(directory: Path, tensors: Mapping[str, Tensor], config: BundleSettings, codecs: Any) -> None:
    """Write the bundle's files into an existing directory, without the manifest: the caller may add files first.

    `tensors` is a `state_dict`, or other values (an average) under the same names; tied tensors are stored once. For a counted
    model it holds the tables.
    """
    expected = {name: value.shape for name, value in tensors.items()} if config.counted else tensor_shapes(config)
    assert expected.keys() <= tensors.keys(), f"no tensor for {sorted(expected.keys() - tensors.keys())}"
    for name, shape in expected.items():
        assert tensors[name].shape == shape, f"{name} has shape {list(tensors[name].shape)}, not {list(shape)}"
    unplaced = [name for name in tensors if name not in expected and not _is_tied(name, tensors, expected)]
    assert not unplaced, f"{unplaced[0]} is a tensor that the shapes of {config.task} leave out, so it would be lost"
    write_tensors(directory / WEIGHTS, {name: tensors[name] for name in expected})
    with disk_errors(directory):
        (directory / CONFIG).write_text(to_json(config.model_dump(mode="json")), encoding="utf-8")
        config.save_codecs(codecs, directory)


def _is_tied(name: str, tensors: Mapping[str, Tensor], expected: Iterable[str]) -> bool:
    """Whether a tensor is another name of one that is stored: the same memory, or after averaging the same values."""
    own = tensors[name]
    alike = (own.shape, own.dtype)
    others = [other for other in map(tensors.__getitem__, expected) if (other.shape, other.dtype) == alike]
    if any(other.data_ptr() == own.data_ptr() for other in others):
        return True
    return any(torch.allclose(other, own, equal_nan=True) for other in others)


def read_weights(bundle: OpenBundle) -> dict[str, Tensor]:
    """The tensors of a bundle, under the names of the newest format. They fit its config. Of an adapter: the sum with its base."""
    if bundle.base is not None:
        return _read_sum(bundle, bundle.base)
    tensors = tensors_of(*read_weights_file(bundle.files, bundle.config, bundle.stored_format))
    return dequantised(tensors) if is_quantised(bundle.files) else tensors


def _read_sum(bundle: OpenBundle, base: OpenBundle) -> dict[str, Tensor]:
    """The weights of the base of an adapter with its additions."""
    tensors, scale = read_weights(base), adapter_record(bundle.files).scale
    additions = tensors_of(*read_adapter_file(bundle.files, shapes_of_sum(bundle, base)))
    for key, tensor in additions.items():
        if key.endswith(LORA_A):
            name = key.removesuffix(LORA_A)
            tensors[name] = torch.addmm(
                tensors[name].to(tensor.dtype), additions[f"{name}{LORA_B}"], tensor, alpha=scale
            )
        elif not key.endswith(LORA_B):
            tensors[key] = tensor
    return tensors


def write_adapter(
    directory: Path, tensors: Mapping[str, Tensor], record: Adapter, config: BundleSettings, codecs: Any
) -> None:
    """Write the files of an adapter bundle into an existing directory, without the manifest."""
    write_tensors(directory / ADAPTER_WEIGHTS, tensors)
    with disk_errors(directory):
        (directory / ADAPTER).write_text(to_json(record.model_dump(mode="json")), encoding="utf-8")
        (directory / CONFIG).write_text(to_json(config.model_dump(mode="json")), encoding="utf-8")
        config.save_codecs(codecs, directory)


def read_network(bundle: OpenBundle, device: str | torch.device = "cpu") -> nn.Module:
    """The network of a bundle, in evaluation mode on `device`."""
    config, path, place = bundle.config, bundle.directory / WEIGHTS, resolve_device(device)
    tensors = read_weights(bundle)
    if config.counted:
        try:
            network: nn.Module = config.from_tables(tensors)
        except ValueError as error:
            raise BundleError(f"{path}: {error}; it does not fit {CONFIG}; {MEND}") from None
        return network.to(place).eval()
    network = unfilled_network(config)
    _check_numbers(bundle, network, tensors)
    network.load_state_dict(tensors, strict=False)  # tied tensors have one name in the file
    del tensors  # with the content of the file, before another device gets a copy
    return network.to(place).eval()


def _check_numbers(bundle: OpenBundle, network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Refuse NaN, and infinite weights; a buffer may hold infinity, such as the free places of a table."""
    parameters = {name for name, _ in network.named_parameters()}
    for name, tensor in tensors.items():
        if math.isfinite(tensor.sum()):  # a pass over it, no memory; a sum that overflows is only looked at closer
            continue
        if tensor.isnan().any() or (name in parameters and tensor.isinf().any()):
            raise not_finite(bundle, name)


def resolve_device(name: str | torch.device) -> torch.device:
    """The device of this name; a `ConfigError` if it is not available."""
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
