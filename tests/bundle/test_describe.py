"""What `regard info` tells is counted, not copied."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regard.bundle.bundle import save_bundle
from regard.bundle.describe import describe
from regard.bundle.locate import write_pointer
from regard.bundle.manifest import write_manifest
from regard.errors import BundleError
from regard.tasks.bundles import bundle_classes


def test_parameters_are_counted_by_part(make_parts: Callable[..., Any], tmp_path: Path) -> None:
    network, config, tokenizers = make_parts()
    save_bundle(tmp_path / "b", network.state_dict(), config, tokenizers)
    told = describe(tmp_path / "b", bundle_classes())["parameters"]
    assert told["total"] == sum(parameter.numel() for parameter in network.parameters())
    pieces, D, F = len(tokenizers.source.vocabulary), 16, 24
    attention, feed_forward, norm = 4 * (D * D + D), D * F + F + F * D + D, 2 * D
    assert told["parts"] == {
        "target": pieces * D,
        "encoder": 2 * (attention + feed_forward + 2 * norm),
        "decoder": 2 * (2 * attention + feed_forward + 3 * norm),
        "encoder_norm": norm,
        "decoder_norm": norm,
    }


def test_it_is_plain_json_and_says_what_it_is(bundle: Path) -> None:
    told = json.loads(json.dumps(describe(bundle, bundle_classes()), allow_nan=False))
    assert told["languages"] == {"source": "fr", "target": "en"}
    assert told["format"] == 2
    assert told["tokenizer"]["kind"] == "char"
    assert told["vocabulary"]["joint"] is False
    assert told["model"]["layers"] == 2
    assert told["training"] is None
    assert told["problems"] == []
    assert {file["name"]: file["bytes"] for file in told["files"]} == {
        path.name: path.stat().st_size for path in bundle.iterdir() if path.name != "manifest.json"
    }


def test_damage_is_listed_and_the_rest_still_told(bundle: Path) -> None:
    weights, words = bundle / "model.safetensors", bundle / "source.vocab.json"
    weights.write_bytes(weights.read_bytes()[:-1])
    words.unlink()
    told = describe(bundle, bundle_classes())
    states = {file["name"]: file["state"] for file in told["files"]}
    assert states["model.safetensors"] == "damaged"
    assert states["source.vocab.json"] == "missing"
    assert states["config.json"] == "intact"
    assert [problem.split(": ")[0] for problem in told["problems"]] == [str(weights), str(words)]
    assert told["parameters"]["total"] > 0


def test_the_state_of_training(bundle: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    checkpoint = run / "checkpoints" / "step-00000012"
    checkpoint.parent.mkdir(parents=True)
    bundle.rename(checkpoint)
    state = {"progress": {"step": 12, "seconds": 3.5, "best": 31.0}, "threads": 2, "other": [1, 2, 3]}
    (checkpoint / "state.json").write_text(json.dumps(state))
    write_manifest(checkpoint)
    write_pointer(run, "best", checkpoint)
    told = describe(run, bundle_classes())
    assert told["training"] == {"step": 12, "seconds": 3.5, "best": 31.0, "threads": 2}
    assert told["directory"] == str(checkpoint)
    (checkpoint / "state.json").write_text("{")
    assert describe(run, bundle_classes())["training"] is None
    assert "state.json: content does not match" in describe(run, bundle_classes())["problems"][0]


def test_an_unreadable_config_leaves_nothing_to_tell(bundle: Path) -> None:
    (bundle / "config.json").write_text("{")
    with pytest.raises(BundleError, match=r"config\.json: content does not match its SHA-256"):
        describe(bundle, bundle_classes())
    write_manifest(bundle)
    with pytest.raises(BundleError, match=r"config\.json: damaged"):
        describe(bundle, bundle_classes())
