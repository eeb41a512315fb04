"""What is saved is what is loaded, to the last bit; what does not fit is refused in one line."""

import hashlib
import json
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.bundle.bundle import (
    resolve_device,
    save_bundle,
    write_bundle,
)
from regard.bundle.config import AlignmentConfig
from regard.bundle.manifest import open_manifest, write_manifest
from regard.bundle.rewriting import rewrite_config
from regard.bundle.weights import tensor_shapes
from regard.errors import BundleError, ConfigError, DiskError
from regard.files import whole_directory
from regard.tasks.bundles import load_bundle, open_bundle


def logits_of(network: Any, vocabularies: tuple[int, int]) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(2, vocabularies[0] - 1, (3, 7), generator=generator)
    target = torch.randint(2, vocabularies[1] - 1, (3, 5), generator=generator)
    source[1, 4:] = vocabularies[0] - 1
    with torch.no_grad():
        return network(source, target)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"joint": False},
        {"tie": False},
        {"tie": False, "joint": False, "kind": "word"},
        {"positions": "learned", "max_positions": 40, "norm": "post", "kind": "bpe"},
        {"positions": "relative", "encoder_layers": 3, "activation": "swiglu", "kind": "unigram"},
        {"positions": "rotary", "decoder_layers": 1},
    ],
    ids=str,
)
def test_logits_are_the_same_to_the_last_bit(
    make_parts: Callable[..., Any], options: dict[str, Any], tmp_path: Path
) -> None:
    network, config, tokenizers = make_parts(**options)
    save_bundle(tmp_path / "b", network.state_dict(), config, tokenizers)
    loaded = load_bundle(tmp_path / "b")
    sizes = (config.vocabulary.source, config.vocabulary.target)
    assert torch.equal(logits_of(loaded.model, sizes), logits_of(network, sizes))
    assert loaded.config == config
    assert not loaded.model.training
    text = "l'étudiant dort 😀"
    assert loaded.tokenizers.source.encode(text) == tokenizers.source.encode(text)
    assert loaded.tokenizers.target.decode(loaded.tokenizers.target.encode(text)) == text
    assert (loaded.tokenizers.source is loaded.tokenizers.target) == options.get("joint", True)


def test_a_tensor_that_has_no_place_is_not_lost_in_silence(make_parts: Callable[..., Any], tmp_path: Path) -> None:
    network, config, tokenizers = make_parts()
    tensors = network.state_dict()
    copies = {name: tensor.clone() for name, tensor in tensors.items()}  # as an average: tied tensors by their values
    save_bundle(tmp_path / "b", copies, config, tokenizers)
    with pytest.raises(AssertionError, match="output_bias is a tensor that the shapes of translate leave out"):
        save_bundle(tmp_path / "c", {**tensors, "output_bias": torch.ones(3)}, config, tokenizers)
    assert not (tmp_path / "c").exists()


def test_another_config_and_all_else_as_it_was(make_parts: Callable[..., Any], tmp_path: Path) -> None:
    network, config, tokenizers = make_parts()
    with whole_directory(tmp_path / "b") as staging:
        write_bundle(staging, network.state_dict(), config, tokenizers)
        (staging / "beside.json").write_text("{}", encoding="utf-8")
        write_manifest(staging)
    before = {path.name: path.read_bytes() for path in (tmp_path / "b").iterdir()}
    rewrite_config(open_bundle(tmp_path / "b"), config.model_copy(update={"alignment": AlignmentConfig(layer=1)}))
    assert load_bundle(tmp_path / "b").config.alignment == AlignmentConfig(layer=1)
    after = {path.name: path.read_bytes() for path in (tmp_path / "b").iterdir()}
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} == {"config.json", "manifest.json"}
    assert [path.name for path in tmp_path.iterdir()] == ["b"]  # nothing is left beside it


def test_a_tied_matrix_is_stored_once_and_stays_tied(make_parts: Callable[..., Any], tmp_path: Path) -> None:
    network, config, tokenizers = make_parts()
    assert "source.embedding.weight" in network.state_dict()
    apart = {name: tensor.clone() for name, tensor in network.state_dict().items()}  # as an average's tensors are
    save_bundle(tmp_path / "b", apart, config, tokenizers)
    stored = load_file(tmp_path / "b" / "model.safetensors")
    assert set(stored) == set(apart) - {"source.embedding.weight"}
    assert sum(tensor.numel() for tensor in stored.values()) == sum(p.numel() for p in network.parameters())
    model = load_bundle(tmp_path / "b").model
    assert model.source.embedding.weight.data_ptr() == model.target.embedding.weight.data_ptr()
    assert model.output is None


def test_views_of_one_buffer_are_stored_apart(make_parts: Callable[..., Any], tmp_path: Path) -> None:
    """Optimisers may keep all weights in one flat tensor; safetensors alone would refuse its parts."""
    network, config, tokenizers = make_parts()
    flat = torch.cat([tensor.flatten() for tensor in network.state_dict().values()])
    views, first = {}, 0
    for name, tensor in network.state_dict().items():
        views[name] = flat[first : first + tensor.numel()].view(tensor.shape)
        first += tensor.numel()
    save_bundle(tmp_path / "b", views, config, tokenizers)
    loaded = load_bundle(tmp_path / "b").model.state_dict()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in network.state_dict().items())


def test_loading_moves_nobodys_random_numbers(bundle: Path) -> None:
    before = torch.get_rng_state()
    load_bundle(bundle)
    assert torch.equal(torch.get_rng_state(), before)


