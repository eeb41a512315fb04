"""A translator of several mixers, as a user trains, runs and explains it."""

from pathlib import Path

import pytest

from cli.conftest import SMALL
from regard.settings import read_json

SENTENCE = "le chat dort"


@pytest.fixture(scope="module")
def mixed_run(command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("mixed") / "run"
    mixers = ["--set", 'model.encoder_mixer=["window", "hyena"]', "--set", 'model.decoder_mixer=["delta", "performer"]']
    result = command("train", "--out", out, *SMALL, "--set", "model.layers=2", "--set", "train.max_steps=6", *mixers)
    assert result.code == 0, result.err
    return out


def test_a_hybrid_is_stored_and_translates(command, mixed_run: Path) -> None:
    assert read_json(mixed_run / "config.json")["model"]["encoder_mixer"] == ["window", "hyena"]
    result = command("translate", mixed_run, "--beam", "2", stdin=f"{SENTENCE}\n")
    assert result.code == 0, result.err
    assert result.out.count("\n") == 1
    refused = command("translate", mixed_run, "--engine", "ct2", stdin=f"{SENTENCE}\n")
    assert refused.code == 2
    assert "it has no model.mixer 'window', only attention" in refused.err


def test_layers_without_weights_are_named_in_a_line(command, mixed_run: Path, tmp_path: Path) -> None:
    result = command("explain", mixed_run, SENTENCE, "--target", "the cat", "--out", tmp_path / "page.html")
    assert result.code == 0, result.err
    assert "encoder: layer 2 (hyena) has no attention weights, so none are shown from there on\n" in result.err
    assert "decoder: layer 1 (delta) has no attention weights, so none are shown from there on\n" in result.err
    assert (tmp_path / "page.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["model.mixer=window", "model.window=4"], "model.window 4 is even"),
        (['model.mixer=["hyena", "delta"]'], "model.mixer lists 2 mixers, but the encoder has 1 layers"),
        (["model.mixer=linformer"], "model.mixer 'linformer' mixes all positions into each of its keys"),
        (["model.mixer=hyena", "model.max_positions=8"], "model.max_positions 8 is shorter than the longest example"),
    ],
)
def test_mistakes_are_told_in_a_line(command, tmp_path: Path, settings: list[str], words: str) -> None:
    flags = [part for setting in settings for part in ("--set", setting)]
    result = command("train", "--out", tmp_path / "run", *SMALL, *flags)
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1
    assert not (tmp_path / "run").exists()
