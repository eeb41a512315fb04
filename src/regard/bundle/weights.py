"""Checks the weights of a bundle against its config, by the header of the file, before an engine or the memory sees a tensor.

Names, shapes and types must be those of the network. A Transformer's come from the config alone, so the check needs no torch;
any other network is built on torch's meta device, which takes no memory.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.bundle import format1
from regard.bundle.adapter import (
    ADAPTER_WEIGHTS,
    adapter_record,
    check_adapter,
    is_adapter,
    read_adapter_file,
    with_additions,
)
from regard.bundle.config import CONFIG, BundleSettings
from regard.bundle.header import FLOATS, Header, StoredTensor, header_of, read_header
from regard.bundle.manifest import MEND, Manifest
from regard.bundle.quantised import dequantised, is_quantised, stored_types
from regard.errors import BundleError
from regard.models.shapes import Shape, Shapes, is_table_of_keys

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from regard.bundle.opened import OpenBundle

WEIGHTS = "model.safetensors"
_ROOM = 1 << 30  # bytes of tables that any network may make beside its weights
_TIMES = 4  # and as a multiple of the weights
_NUMPY = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I8": "i1"}


class _Sizes(NamedTuple):
    """The tensors of a network."""

    shapes: Shapes
    unstored_buffer_bytes: int = 0
    """Such as tables of positions, which a network makes anew."""


_BUILT: dict[tuple[type, str], _Sizes] = {}


def tensor_shapes(config: BundleSettings) -> Shapes:
    """Name -> shape of the tensors that a bundle stores: parameters and persistent buffers, tied ones once."""
    return dict(_sizes(config).shapes)


def _sizes(config: BundleSettings) -> _Sizes:
    known = config.shapes()
    if known is not None:
        return _Sizes(known)
    key = type(config), config.model_dump_json()
    if key not in _BUILT:  # a run asks at each of its checkpoints
        _BUILT[key] = _built_sizes(config)
    return _BUILT[key]


def _built_sizes(config: BundleSettings) -> _Sizes:
    from regard.bundle.building import meta_network

    network = meta_network(config)
    stored = network.state_dict().keys()
    buffers = list(network.named_buffers())
    named = [*network.named_parameters(), *buffers]  # each without duplicates
    unstored = sum(buffer.nbytes for name, buffer in buffers if name not in stored)
    return _Sizes({name: tuple(tensor.shape) for name, tensor in named if name in stored}, unstored)


def check_weights(files: Manifest, config: BundleSettings, stored_format: int = 2) -> None:
    """Refuse a weights file whose header does not fit the config, or is damaged. No tensor is read."""
    if is_adapter(files):
        check_adapter(files, tensor_shapes(config))
        return
    _checked_header(files, config, stored_format)


def weights_file(files: Manifest) -> str:
    """The name of the file of a bundle's own weights."""
    return ADAPTER_WEIGHTS if is_adapter(files) else WEIGHTS


def verify_weights(bundle: "OpenBundle") -> None:
    """Refuse weights that are missing or changed, those of the base of an adapter included."""
    bundle.files.verify_file(weights_file(bundle.files))
    if bundle.base is not None:
        verify_weights(bundle.base)


def read_weights_file(
    files: Manifest, config: BundleSettings, stored_format: int = 2
) -> tuple[bytearray, dict[str, StoredTensor]]:
    """(content of the weights file, name in the newest format -> tensor), checked against the config and the manifest."""
    header = _checked_header(files, config, stored_format)  # before the memory is taken
    content = files.read_whole(WEIGHTS, header.size)
    return content, _check_header(header_of(files.directory / WEIGHTS, content), files, config, stored_format)


def numpy_weights(bundle: "OpenBundle") -> "dict[str, NDArray[np.float32]]":
    """Name -> tensor of a bundle, in float32, under the names of the newest format. No torch."""
    import numpy as np

    if bundle.base is not None:
        return _numpy_sum(bundle, bundle.base)
    arrays = stored_arrays(bundle)
    if is_quantised(bundle.files):
        with np.errstate(all="ignore"):  # what is no number is refused
            arrays = dequantised(arrays)
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise not_finite(bundle, name)
    return arrays


def stored_arrays(bundle: "OpenBundle") -> "dict[str, NDArray[np.float32]]":
    """Name -> what is stored, in float32: of a quantised bundle whole numbers and scales. Their numbers are not checked."""
    return _arrays(*read_weights_file(bundle.files, bundle.config, bundle.stored_format))


def _numpy_sum(bundle: "OpenBundle", base: "OpenBundle") -> "dict[str, NDArray[np.float32]]":
    """The weights of the base of an adapter with its additions."""
    import numpy as np

    additions = _arrays(*read_adapter_file(bundle.files, shapes_of_sum(bundle, base)))
    for name, array in additions.items():
        if not np.isfinite(array).all():
            raise not_finite(bundle, name)
    return with_additions(numpy_weights(base), additions, adapter_record(bundle.files).scale)


