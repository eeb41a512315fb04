"""Adapter bundles: the low-rank additions that LoRA trained, without the weights of their base. No torch.

    adapter.safetensors  adapter.json  config.json  manifest.json, and the files of the codecs

`adapter.json` names the base and its SHA-256. Opening an adapter bundle opens the base too, and whoever reads its weights gets the sum.
`NAME.lora_a` and `NAME.lora_b` belong to the map NAME of the base; a tensor NAME replaces that of the base.

Shapes: O outputs, I inputs, r rank.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from regard.bundle.header import FLOATS, StoredTensor, header_of, read_header
from regard.bundle.manifest import MEND, Manifest
from regard.errors import BundleError, shown
from regard.models.shapes import Shape
from regard.settings import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ADAPTER, ADAPTER_WEIGHTS = "adapter.json", "adapter.safetensors"
LORA_A, LORA_B = ".lora_a", ".lora_b"
"""End the names of the factors A [r, I] and B [O, r] of a map [O, I]."""
_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Adapter(Record):
    """The record of an adapter bundle: its own settings and its base."""

    base: str
    """The run or bundle that it was trained from, as `train.start` had it."""
    from_here: str | None = None
    """The path from the adapter to the bundle of the base, when it was written."""
    sha256: _Digest
    """The SHA-256 of the manifest of the base."""
    weights_sha256: _Digest | None = None
    """The SHA-256 of the file of the base's weights. A copy of the base without its optimiser has the same."""
    rank: Annotated[int, Field(ge=1, le=4096)]
    """The rank r of the additions."""
    alpha: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """An addition is (alpha / r) B A."""
    modules: tuple[str, ...]
    """The parts of the network that are adapted, as `train.lora.modules` had them."""
    whole: tuple[str, ...] = ()
    """The parts that were trained in full, as `train.lora.whole` had them."""
    trained: Annotated[int, Field(ge=1)]
    """The number of trained weights."""
    of: Annotated[int, Field(ge=1)]
    """The number of weights of the base."""

    @property
    def scale(self) -> float:
        """The factor of B A."""
        return self.alpha / self.rank


def is_adapter(files: Manifest) -> bool:
    """Whether a bundle holds only additions to the weights of another."""
    return ADAPTER in files.digests


def adapter_record(files: Manifest) -> Adapter:
    """The record of an adapter bundle."""
    return files.read_record(ADAPTER, Adapter)


def refuse_adapter(files: Manifest, cannot: str) -> None:
    """Refuse an adapter bundle where a whole one is needed. cannot: what it is not fit for."""
    if is_adapter(files):
        raise BundleError(
            f"{files.directory}: an adapter, without the weights of its base, {cannot}; "
            f"make one bundle of both: regard merge {files.directory} OUT"
        )


def read_adapter_file(files: Manifest, shapes: Mapping[str, Shape]) -> tuple[bytearray, Mapping[str, StoredTensor]]:
    """(content of the file of additions, name -> tensor), checked against the shapes of the network and the manifest."""
    path = files.directory / ADAPTER_WEIGHTS
    content = files.read_whole(ADAPTER_WEIGHTS, read_header(path, files.directory).size)
    tensors = header_of(path, content).tensors
    _check_tensors(files, tensors, shapes)
    return content, tensors


def check_adapter(files: Manifest, shapes: Mapping[str, Shape]) -> None:
    """Refuse additions that do not fit the network of the config. Only the header is read."""
    path = files.directory / ADAPTER_WEIGHTS
    try:
        _check_tensors(files, read_header(path, files.directory).tensors, shapes)
    except BundleError:
        files.verify_file(ADAPTER_WEIGHTS)
        raise


def _check_tensors(files: Manifest, tensors: Mapping[str, StoredTensor], shapes: Mapping[str, Shape]) -> None:
    rank, path = adapter_record(files).rank, files.directory / ADAPTER_WEIGHTS
    if not tensors:
        raise BundleError(f"{path}: no tensors in it; {MEND}")
    for name, tensor in tensors.items():
        end = next((end for end in (LORA_A, LORA_B) if name.endswith(end)), "")
        whole = shapes.get(name.removesuffix(end))
        if whole is None or (end and len(whole) != 2):
            raise BundleError(f"{path}: {shown(name)} belongs to no map of the network; {MEND}")
        expected = {LORA_A: (rank, *whole[1:]), LORA_B: (*whole[:1], rank), "": whole}[end]
        if tensor.shape != expected or tensor.dtype not in FLOATS:
            raise BundleError(
                f"{path}: {shown(name)} is {list(tensor.shape)} {tensor.dtype}, the network asks for {list(expected)} of floats; {MEND}"
            )
        twin = name.removesuffix(end) + (LORA_B if end == LORA_A else LORA_A)
        if end and twin not in tensors:
            raise BundleError(f"{path}: {shown(name)} has no {shown(twin)} beside it; {MEND}")
        if end and name.removesuffix(end) in tensors:
            raise BundleError(
                f"{path}: {shown(name)} is added to a map that {shown(name.removesuffix(end))} replaces; {MEND}"
            )


def with_additions(
    base: "Mapping[str, NDArray[np.float32]]", additions: "Mapping[str, NDArray[np.float32]]", scale: float
) -> "dict[str, NDArray[np.float32]]":
    """The weights of the base with the additions of an adapter."""
    import numpy as np

    merged = dict(base)
    for key, array in additions.items():
        if key.endswith(LORA_A):
            name = key.removesuffix(LORA_A)
            merged[name] = base[name] + np.float32(scale) * (additions[f"{name}{LORA_B}"] @ array)
        elif not key.endswith(LORA_B):
            merged[key] = array
    return merged


def description(files: Manifest) -> dict[str, Any] | None:
    """The adapter for `regard info`; None: the bundle is none, or its record is damaged."""
    if not is_adapter(files):
        return None
    try:
        record = adapter_record(files)
    except BundleError:
        return None
    share = f"{100 * record.trained / record.of:.2f} % of the {record.of:,} weights of its base"
    return {**record.model_dump(mode="json"), "share": share}