def test_weights_of_another_precision_are_read(make_parts: Callable[..., Any], tmp_path: Path) -> None:
    network, config, tokenizers = make_parts()
    half = {name: tensor.to(torch.bfloat16) for name, tensor in network.state_dict().items()}
    save_bundle(tmp_path / "b", half, config, tokenizers)
    loaded = load_bundle(tmp_path / "b").model.state_dict()
    assert all(torch.equal(loaded[name], tensor.float()) for name, tensor in half.items())


def change_config(bundle: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = bundle / "config.json"
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))
    write_manifest(bundle)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda values: values.update(format=7), ["config.json", "format 7", "reads format 2"]),
        (lambda values: values.pop("format"), ["config.json", "format None"]),
        (lambda values: values.update(langages={}), ["config.json", "'langages'", "did you mean 'languages'?"]),
        (lambda values: values["model"].update(laeyrs=2), ["config.json", "'model.laeyrs'", "'model.layers'"]),
        (lambda values: values["model"].update(heads=3), ["config.json", "model.width 16", "heads 3"]),
        (lambda values: values["vocabulary"].update(source=9), ["config.json", "vocabulary.source is 9", "tokenizer"]),
        (
            lambda values: values.update(alignment={"layer": 2}),
            ["config.json", "alignment.layer 2", "2 decoder layers"],
        ),
        (lambda values: values["model"].update(feed_forward=25), ["model.safetensors", "[24, 16]", "[25, 16]"]),
        (lambda values: values["model"].update(encoder_layers=3), ["model.safetensors", "no tensor 'encoder.2."]),
        (lambda values: values["model"].update(encoder_layers=1), ["model.safetensors", "unknown tensor 'encoder.1."]),
    ],
)
def test_a_config_that_does_not_fit_is_refused(bundle: Path, change: Any, expected: list[str]) -> None:
    change_config(bundle, change)
    with pytest.raises(BundleError) as raised:
        load_bundle(bundle)
    message = str(raised.value)
    assert all(part in message for part in expected), message
    assert "\n" not in message
    assert str(bundle) in message


def test_whole_numbers_are_not_weights(bundle: Path) -> None:
    tensors = load_file(bundle / "model.safetensors")
    tensors["decoder_norm.bias"] = tensors["decoder_norm.bias"].to(torch.int32)
    save_file(tensors, bundle / "model.safetensors")
    write_manifest(bundle)
    with pytest.raises(
        BundleError,
        match=r"model\.safetensors: decoder_norm\.bias is \[16\] I32, config\.json asks for \[16\] of floats",
    ):
        load_bundle(bundle)


@pytest.mark.parametrize("content", ["not json", "[1]", '{"format": 1', "\udcff"])
def test_an_unreadable_config(bundle: Path, content: str) -> None:
    (bundle / "config.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    write_manifest(bundle)
    with pytest.raises(BundleError, match=r"config\.json: damaged"):
        load_bundle(bundle)


def test_truncated_weights(bundle: Path) -> None:
    path = bundle / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    write_manifest(bundle)
    with pytest.raises(BundleError, match=r"model\.safetensors: damaged: not a readable safetensors file"):
        load_bundle(bundle)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_old_bundle(make_parts: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "b"
    small, large = make_parts(), make_parts(width=256)
    save_bundle(path, small[0].state_dict(), *small[1:])
    with largest_file(300_000), pytest.raises(DiskError, match="no space left") as raised:
        save_bundle(path, large[0].state_dict(), *large[1:])
    assert "\n" not in str(raised.value)
    assert load_bundle(path).config == small[1]
    assert [entry.name for entry in tmp_path.iterdir()] == ["b"]


def test_shapes_are_those_of_the_network(make_parts: Callable[..., Any]) -> None:
    network, config, _ = make_parts(positions="relative", tie=False, joint=False)
    before = torch.get_rng_state()
    shapes = tensor_shapes(config)
    assert shapes == {name: tensor.shape for name, tensor in network.state_dict().items()}
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["tpu9", "", "xpu", "cuda:99", "meta"])
def test_a_device_that_is_not_there(name: str) -> None:
    with pytest.raises(ConfigError, match=r"device = .*use cpu"):
        resolve_device(name)


def test_rewriting_a_config_follows_no_link(make_parts: Callable[..., Any], tmp_path: Path) -> None:
    network, config, tokenizers = make_parts()
    secret, path = tmp_path / "secret", tmp_path / "b"
    secret.write_text("secret", encoding="utf-8")
    save_bundle(path, network.state_dict(), config, tokenizers)
    (path / "notes.txt").write_text("mine", encoding="utf-8")
    (path / "link").symlink_to(secret)
    rewrite_config(open_bundle(path), config)
    assert (path / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert not {"notes.txt", "link"} & open_manifest(path).digests.keys()
    assert not (path / "link").exists()
    opened = open_bundle(path)
    weights = (path / "model.safetensors").rename(tmp_path / "elsewhere")
    (path / "model.safetensors").symlink_to(weights)
    before = sorted(path.iterdir())
    with pytest.raises(BundleError, match=r"model\.safetensors: a link that leads out of"):
        rewrite_config(opened, config)
    assert sorted(path.iterdir()) == before


def test_weights_are_hashed_once_when_they_are_loaded(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    sha256, file_digest = hashlib.sha256, hashlib.file_digest

    def hashed(content: bytes = b"") -> Any:
        sizes.append(len(content))
        return sha256(content)

    def hashed_file(file: Any, kind: str) -> Any:
        sizes.append(os.fstat(file.fileno()).st_size)
        return file_digest(file, kind)

    monkeypatch.setattr(hashlib, "sha256", hashed)
    monkeypatch.setattr(hashlib, "file_digest", hashed_file)
    load_bundle(bundle)
    assert sizes.count((bundle / "model.safetensors").stat().st_size) == 1
