"""Adapter bundles: equal to merged ones for several networks, small, bound to their base, and merged by `regard merge`."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard.bundle.bundle import read_weights
from regard.bundle.describe import describe
from regard.bundle.locate import find_bundle
from regard.bundle.manifest import open_manifest, write_manifest
from regard.bundle.weights import numpy_weights
from regard.errors import BundleError, ConfigError, RegardError
from regard.tasks.bundles import bundle_classes, open_bundle
from training.runs import run, small_settings

TRAIN = {"max_steps": 4, "batch_tokens": 128, "validate_every": 2, "save_every": 2, "warmup": 1, "samples": 1}
SMALL = {"width": 16, "heads": 2, "feed_forward": 32, "layers": 1}
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "transformer": ("translate", SMALL),
    "prefix": ("translate", {"kind": "prefix", **SMALL}),
    "hyena": ("translate", {**SMALL, "encoder_mixer": "hyena"}),
    "recurrent": ("translate", {"kind": "recurrent", "width": 16, "layers": 1}),
    "writer": ("generate", SMALL),
    "recurrent-writer": ("generate", {"kind": "recurrent", "width": 16, "layers": 1}),
    "classifier": ("classify", {**SMALL, "norm_kind": "rms"}),
}


def settings_of(name: str, home: Path) -> dict[str, Any]:
    task, model = NETWORKS[name]
    pairs = small_settings(home)["data"]
    lines = Path(pairs["src"]).read_text(encoding="utf-8").splitlines()
    (home / "labelled.tsv").write_text("".join(f"{line}\t{'ab'[n % 2]}\n" for n, line in enumerate(lines)), "utf-8")
    data = {
        "translate": pairs,
        "generate": {"text": pairs["src"]},
        "classify": {"labelled": str(home / "labelled.tsv")},
    }
    return {"task": task, "data": data[task], "text": {"kind": "char"}, "model": model, "train": TRAIN}


def tuned(home: Path, settings: dict[str, Any], out: str, **lora: Any) -> Path:
    """A run that was fine-tuned from `home/base`: its bundle of the last step."""
    further = {name: settings[name] for name in ("task", "data", "train")}
    run(further, home / out, start=str(home / "base"), lora={"rank": 2, **lora}, learning_rate=0.05)
    (home / out / "best").write_text((home / out / "latest").read_text(encoding="utf-8"), encoding="utf-8")
    return find_bundle(home / out)


@pytest.mark.parametrize("name", NETWORKS)
def test_an_adapter_equals_the_merged_bundle(name: str, tmp_path: Path) -> None:
    settings = settings_of(name, tmp_path)
    run(settings, tmp_path / "base")
    whole, apart = tuned(tmp_path, settings, "whole"), tuned(tmp_path, settings, "apart", merge=False)
    assert not (apart / "model.safetensors").exists()
    expected, base = read_weights(open_bundle(whole)), read_weights(open_bundle(find_bundle(tmp_path / "base")))
    assert any(not torch.equal(expected[key], base[key]) for key in base)
    ours, arrays = read_weights(open_bundle(apart)), numpy_weights(open_bundle(apart))
    for key, tensor in expected.items():
        torch.testing.assert_close(ours[key], tensor, msg=key, atol=1e-6, rtol=1e-6)
        np.testing.assert_allclose(arrays[key], tensor.numpy(), atol=1e-5, err_msg=key)
    regard.merge(tmp_path / "apart", tmp_path / "merged")
    merged = read_weights(open_bundle(tmp_path / "merged"))
    assert all(torch.equal(merged[key], ours[key]) for key in ours)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base that ctranslate2 can run, and an adapter of it."""
    home = tmp_path_factory.mktemp("adapters")
    settings = {"task": "translate", **small_settings(home), "train": TRAIN}
    settings["model"] = {**settings["model"], "positions": "sinusoidal"}
    run(settings, home / "base")
    tuned(home, settings, "apart", merge=False, whole=["norms"])
    tuned(home, settings, "whole", whole=["norms"])
    return home


@pytest.mark.parametrize("engine", ["torch", "ct2"])
def test_both_engines_translate_with_an_adapter(engine: Any, home: Path) -> None:
    texts = ["ab cd", "bcd efg abcd", "h"]
    scores = []
    for name in ("apart", "whole"):
        model = regard.load(home / name, engine=engine)
        scores.append([[one.text, pytest.approx(one.score, abs=1e-4)] for one in model.translate(texts, beam=3)])
    assert [text for text, _ in scores[0]] == [text for text, _ in scores[1]]
    assert [[text, score.expected] for text, score in scores[0]] == scores[1]


def test_it_is_small_and_told_by_info(home: Path) -> None:
    bundle = find_bundle(home / "apart")
    description = describe(home / "apart", bundle_classes())
    adapter = description["adapter"]
    assert (adapter["rank"], adapter["modules"], adapter["whole"]) == (2, ["linear"], ["norms"])
    weights = sum(tensor.numel() for tensor in read_weights(open_bundle(find_bundle(home / "base"))).values())
    assert adapter["of"] == weights
    assert adapter["share"] == f"{100 * adapter['trained'] / weights:.2f} % of the {weights:,} weights of its base"
    assert 4 * adapter["trained"] < (bundle / "adapter.safetensors").stat().st_size < 4 * adapter["trained"] + 6_000
    assert description["problems"] == []
    assert adapter["sha256"] == open_manifest(find_bundle(home / "base")).identity


