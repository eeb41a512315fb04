"""Reads and writes safetensors files; failures become a `DiskError` or a `BundleError`. It knows no model."""

import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.bundle.manifest import MEND
from regard.errors import BundleError
from regard.files import disk_errors, follow_umask


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write all tensors. Tied tensors are written once for each name: drop duplicates before."""
    # safetensors refuses tensors that share memory, so views are copied.
    seen: set[int] = set()
    plain: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        whole = tensor.detach().to("cpu").contiguous()
        pointer = whole.untyped_storage().data_ptr()
        plain[name] = whole.clone() if pointer in seen else whole
        seen.add(pointer)
    with disk_errors(path):
        try:
            save_file(plain, path)
        except SafetensorError as error:
            raise _system_error(error) from error
    follow_umask(path)


def read_tensors(path: Path, device: str | torch.device = "cpu") -> dict[str, Tensor]:
    """Name -> tensor of all tensors of the file."""
    try:
        return load_file(path, device=str(device))
    except FileNotFoundError:
        raise BundleError(f"{path}: missing; {MEND}") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise BundleError(f"{path}: damaged: not a readable safetensors file ({error}); {MEND}") from None


def stored_shapes(path: Path) -> dict[str, torch.Size]:
    """Name -> shape of the tensors of a file, without reading them; empty if it is missing or damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: torch.Size(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError):
        return {}


def _system_error(error: Exception) -> Exception:
    """The `OSError` that safetensors hides in its message, `... (os error 28)`; else the error itself."""
    number = re.search(r"os error (\d+)", str(error))
    return error if number is None else OSError(int(number.group(1)), str(error))
