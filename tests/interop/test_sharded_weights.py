"""Weights in several files, found by their index, and attacks on it."""

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import regard
from interop.foreign import marian_directory
from regard.errors import RegardError

pytest.importorskip("transformers")

INDEX = "model.safetensors.index.json"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "hf"
    marian_directory(path, activation_function="relu", scale_embedding=True)
    return path


def sharded(whole: Path, path: Path, suffix: str = "safetensors", parts: int = 3) -> Path:
    """The same directory with weights in several files."""
    path.mkdir()
    for file in whole.iterdir():
        if file.name != "model.safetensors":
            (path / file.name).write_bytes(file.read_bytes())
    tensors = load_file(whole / "model.safetensors")
    stem = "model" if suffix == "safetensors" else "pytorch_model"
    places = {}
    for part in range(parts):
        name = f"{stem}-{part + 1:05}-of-{parts:05}.{suffix}"
        own = {key: value for number, (key, value) in enumerate(sorted(tensors.items())) if number % parts == part}
        places |= dict.fromkeys(own, name)
        if suffix == "bin":
            torch.save(own, path / name)
        else:
            save_file(own, path / name)
    index = {"metadata": {"total_size": 1}, "weight_map": places}
    (path / f"{stem}.{suffix}.index.json").write_text(json.dumps(index), encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", ["safetensors", "bin"])
def test_weights_in_several_files_are_those_in_one(suffix: str, whole: Path, tmp_path: Path) -> None:
    regard.import_model(whole, tmp_path / "one")
    regard.import_model(sharded(whole, tmp_path / "hf", suffix), tmp_path / "several")
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "several"))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)


def test_what_transformers_itself_splits_is_read(whole: Path, tmp_path: Path) -> None:
    import transformers

    network = transformers.MarianMTModel.from_pretrained(whole)
    path = tmp_path / "hf"
    network.save_pretrained(path, max_shard_size="20KB")
    for name in ("source.spm", "target.spm", "vocab.json", "tokenizer_config.json"):
        (path / name).write_bytes((whole / name).read_bytes())
    assert (path / INDEX).exists()
    regard.import_model(path, tmp_path / "several")
    regard.import_model(whole, tmp_path / "one")
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "several"))
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)


class Evil:
    """An object whose unpickling would write a file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch evil-was-here",)


def index(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def attack(path: Path) -> None:
        values = json.loads((path / INDEX).read_text(encoding="utf-8"))
        change(values)
        (path / INDEX).write_text(json.dumps(values), encoding="utf-8")

    return attack


def renamed(name: str) -> Callable[[Path], None]:
    return index(lambda values: values["weight_map"].update({next(iter(values["weight_map"])): name}))


def linked(path: Path) -> None:
    shard = next(path.glob("model-00001*"))
    shard.unlink()
    shard.symlink_to("/etc/passwd")


def pickled(path: Path) -> None:
    next(path.glob("model-00002*")).write_bytes(pickle.dumps(Evil()))


ATTACKS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a way out": (renamed("../../etc/x.safetensors"), "is not the name of a .safetensors file beside it"),
    "a backslash": (renamed("..\\x.safetensors"), "is not the name of a .safetensors file beside it"),
    "a pickle among them": (renamed("pytorch_model.bin"), "is not the name of a .safetensors file beside it"),
    "a file that is not there": (renamed("model-00000-of-00003.safetensors"), "model-00000"),
    "a tensor in another file": (renamed("model-00003-of-00003.safetensors"), "is not in the file that it names"),
    "a tensor that no file has": (index(lambda v: v["weight_map"].update(x="model-00001-of-00003.safetensors")), "'x' is not in the file"),
    "a list": (index(lambda v: v.update(weight_map=[1])), "weight_map is not an object"),
    "numbers": (index(lambda v: v.update(weight_map={"a": 1})), "weight_map is not an object"),
    "nothing": (index(lambda v: v.update(weight_map={})), "weight_map is not an object"),
    "many files": (
        index(lambda v: v.update(weight_map={f"t{n}": f"{n}.safetensors" for n in range(2000)})),
        "2,000 files, 1,000 are the most",
    ),
    "a link": (linked, "leads out of"),
    "a pickle named safetensors": (pickled, "not a readable safetensors file"),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attacked_index_is_refused_in_one_line(
    name: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = sharded(whole, tmp_path / "hf")
    attack, reason = ATTACKS[name]
    attack(path)
    with pytest.raises(RegardError, match=reason) as caught:
        regard.import_model(path, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert {file.name for file in tmp_path.iterdir()} == {"hf"}, "nothing was written, and nothing ran"


def test_a_pickle_of_code_among_bin_files_runs_nothing(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = sharded(whole, tmp_path / "hf", "bin")
    torch.save({"w": Evil()}, path / "pytorch_model-00002-of-00003.bin")
    with pytest.raises(RegardError, match="could run as a program"):
        regard.import_model(path, tmp_path / "out")
    assert {file.name for file in tmp_path.iterdir()} == {"hf"}
