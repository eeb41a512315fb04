"""Weights fit the config or are refused by their header, before an engine sees them, on every engine and for every kind of model."""

import json
import os
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from regard.bundle import weights
from regard.bundle.building import meta_network, unfilled_network
from regard.bundle.bundle import read_network, save_bundle
from regard.bundle.config import BundleSettings
from regard.bundle.ctranslate2 import convert
from regard.bundle.describe import describe
from regard.bundle.manifest import write_manifest
from regard.bundle.weights import numpy_weights, tensor_shapes
from regard.errors import BundleError
from regard.models.build import count_model
from regard.models.config import ModelConfig
from regard.tasks.bundles import bundle_classes, load_bundle, open_bundle
from regard.tasks.classify.settings import ClassifyBundle
from regard.tasks.generate.settings import GenerateBundle
from regard.tasks.load import load_served
from regard.tasks.translate.settings import TranslateBundle
from regard.text.build import learn_single
from regard.text.config import OneTextConfig

TOKENIZERS = learn_single(OneTextConfig(kind="char"), ["je suis étudiant", "le chat dort"])
SIZE = len(TOKENIZERS.source.vocabulary)
VOCABULARY = {"source": SIZE, "target": SIZE, "joint": True}
UP = "encoder.0.feed_forward.up.weight"


def replaced(bundle: Path, **tensors: Tensor | None) -> None:
    """The bundle with other tensors; None removes one. The manifest is correct."""
    stored = {**load_file(bundle / "model.safetensors"), **tensors}
    save_file({name: tensor for name, tensor in stored.items() if tensor is not None}, bundle / "model.safetensors")
    write_manifest(bundle)


def is_refused(bundle: Path, reason: str) -> None:
    """Opening, loading and describing name the file and the reason in one line."""
    for use in (open_bundle, load_bundle):
        with pytest.raises(BundleError) as caught:
            use(bundle)
        assert str(caught.value).startswith(f"{bundle / 'model.safetensors'}: ")
        assert reason in str(caught.value)
        assert "\n" not in str(caught.value)
    [problem] = describe(bundle, bundle_classes())["problems"]
    assert reason in problem


@pytest.mark.parametrize(
    ("name", "tensor", "reason"),
    [
        (UP, torch.zeros(4_000_000, 1), "up.weight is [4000000, 1] F32, config.json asks for [24, 16] of floats"),
        (UP, torch.zeros(16, 24), "is [16, 24] F32, config.json asks for [24, 16]"),
        ("encoder_norm.bias", torch.zeros(1), "encoder_norm.bias is [1] F32, config.json asks for [16]"),
        ("encoder_norm.bias", torch.tensor(1.0), "encoder_norm.bias is [] F32"),
        ("encoder_norm.bias", torch.zeros(16, dtype=torch.int32), "encoder_norm.bias is [16] I32"),
        ("encoder_norm.bias", None, "no tensor 'encoder_norm.bias' (1 missing)"),
        ("further", torch.zeros(0), "unknown tensor 'further' (1 unknown)"),
        ("target.embedding.weight", torch.zeros(3, 16), "target.embedding.weight is [3, 16]"),
    ],
)
def test_a_transformer(bundle: Path, name: str, tensor: Tensor | None, reason: str) -> None:
    replaced(bundle, **{name: tensor})
    is_refused(bundle, reason)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_numbers_that_are_none_are_named_on_both_engines(bundle: Path, value: float, tmp_path: Path) -> None:
    bias = load_file(bundle / "model.safetensors")["decoder_norm.bias"]
    bias[3] = value
    replaced(bundle, **{"decoder_norm.bias": bias})
    opened = open_bundle(bundle)
    for read in (read_network, lambda bundle: convert(bundle, "float32", tmp_path)):
        with pytest.raises(BundleError, match=r"model\.safetensors: decoder_norm\.bias holds what is not a number"):
            read(opened)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # another engine would not help, so none is tried
        with pytest.raises(BundleError, match="holds what is not a number"):
            load_served(bundle).translate(["a"])


