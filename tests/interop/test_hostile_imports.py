"""Model directories of strangers: each attack is one line of error, takes little memory, runs nothing and writes nothing."""

import json
import os
import pickle
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import regard
from interop.foreign import marian_directory
from regard.errors import BundleError, RegardError

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "hf"
    marian_directory(path, activation_function="relu", scale_embedding=True)
    return path


@pytest.fixture
def directory(sound: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "hf"
    copy.mkdir()
    for file in sound.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def config(**values: Any) -> Callable[[Path], None]:
    def attack(path: Path) -> None:
        stored = json.loads((path / "config.json").read_text(encoding="utf-8"))
        (path / "config.json").write_text(json.dumps({**stored, **values}), encoding="utf-8")

    return attack


def tensors(change: Callable[[dict[str, torch.Tensor]], None]) -> Callable[[Path], None]:
    def attack(path: Path) -> None:
        values = load_file(path / "model.safetensors")
        change(values)
        save_file(values, path / "model.safetensors")

    return attack


def pickled(content: object) -> Callable[[Path], None]:
    def attack(path: Path) -> None:
        (path / "model.safetensors").unlink()
        torch.save(content, path / "pytorch_model.bin")

    return attack


def end_outside(path: Path) -> None:
    (path / "generation_config.json").unlink()
    config(eos_token_id=10**6)(path)


def pad_outside(path: Path) -> None:
    (path / "generation_config.json").unlink()
    config(pad_token_id=10**6, decoder_start_token_id=0)(path)


def damaged_pickle(path: Path) -> None:
    """A pickle that takes more from its stack than is there."""
    (path / "model.safetensors").unlink()
    with zipfile.ZipFile(path / "pytorch_model.bin", "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02R.")
        archive.writestr("archive/version", b"3\n")


class Evil:
    """An object whose unpickling would write a file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch evil-was-here",)


def plain_pickle(path: Path) -> None:
    (path / "model.safetensors").unlink()
    (path / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))


def pickle_named_safetensors(path: Path) -> None:
    (path / "model.safetensors").write_bytes(pickle.dumps(Evil()))


def huge_header(path: Path) -> None:
    (path / "model.safetensors").write_bytes(struct.pack("<Q", 1 << 40) + b"{}")


def linked(path: Path) -> None:
    (path / "source.spm").unlink()
    (path / "source.spm").symlink_to("/etc/passwd")


def damaged_spm(path: Path) -> None:
    content = (path / "source.spm").read_bytes()
    (path / "source.spm").write_bytes(b"\x0a\xff\xff\xff\xff\x0f" + content)


def hostile_map(path: Path) -> None:
    """A map of characters whose trie leads out of itself."""
    texts = b"\0" * 8
    trie = struct.pack("<256I", *([0xFFFFFC00 >> 1] * 256))
    content = struct.pack("<I", len(trie)) + trie + texts
    field = b"\x12" + _varint(len(content)) + content
    (path / "source.spm").write_bytes((path / "source.spm").read_bytes() + b"\x1a" + _varint(len(field)) + field)


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def vocabulary(change: Callable[[dict[str, int]], None]) -> Callable[[Path], None]:
    def attack(path: Path) -> None:
        values = json.loads((path / "vocab.json").read_text(encoding="utf-8"))
        change(values)
        (path / "vocab.json").write_text(json.dumps(values), encoding="utf-8")

    return attack


NAME = "model.encoder.layers.0.fc1.weight"
ATTACKS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a missing tensor": (tensors(lambda t: t.pop(NAME)), "no tensor 'model.encoder.layers.0.fc1.weight'"),
    "a tensor too many": (tensors(lambda t: t.update(extra=torch.zeros(1))), "unknown tensor 'extra'"),
    "another shape": (
        tensors(lambda t: t.update({NAME: torch.zeros(2, 2)})),
        r"fc1.weight is \[2, 2\], config.json asks",
    ),
    "not a number": (tensors(lambda t: t[NAME].fill_(float("nan"))), "holds what is not a number"),
    "another architecture": (config(model_type="llama"), "model_type = 'llama': not one of"),
    "no architecture": (config(model_type=None), "model_type = None|model_type = ''"),
    "a model type of another type": (config(model_type=["marian"]), "model_type ="),
    "a giant": (config(d_model=1 << 20, vocab_size=1 << 30), "config.json asks for"),
    "a giant without its vocabulary": (config(encoder_ffn_dim=1 << 30, decoder_ffn_dim=1 << 30), "feed_forward"),
    "many layers": (config(encoder_layers=1 << 30), "layers"),
    "text for a number": (config(d_model="wide"), "d_model = 'wide': expected int"),
    "another activation": (config(activation_function="exec"), "activation_function = 'exec'"),
    "unequal heads": (config(decoder_attention_heads=2), "decoder_attention_heads = 2"),
    "an end mark outside": (end_outside, "eos_token_id"),
    "a pickle of code": (pickled({"w": Evil()}), "could run as a program"),
    "a pickle that is no zip file": (plain_pickle, "not a zip file"),
    "a damaged pickle": (damaged_pickle, "could run as a program"),
    "a huge tensor of one number": (
        pickled({"w": torch.zeros(1).expand(1 << 20, 2048)}),
        "w is sparse, or larger than",
    ),
    "a sparse tensor": (pickled({"w": torch.eye(3).to_sparse()}), "w is sparse, or larger than"),
    "padding outside": (pad_outside, "pad_token_id = 1000000 is outside of the vocabulary"),
    "a number for barred words": (config(bad_words_ids=5), "bad_words_ids = 5: expected a list"),
    "a pickle of something else": (pickled([1, 2]), "not a dictionary of tensors"),
    "a pickle named safetensors": (pickle_named_safetensors, "not a readable safetensors file"),
    "a huge header": (huge_header, "not a readable safetensors file"),
    "a link": (linked, "leads out of"),
    "a sentencepiece model that lies about its size": (damaged_spm, "not a sentencepiece model"),
    "a map of characters that leads out": (hostile_map, "map of characters"),
    "an id beyond the rows": (vocabulary(lambda v: v.update(far=10**9)), "has the id 1000000000"),
    "two pieces of one id": (vocabulary(lambda v: v.update(twice=0)), "two pieces have the same id"),
    "no unknown mark": (vocabulary(lambda v: v.pop("<unk>")), "no piece '<unk>'"),
    "no weights": (lambda path: (path / "model.safetensors").unlink(), "no model.safetensors"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_directory_is_refused_in_one_line(
    name: str, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    attack, reason = ATTACKS[name]
    attack(directory)
    before = {path.name for path in tmp_path.iterdir()}
    if "giant" in name or "many" in name or "huge" in name:  # tracing is slow
        tracemalloc.start()
    try:
        with pytest.raises(RegardError, match=reason) as caught:
            regard.import_model(directory, tmp_path / "out")
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == before, "nothing was written, and nothing ran"


def test_a_bin_file_of_tensors_is_read(directory: Path, tmp_path: Path) -> None:
    regard.import_model(directory, tmp_path / "one")
    values = load_file(directory / "model.safetensors")
    (directory / "model.safetensors").unlink()
    torch.save(values, directory / "pytorch_model.bin")
    regard.import_model(directory, tmp_path / "two")
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)


def test_what_is_there_is_not_replaced(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="it is there already"):
        regard.import_model(directory, tmp_path)
    with pytest.raises(BundleError, match="no such directory"):
        regard.import_model(tmp_path / "nothing", tmp_path / "out")
