"""`regard quantize`: the same numbers as CTranslate2's int8 of the bundle, in a quarter of the size, for every verb."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub import ModelCard
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

import regard
from regard.bundle.bundle import read_weights
from regard.bundle.ctranslate2 import convert
from regard.bundle.manifest import write_manifest
from regard.bundle.weights import WEIGHTS, numpy_weights
from regard.cli.main import app
from regard.errors import BundleError, ConfigError, DataError, DiskError
from regard.tasks.load import open_given
from tasks.bundles import SPLIT, TEXTS, random_bundle

PAIRS = {"src": [pair.french for pair in SPLIT.test[:6]], "ref": [pair.english for pair in SPLIT.test[:6]]}
NETWORKS: list[dict[str, Any]] = [
    {},
    {"norm": "post", "positions": "learned", "activation": "swiglu"},
    {"positions": "relative", "joint": False, "tie": False},
    {"activation": "gelu", "tie": False, "output_bias": True, "embedding_norm": True},
]


@pytest.fixture(scope="module")
def quantised(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A bundle, and what was made of it."""
    home = tmp_path_factory.mktemp("quantised")
    path = random_bundle(home / "b", ending=3.0, languages={"source": "fr", "target": "en"})
    regard.quantize(path, home / "int8", **PAIRS)
    return path, home / "int8"


@pytest.mark.parametrize("starts", [False, True], ids=["", "start-vector"])
@pytest.mark.parametrize("settings", NETWORKS, ids=lambda row: "-".join(map(str, row.values())))
def test_ctranslate2_gets_the_same_bytes_as_of_the_bundle(
    settings: dict[str, Any], starts: bool, tmp_path: Path
) -> None:
    path = random_bundle(tmp_path / "b", **settings)
    if starts:  # as an imported model may have it: the decoder starts from a vector that is not zero
        weights = load_file(path / WEIGHTS)
        weights["target.embedding.weight"][-1] = np.linspace(-1, 1, weights["target.embedding.weight"].shape[1])
        save_file(weights, path / WEIGHTS)
        (path / "manifest.json").unlink()
        write_manifest(path)
    regard.quantize(path, tmp_path / "int8", **PAIRS)
    for name, precision in (("b", "int8"), ("int8", "float32")):
        (tmp_path / f"{name}-ct2").mkdir()
        convert(open_given(tmp_path / name), precision, tmp_path / f"{name}-ct2")  # type: ignore[arg-type]
    bytes_of = [(tmp_path / f"{name}-ct2" / "model.bin").read_bytes() for name in ("b", "int8")]
    assert bytes_of[0] == bytes_of[1]


def test_both_engines_and_every_reader_have_its_weights(quantised: tuple[Path, Path]) -> None:
    path, out = quantised
    stored = load_file(out / WEIGHTS)
    whole = {name for name, array in stored.items() if array.dtype == np.int8}
    assert whole == {name for name, array in numpy_weights(open_given(path)).items() if array.ndim == 2}
    ours, theirs = read_weights(open_given(out)), numpy_weights(open_given(out))
    for name, array in numpy_weights(open_given(path)).items():
        np.testing.assert_array_equal(ours[name].numpy(), theirs[name])
        if name in whole:  # rounding is half a step at most
            steps = 1.0 / stored[f"{name}.scale"][:, None]
            assert (np.abs(theirs[name] - array) <= 0.5001 * steps).all()
        else:
            np.testing.assert_array_equal(theirs[name], array)
    expected = regard.load(path, engine="ct2", precision="int8").translate(TEXTS[:8], beam=3)
    for choice in ("float32", "int8", "auto"):
        found = regard.load(out, engine="ct2", precision=choice).translate(TEXTS[:8], beam=3)
        assert [(one.text, one.logprob) for one in found] == [(one.text, one.logprob) for one in expected]
    network = regard.load(out, engine="torch").network
    torch.testing.assert_close(network.target.embedding.weight, ours["target.embedding.weight"])


def test_it_is_a_quarter_of_the_size_and_says_what_it_lost(quantised: tuple[Path, Path], tmp_path: Path) -> None:
    path, out = quantised
    record = json.loads((out / "quantised.json").read_text(encoding="utf-8"))
    assert record["sizes"] == {
        "float32": (path / WEIGHTS).stat().st_size,
        "int8": (out / WEIGHTS).stat().st_size,
    }
    assert record["sizes"]["int8"] < 0.45 * record["sizes"]["float32"]  # of so small a network the headers count
    assert record["sentences"] == 6
    assert set(record["scores"]) == {"bleu", "chrf"}
    card = ModelCard.load(out / "README.md")
    assert "int8" in card.data.tags
    assert "| weights | 8 bits: " in card.text
    info = CliRunner().invoke(app, ["info", str(out), "--json"]).stdout
    assert json.loads(info)["quantised"]["sizes"] == record["sizes"]
    assert json.loads(info)["problems"] == []
    again = regard.quantize(path, tmp_path / "again", **PAIRS)
    assert again.model_dump(mode="json") == record
    assert (tmp_path / "again" / WEIGHTS).read_bytes() == (out / WEIGHTS).read_bytes()