def test_every_precision_is_read_without_torch(make_parts: Callable[..., Any], tmp_path: Path) -> None:
    network, config, tokenizers = make_parts()
    for kind in (torch.bfloat16, torch.float16, torch.float64):
        tensors = {name: tensor.to(kind) for name, tensor in network.state_dict().items()}
        save_bundle(tmp_path / "b", tensors, config, tokenizers)
        for name, array in numpy_weights(open_bundle(tmp_path / "b")).items():
            assert array.dtype == np.float32
            assert np.array_equal(array, tensors[name].float().numpy()), name


def test_numbers_beyond_float32_are_named(bundle: Path) -> None:
    replaced(bundle, **{"decoder_norm.bias": torch.full((16,), 1e300, dtype=torch.float64)})
    with pytest.raises(BundleError, match=r"decoder_norm\.bias holds what is not a number"):
        numpy_weights(open_bundle(bundle))


def test_a_file_that_changes_after_it_was_opened_is_not_read(bundle: Path, tmp_path: Path) -> None:
    opened = open_bundle(bundle)
    tensors = load_file(bundle / "model.safetensors")
    save_file({name: tensor + 1 for name, tensor in tensors.items()}, bundle / "model.safetensors")
    for read in (read_network, lambda bundle: convert(bundle, "float32", tmp_path)):
        with pytest.raises(BundleError, match=r"model\.safetensors: content does not match its SHA-256"):
            read(opened)


def config_of(task: type[BundleSettings], model: dict[str, Any], **more: Any) -> Any:
    more = {"labels": ["a", "b", "c"]} | more if task is ClassifyBundle else more
    more = {"texts": {"context": 20}} | more if task is GenerateBundle else more
    return task.parse({"model": model, "vocabulary": VOCABULARY, **more})


RECURRENT = [
    {"kind": "recurrent", "cell": cell, "width": 4, **more}
    for cell, more in product(
        ("rnn", "gru", "lstm"),
        (
            {"layers": 2},
            {"encoder": "convolutional", "tie": False},
            {"input_feeding": True, "score": "dot", "layers": 2},
            {"score": "location", "bidirectional": False},
            {"attention": False},
        ),
    )
]
BAGS = [
    {"kind": "bag"},
    {"kind": "bag", "ngrams": 2, "buckets": 8, "weighting": "bayes"},
    {"kind": "bag", "opening": 1, "buckets": 8},
]


def fields(model: type[ModelConfig], values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in model.model_fields}


@pytest.mark.parametrize("task", [TranslateBundle, GenerateBundle, ClassifyBundle])
def test_other_networks_have_the_shapes_of_the_meta_device(task: type[BundleSettings]) -> None:
    from regard.models.config import ClassifierRecurrentConfig, LanguageRecurrentConfig, RecurrentConfig

    group = {TranslateBundle: RecurrentConfig, GenerateBundle: LanguageRecurrentConfig}.get(
        task, ClassifierRecurrentConfig
    )
    for model in [*(fields(group, values) for values in RECURRENT), *(BAGS if task is ClassifyBundle else [])]:
        config = config_of(task, model)
        assert config.shapes() is None
        network = config.network()
        persistent = network.state_dict().keys()
        named = [*network.named_parameters(), *network.named_buffers()]
        before = torch.get_rng_state()
        assert tensor_shapes(config) == {name: tensor.shape for name, tensor in named if name in persistent}
        assert torch.equal(torch.get_rng_state(), before)
        assert all(tensor.is_meta for tensor in meta_network(config).state_dict().values())


def classifier(path: Path, model: dict[str, Any], **more: Any) -> Path:
    config = config_of(ClassifyBundle, model, **more)
    save_bundle(path, config.network().state_dict(), config, TOKENIZERS)
    return path


def on_the_meta_device(network: Callable[[Any], nn.Module]) -> Callable[[Any], nn.Module]:
    """`ClassifyBundle.network`, which may take no memory."""

    def checked(config: Any) -> nn.Module:
        assert torch.empty(1).is_meta
        return network(config)

    return checked