def test_a_missing_or_another_base_is_told_with_the_fix(home: Path, tmp_path: Path) -> None:
    apart = tmp_path / "apart"
    shutil.copytree(find_bundle(home / "apart"), apart)
    set_base(apart, str(tmp_path / "gone"))
    fix = rf"regard merge {apart} OUT --base DIR"
    with pytest.raises(BundleError, match=rf"its base {tmp_path}/gone is not there; restore it, or .*{fix}"):
        regard.load(apart)
    [problem] = describe(apart, bundle_classes())["problems"]
    assert "is not there" in problem
    set_base(apart, str(home / "whole"))
    with pytest.raises(BundleError, match=rf"is another model than it was trained from \(SHA-256 .*{fix}"):
        regard.load(apart)
    with pytest.raises(BundleError, match="is another model than it was trained from"):
        regard.merge(apart, tmp_path / "merged", base=home / "whole")
    assert not (tmp_path / "merged").exists()
    regard.merge(apart, tmp_path / "merged", base=home / "base")
    ours, theirs = (read_weights(open_bundle(path)) for path in (tmp_path / "merged", find_bundle(home / "apart")))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def set_base(adapter: Path, base: str) -> None:
    record = json.loads((adapter / "adapter.json").read_text(encoding="utf-8"))
    (adapter / "adapter.json").write_text(json.dumps({**record, "base": base, "from_here": None}), encoding="utf-8")
    write_manifest(adapter)


def test_a_copy_of_the_base_without_its_optimiser_is_the_base(home: Path, tmp_path: Path) -> None:
    apart = tmp_path / "apart"
    shutil.copytree(find_bundle(home / "apart"), apart)
    regard.export(home / "base", tmp_path / "copy", "safetensors")
    set_base(apart, str(tmp_path / "copy"))
    assert open_bundle(apart).base is not None


def test_both_may_be_moved_together(home: Path, tmp_path: Path) -> None:
    for name in ("base", "apart"):
        shutil.copytree(home / name, tmp_path / "moved" / name)
    bundle = tmp_path / "moved" / (find_bundle(home / "apart").relative_to(home))
    record = json.loads((bundle / "adapter.json").read_text(encoding="utf-8"))
    (bundle / "adapter.json").write_text(json.dumps({**record, "base": str(tmp_path / "gone")}), encoding="utf-8")
    write_manifest(bundle)
    base = open_bundle(bundle).base
    assert base is not None
    assert base.directory.resolve().is_relative_to(tmp_path / "moved" / "base")


def test_what_needs_a_whole_bundle_says_how_to_make_one(home: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"an adapter, without the weights of its base, .*: regard merge .* OUT"):
        regard.quantize(home / "apart", tmp_path / "int8", src=["ab"], ref=["BA"])
    with pytest.raises(BundleError, match=r"no adapter, but a whole bundle; to copy it: regard export"):
        regard.merge(home / "base", tmp_path / "copy")
    with pytest.raises(BundleError, match=r"no adapter, but a whole bundle; leave out --base"):
        regard.merge(home / "base", tmp_path / "copy", base=home / "base")


def test_additions_that_do_not_fit_are_refused(home: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = tmp_path / "apart"
    shutil.copytree(find_bundle(home / "apart"), path)
    tensors = load_file(path / "adapter.safetensors")
    name = next(key for key in tensors if key.endswith(".lora_a"))
    for changed, message in (
        (
            {**tensors, "strange.lora_a": tensors[name].clone()},
            "'strange.lora_a' belongs to no map|strange.lora_a belongs to no map",
        ),
        ({**tensors, name: tensors[name][:1].clone()}, rf"{name} is \[1, 16\] F32, the network asks for \[2, 16\]"),
        ({key: value for key, value in tensors.items() if key != name}, "lora_b has no .*lora_a beside it"),
        ({**tensors, name: tensors[name] * torch.nan}, "holds what is not a number"),
    ):
        save_file(changed, path / "adapter.safetensors")
        write_manifest(path)
        with pytest.raises(BundleError, match=message):
            regard.load(path, engine="torch")


def test_an_adapter_may_be_a_base(home: Path, tmp_path: Path) -> None:
    settings = {**small_settings(tmp_path), "train": TRAIN}
    further = {
        "data": settings["data"],
        "train": {**TRAIN, "start": str(home / "apart"), "lora": {"rank": 1, "merge": False}},
    }
    run(further, tmp_path / "second")
    opened = open_bundle(tmp_path / "second" / "checkpoints" / "step-00000000")
    before = read_weights(open_bundle(find_bundle(home / "apart")))
    assert all(torch.equal(tensor, before[name]) for name, tensor in read_weights(opened).items())


def test_counted_models_have_nothing_to_adapt(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat sleeps\n" * 60, encoding="utf-8")
    settings = {"task": "generate", "data": {"text": str(tmp_path / "a.txt")}, "model": {"kind": "markov"}}
    with pytest.raises(ConfigError, match=r"train.lora needs train.start"):
        run(settings, tmp_path / "run", lora={})
    run(settings, tmp_path / "base")
    with pytest.raises(RegardError, match="a model that was counted is not trained further"):
        run(settings, tmp_path / "run", lora={}, start=str(tmp_path / "base"))
