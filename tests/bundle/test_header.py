"""The header of a safetensors file: read as safetensors reads it, and whatever lies in it is one line."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError
from safetensors.torch import load, save

from regard.bundle.header import StoredTensor, header_of, read_header, writing
from regard.bundle.quantised import write_quantised
from regard.bundle.tensors import tensors_of, write_tensors
from regard.errors import BundleError, DiskError

TENSORS = {
    "a": torch.arange(6, dtype=torch.float32).view(2, 3),
    "b": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    "c": torch.tensor(3.0, dtype=torch.float64),
    "d": torch.zeros(0, 4),
    "e": torch.tensor([7, -1], dtype=torch.int64),
    "f": torch.tensor([True, False]),
}


def file_of(header: Any, content: bytes = b"") -> bytes:
    text = (header if isinstance(header, str) else json.dumps(header)).encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(text)) + text + content


def test_it_is_what_safetensors_wrote(tmp_path: Path) -> None:
    content = save(TENSORS, metadata={"format": "pt"})
    (tmp_path / "w").write_bytes(content)
    header = read_header(tmp_path / "w", tmp_path)
    assert header == header_of(tmp_path / "w", bytearray(content))
    assert {name: tensor.shape for name, tensor in header.tensors.items()} == {
        name: tuple(tensor.shape) for name, tensor in TENSORS.items()
    }
    loaded = tensors_of(bytearray(content), header.tensors)
    assert all(
        torch.equal(loaded[name], tensor) and loaded[name].dtype == tensor.dtype for name, tensor in TENSORS.items()
    )


def test_a_tensor_at_an_odd_place_is_read() -> None:
    value = torch.tensor([1.0, 2.0])
    content = bytearray(b"xyz" + value.numpy().tobytes())
    assert torch.equal(tensors_of(content, {"a": StoredTensor("F32", (2,), 3, 11)})["a"], value)


TWO = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "a header of 0 bytes in a file of 0"),
        (b"\x02\0\0\0\0\0\0\0", "a header of 2 bytes in a file of 8"),
        (struct.pack("<Q", 2**63) + b"{}", "a header of 9,223,372,036,854,775,808 bytes"),
        (file_of("[1]"), "not a JSON object"),
        (file_of("{"), "not valid JSON"),
        (file_of("[" * 100_000), "levels deep"),
        (file_of('{"a": 1, "a": 2}'), "twice"),
        (file_of({"a": 1}), "a: expected an object, found a number"),
        (file_of({"a": {"dtype": "F32", "shape": [2]}}), "a: data_offsets: field required"),
        (file_of({"a": {**TWO, "shape": [2.0]}}, bytes(8)), "a: shape.0 = 2.0"),
        (file_of({"a": {**TWO, "shape": [-2]}}, bytes(8)), "a: shape.0 = -2"),
        (file_of({"a": {**TWO, "shape": [2**61] * 16}}, bytes(8)), "in 8 bytes"),
        (file_of({"a": {**TWO, "shape": [1] * 1000}}, bytes(8)), "a: shape"),
        (file_of({"a": {**TWO, "dtype": "F8_E4M3"}}, bytes(8)), "the type 'F8_E4M3', which is not read"),
        (file_of({"a": {**TWO, "data_offsets": [8, 0]}}, bytes(8)), "8 bytes, in -8 bytes"),
        (file_of({"a": TWO, "b": TWO}, bytes(8)), "begins at byte"),
        (file_of({"a": TWO}, bytes(9)), "tensors of 8 bytes in a file that has 9"),
        (file_of({"a": TWO}, bytes(7)), "tensors of 8 bytes in a file that has 7"),
    ],
)
def test_a_lie_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "w"
    path.write_bytes(content)
    for read in (lambda: read_header(path, tmp_path), lambda: header_of(path, bytearray(content))):
        with pytest.raises(BundleError, match="w: damaged: not a readable safetensors file") as caught:
            read()
        assert "\n" not in str(caught.value)
    with pytest.raises(BundleError) as caught:
        read_header(path, tmp_path)
    assert reason in str(caught.value)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_is_read_is_what_safetensors_reads(data: st.DataObject) -> None:
    """Of a mutated file: either it is refused, or safetensors finds the same tensors in it."""
    content = bytearray(save({"a": TENSORS["a"], "e": TENSORS["e"]}))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.sampled_from([*b'0123456789[]{},:"FIae -', data.draw(st.integers(0, 255))]))
    try:
        found = tensors_of(content, header_of(Path("w"), content).tensors)
    except BundleError:
        return
    expected = load(bytes(content))
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert found[name].shape == tensor.shape
        assert found[name].contiguous().view(torch.uint8).equal(tensor.contiguous().view(torch.uint8))


@pytest.mark.parametrize("write", [write_tensors, write_quantised])
def test_a_failure_to_write_is_a_disk_error(write: Any, tmp_path: Path) -> None:
    numbers = torch.ones(2, 3) if write is write_tensors else np.ones((2, 3), np.float32)
    with pytest.raises(DiskError, match="no such directory to write into"):
        write(tmp_path / "none" / "w.safetensors", {"a": numbers})


def test_the_failure_that_safetensors_hides_is_found(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="no space left to write"), writing(tmp_path / "w.safetensors"):
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