@pytest.mark.parametrize("kind", ["recurrent", "bag", "transformer"])
def test_a_network_that_would_not_fit_is_refused_by_its_numbers(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred thousand labels, a width of 8192: nothing is allocated for them, since the file is too small."""
    bundle = classifier(tmp_path / "b", {"kind": kind})
    monkeypatch.setattr(ClassifyBundle, "network", on_the_meta_device(ClassifyBundle.network))
    values = json.loads((bundle / "config.json").read_text())
    monkeypatch.setattr(weights, "_BUILT", {})
    for change in ({"labels": [str(n) for n in range(10**5)]}, {"model": {"kind": kind, "width": 8192}}):
        if kind == "bag" and "model" in change:
            change = {"model": {"kind": kind, "ngrams": 2, "buckets": 10_000_000}}
        (bundle / "config.json").write_text(json.dumps({**values, **change}))
        write_manifest(bundle)
        with pytest.raises(BundleError, match=r"model\.safetensors: .*config\.json asks for|no tensor|does not fit"):
            load_bundle(bundle)


def test_what_a_network_makes_beside_its_weights_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bag has a matrix of labels by labels, which no file holds."""
    bundle = classifier(tmp_path / "b", {"kind": "bag"}, labels=[str(n) for n in range(2000)])
    load_bundle(bundle)
    monkeypatch.setattr(weights, "_ROOM", 0)
    with pytest.raises(BundleError, match=r"config\.json: asks for a network that takes 0\.0 GB beside its weights"):
        load_bundle(bundle)


def test_a_buffer_may_be_infinite_and_not_nan(tmp_path: Path) -> None:
    bundle = classifier(tmp_path / "b", {"kind": "bag", "ngrams": 2, "buckets": 8})
    assert load_bundle(bundle).model.get_buffer("owner").isinf().all()
    replaced(bundle, rarity=torch.full((SIZE + 8,), torch.nan))
    with pytest.raises(BundleError, match="rarity holds what is not a number"):
        load_bundle(bundle)


class NeedsNumbers(nn.Module):
    """A network of an extension that looks at a number while it is built, which the meta device has not."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(int(torch.ones(3).sum().item())))


def test_a_network_whose_weights_are_read_next_draws_none(make_parts: Callable[..., Any]) -> None:
    """All but the parameters is as in a new network: the tables of positions and what is not stored."""
    for model in ({"positions": "sinusoidal"}, {"positions": "rotary"}):
        network, config, _ = make_parts(**model)
        before = torch.get_rng_state()
        unfilled = unfilled_network(config)
        assert torch.equal(torch.get_rng_state(), before)
        buffers = dict(unfilled.named_buffers())
        assert buffers.keys() == dict(network.named_buffers()).keys()
        assert all(torch.equal(buffers[name], buffer) for name, buffer in network.named_buffers())
        unfilled.load_state_dict(network.state_dict())
        ids = torch.tensor([[3, 4, 5, 0]])
        assert torch.equal(unfilled.eval()(ids, ids), network(ids, ids))


def test_a_network_that_needs_numbers_is_built_in_memory() -> None:
    class Config(BundleSettings):
        def network(self) -> nn.Module:
            return NeedsNumbers()

    assert tensor_shapes(Config(task="toy", model=ModelConfig())) == {"weight": (3,)}


def markov(path: Path, **model: Any) -> Path:
    config = config_of(GenerateBundle, {"kind": "markov", **model})
    ids = np.array(TOKENIZERS.source.encode("le chat dort et je suis étudiant") * 3, dtype=np.int32)
    tables = count_model(config.model, ids, np.array([0]), SIZE).tables()
    save_bundle(path, tables, config, TOKENIZERS)
    return path


@pytest.mark.parametrize("model", [{"order": 2}, {"order": 2, "skips": 2}])
def test_a_counted_model(tmp_path: Path, model: dict[str, Any]) -> None:
    bundle = markov(tmp_path / "b", **model)
    load_bundle(bundle)
    keys = "first.1.keys" if "skips" in model else "2.keys"
    rest = keys.replace("keys", "rest")
    tables = load_file(bundle / "model.safetensors")
    content = (bundle / "model.safetensors").read_bytes()
    for change, reason in (
        ({keys: tables[keys].double()}, f"{keys} is [{len(tables[keys])}] F64, config.json asks for"),
        ({keys: tables[keys][:, None].contiguous()}, "of 64-bit integers"),
        ({rest: tables[rest].long()}, "of floats"),
        ({rest: tables[rest][:-1].clone()}, f"{rest} is [{len(tables[rest]) - 1}]"),
        ({rest: None}, f"no tensor '{rest}'"),
        ({"3.keys": tables[keys]}, "unknown tensor '3.keys'"),
    ):
        replaced(bundle, **change)
        is_refused(bundle, reason)
        (bundle / "model.safetensors").write_bytes(content)
    for change, reason in (
        ({keys: tables[keys].flip(0)}, f"{keys} holds what is not the key"),
        ({keys: tables[keys] - 10**9}, f"{keys} holds what is not the key"),
        ({keys: tables[keys] + 2**62}, f"{keys} holds what is not the key"),
        ({rest: torch.full_like(tables[rest], torch.nan)}, f"{rest} holds what is not a probability"),
        ({rest: -1 - tables[rest]}, f"{rest} holds what is not a probability"),
    ):
        replaced(bundle, **change)
        with pytest.raises(BundleError, match=rf"model\.safetensors: {reason}"):
            load_bundle(bundle)
        (bundle / "model.safetensors").write_bytes(content)


@pytest.mark.parametrize(
    ("alignment", "reason"),
    [
        ({"heads": [[0, -1]]}, "alignment.heads.0.1 = -1"),
        ({"heads": [[-1, 0]]}, "alignment.heads.0.0 = -1"),
        ({"heads": [[0, 2]]}, "head 2, which is not among the 2 heads"),
        ({"heads": [[2, 0]]}, "alignment.layer 2"),
        ({"heads": [[0]]}, "alignment.heads.0"),
        ({"layer": -1}, "alignment.layer = -1"),
    ],
)
def test_heads_that_are_not_there(bundle: Path, alignment: dict[str, Any], reason: str) -> None:
    values = json.loads((bundle / "config.json").read_text())
    (bundle / "config.json").write_text(json.dumps({**values, "alignment": alignment}))
    write_manifest(bundle)
    with pytest.raises(BundleError, match=r"config\.json: ") as caught:
        open_bundle(bundle)
    assert reason in str(caught.value)


def test_vocabularies_that_are_joint_in_the_config_only(bundle: Path) -> None:
    values = json.loads((bundle / "config.json").read_text())
    values["vocabulary"] = {"source": 276, "target": 276, "joint": True}
    (bundle / "config.json").write_text(json.dumps(values))
    write_manifest(bundle)
    with pytest.raises(BundleError, match=r"vocabulary\.joint is true, but the tokenizers say false"):
        open_bundle(bundle)


def test_a_tokenizer_that_is_not_listed_is_not_read(bundle: Path) -> None:
    (bundle / "source.vocab.json").rename(bundle.parent / "aside")
    write_manifest(bundle)
    (bundle.parent / "aside").rename(bundle / "source.vocab.json")
    with pytest.raises(BundleError, match=r"source\.vocab\.json: not listed in manifest\.json"):
        open_bundle(bundle)
    [problem] = describe(bundle, bundle_classes())["problems"]
    assert "source.vocab.json: not listed in manifest.json" in problem


@pytest.mark.parametrize("name", ["manifest.json", "config.json", "tokenizer.json", "model.safetensors"])
def test_a_pipe_or_a_link_to_the_outside_is_named(bundle: Path, name: str) -> None:
    path = bundle / name
    path.rename(bundle.parent / "secret")
    path.symlink_to("../secret")
    with pytest.raises(BundleError, match=rf"{name}: a link that leads out of .*bundle; it is not followed"):
        open_bundle(bundle)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(BundleError, match=rf"{name}: a named pipe, not a regular file"):
        open_bundle(bundle)


def test_the_directory_may_be_a_link_and_a_file_may_link_inside(bundle: Path) -> None:
    (bundle / "tokenizer.json").rename(bundle / "real.json")
    (bundle / "tokenizer.json").symlink_to("real.json")
    (bundle.parent / "alias").symlink_to(bundle)
    assert open_bundle(bundle.parent / "alias").tokenizers.source.kind == "char"