def test_it_can_be_exported_scored_and_shortlisted(quantised: tuple[Path, Path], tmp_path: Path) -> None:
    _, out = quantised
    expected = [one.text for one in regard.load(out).translate(TEXTS[:4])]
    regard.export(out, tmp_path / "m.zip", to="zip")
    regard.export(out, tmp_path / "plain", to="safetensors")
    for copy in (tmp_path / "m.zip", tmp_path / "plain"):
        assert [one.text for one in regard.load(copy).translate(TEXTS[:4])] == expected
    assert (tmp_path / "plain" / WEIGHTS).read_bytes() == (out / WEIGHTS).read_bytes()
    [score] = regard.load(out).score(TEXTS[:1], ["the cat"])
    assert score.logprob < 0
    for to, name in (("ct2", "ct2"), ("argos", "m.argosmodel")):
        with pytest.raises(
            BundleError, match="its weights have 8 bits, so they are not written as float32; use --precision int8"
        ):
            regard.export(out, tmp_path / name, to=to, src_lang="fr", tgt_lang="en")
        assert not (tmp_path / name).exists()
    regard.export(out, tmp_path / "ct2", to="ct2", precision="int8")
    assert (tmp_path / "ct2" / "model.bin").exists()


def test_the_command_prints_a_table(tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b")
    for name, lines in PAIRS.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    files = ["--src", str(tmp_path / "src"), "--ref", str(tmp_path / "ref")]
    answer = CliRunner().invoke(app, ["quantize", str(path), str(tmp_path / "out"), *files])
    assert answer.exit_code == 0, answer.output
    rows = [line.split() for line in answer.stdout.splitlines()]
    assert rows[0] == ["weights", "bytes", "BLEU", "chrF"]
    assert [row[0] for row in rows[1:]] == ["float32", "int8"]
    assert rows[2][1] == f"{(tmp_path / 'out' / WEIGHTS).stat().st_size:,}"


def test_what_cannot_be_quantised_is_refused(quantised: tuple[Path, Path], tmp_path: Path) -> None:
    path, out = quantised
    recurrent = random_bundle(tmp_path / "recurrent", kind="recurrent")
    refused: list[tuple[Path, dict[str, Any], type[Exception], str]] = [
        (recurrent, PAIRS, BundleError, r"only CTranslate2 runs weights of 8 bits, and it has no networks of"),
        (out, PAIRS, BundleError, "have 8 bits already; quantise the bundle that it was made of"),
        (path, {}, ConfigError, "not a run, so its validation set is not known; give --src FILE"),
        (path, {"src": ["  "], "ref": ["a"]}, DataError, "no sentences to judge it on"),
    ]
    for bundle, pairs, kind, message in refused:
        with pytest.raises(kind, match=message):
            regard.quantize(bundle, tmp_path / "out", **pairs)
        assert not (tmp_path / "out").exists()
    with pytest.raises(DiskError, match="it is there already"):
        regard.quantize(path, out, **PAIRS)
    with pytest.raises(ConfigError, match="have 8 bits; use int8"):
        regard.load(out, precision="bfloat16")
    answer = CliRunner().invoke(app, ["precision", str(out), "--src", "a", "--ref", "b"])
    assert "measure the bundle that it was made of" in str(answer.exception)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target.embedding.weight.scale": None}, "no tensor 'target.embedding.weight.scale'"),
        ({"target.embedding.weight.scale": np.ones(3, np.float32)}, "is [3] F32"),
        ({"decoder.0.cross.key.weight": np.ones((32, 32), np.float32)}, "asks for [32, 32] of 8-bit integers"),
        ({"other.scale": np.ones(3, np.float32)}, "unknown tensor 'other.scale'"),
        ({"decoder.0.cross.key.weight.scale": np.zeros(32, np.float32)}, "holds what is not a number"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    change: dict[str, Any], message: str, quantised: tuple[Path, Path], tmp_path: Path
) -> None:
    _, out = quantised
    regard.export(out, tmp_path / "bad", to="safetensors")
    weights = {**load_file(tmp_path / "bad" / WEIGHTS), **change}
    save_file({name: array for name, array in weights.items() if array is not None}, tmp_path / "bad" / WEIGHTS)
    (tmp_path / "bad" / "manifest.json").unlink()
    write_manifest(tmp_path / "bad")
    for engine in ("ct2", "torch"):
        with pytest.raises(BundleError) as error:
            regard.load(tmp_path / "bad", engine=engine).translate(["a"])  # type: ignore[arg-type]
        assert message in str(error.value)
