"""Named tensors in a safetensors file, with the disk's and the file's failures told as ours. It knows no model."""

import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.bundle.manifest import MEND
from regard.errors import BundleError
from regard.files import disk_errors


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write them all. Tensors that share memory are written as often as they are named: drop what is tied before."""
    # Copies where views overlap: safetensors refuses shared memory, even of parts that the caller means to store apart.
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


def read_tensors(path: Path, device: str | torch.device = "cpu") -> dict[str, Tensor]:
    """All tensors of the file."""
    try:
        return load_file(path, device=str(device))
    except FileNotFoundError:
        raise BundleError(f"{path}: missing; {MEND}") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise BundleError(f"{path}: damaged: not a readable safetensors file ({error}); {MEND}") from None


def stored_shapes(path: Path) -> dict[str, torch.Size]:
    """Name -> shape of the tensors of a file, which are not read; of a file that is missing or damaged none."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: torch.Size(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError):
        return {}


def _system_error(error: Exception) -> Exception:
    """safetensors hides the system's refusal in its message, `... (os error 28)`; anything else stays as it is."""
    number = re.search(r"os error (\d+)", str(error))
    return error if number is None else OSError(int(number.group(1)), str(error))