def shapes_of_sum(bundle: "OpenBundle", base: "OpenBundle") -> Shapes:
    """The shapes of an adapter's network, which are those of its base."""
    own = tensor_shapes(bundle.config)
    if own != tensor_shapes(base.config):
        raise BundleError(f"{bundle.directory / CONFIG}: not the network of the base {base.directory}; {MEND}")
    return own


def _arrays(content: bytearray, tensors: Mapping[str, StoredTensor]) -> "dict[str, NDArray[np.float32]]":
    """Name -> tensor of the content of a file, in float32."""
    import numpy as np

    arrays: dict[str, NDArray[np.float32]] = {}
    for name, tensor in tensors.items():
        part = memoryview(content)[tensor.begin : tensor.end]
        if tensor.dtype == "BF16":  # the upper half of a float32
            values: Any = (np.frombuffer(part, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            with np.errstate(over="ignore"):  # it becomes infinite, which is refused
                values = np.frombuffer(part, _NUMPY[tensor.dtype]).astype(np.float32, copy=False)
        arrays[name] = values.reshape(tensor.shape)
    return arrays


def not_finite(bundle: "OpenBundle", name: str) -> BundleError:
    """The error of a tensor with infinite or NaN numbers. No engine reports them reliably."""
    return BundleError(
        f"{bundle.directory / weights_file(bundle.files)}: {name} holds what is not a number: "
        "the training diverged; take another checkpoint"
    )


def _checked_header(files: Manifest, config: BundleSettings, stored_format: int) -> Header:
    """The header of the weights file, which fits the config. The error for a file that was changed states that first."""
    try:
        header = read_header(files.directory / WEIGHTS, files.directory)
        _check_header(header, files, config, stored_format)
    except BundleError:
        files.verify_file(WEIGHTS)
        raise
    return header


def _check_header(
    header: Header, files: Manifest, config: BundleSettings, stored_format: int
) -> dict[str, StoredTensor]:
    """The tensors under the names of the newest format; refused where they do not fit the config."""
    path, tensors = files.directory / WEIGHTS, dict(header.tensors)
    if stored_format == 1:
        tensors = {format1.tensor_name(name): tensor for name, tensor in tensors.items()}
    if len(tensors) < len(header.tensors):
        raise BundleError(f"{path}: two tensors of one name; it does not fit {CONFIG}; {MEND}")
    if config.counted:
        shapes = config.table_shapes({name: tensor.shape for name, tensor in tensors.items()})
        check_shapes(path, tensors, shapes, {name for name in shapes if is_table_of_keys(name)})
        return tensors
    sizes = _sizes(config)
    if is_quantised(files):
        check_stored(path, tensors, stored_types(sizes.shapes))
    else:
        check_shapes(path, tensors, sizes.shapes)
    if sizes.unstored_buffer_bytes > max(_ROOM, _TIMES * header.size):
        raise BundleError(
            f"{files.directory / CONFIG}: asks for a network that takes {sizes.unstored_buffer_bytes / 1e9:,.1f} GB beside its weights "
            f"of {header.size / 1e9:,.1f} GB; {MEND}"
        )
    return tensors


def check_shapes(
    path: Path, tensors: Mapping[str, StoredTensor], expected: Mapping[str, Shape], integer_names: Collection[str] = ()
) -> None:
    """Refuse tensors whose names, shapes or types are not the expected ones. `integer_names`: those of 64-bit integers."""
    types = {name: (shape, ("I64",) if name in integer_names else FLOATS) for name, shape in expected.items()}
    check_stored(path, tensors, types)


def check_stored(
    path: Path, tensors: Mapping[str, StoredTensor], expected: Mapping[str, tuple[Shape, tuple[str, ...]]]
) -> None:
    """Refuse tensors whose names are not the expected ones, or whose shape or type is not that of their name."""
    missing, unknown = sorted(expected.keys() - tensors.keys()), sorted(tensors.keys() - expected.keys())
    if missing:
        raise BundleError(
            f"{path}: no tensor {missing[0]!r} ({len(missing)} missing); it does not fit {CONFIG}; {MEND}"
        )
    if unknown:
        raise BundleError(
            f"{path}: unknown tensor {unknown[0]!r} ({len(unknown)} unknown); it does not fit {CONFIG}; {MEND}"
        )
    for name, (shape, types) in expected.items():
        tensor = tensors[name]
        if tensor.shape != shape or tensor.dtype not in types:
            kind = {"I64": "64-bit integers", "I8": "8-bit integers"}.get(types[0], "floats")
            raise BundleError(
                f"{path}: {name} is {list(tensor.shape)} {tensor.dtype}, {CONFIG} asks for {list(shape)} of {kind}; {MEND}"
            )
