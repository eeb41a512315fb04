"""`regard shortlist` and `regard precision` write into the bundle; `regard translate` uses what they wrote."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import regard
from regard.bundle.locate import find_bundle
from regard.bundle.precision import measured_precisions
from regard.bundle.shortlist import read_shortlist
from regard.tasks.bundles import open_bundle

pytest.importorskip("ctranslate2")

SOURCES = ["je suis étudiant", "le chat dort", "je dors", "il dort"]
TARGETS = ["I am a student", "the cat sleeps", "I sleep", "he sleeps"]


@pytest.fixture
def run(small_run: Path, tmp_path: Path) -> Path:
    shutil.copytree(small_run, tmp_path / "run")
    (tmp_path / "a.fr").write_text("".join(f"{line}\n" for line in SOURCES), encoding="utf-8")
    (tmp_path / "a.en").write_text("".join(f"{line}\n" for line in TARGETS), encoding="utf-8")
    return tmp_path / "run"


def test_a_shortlist_is_made_and_used(command, run: Path) -> None:
    text = "".join(f"{line}\n" for line in SOURCES)
    refused = command("translate", run, "--shortlist", stdin=text)
    assert refused.code == 2
    assert "has none; make it with `regard shortlist DIR --src F --tgt F`" in refused.err
    files = ["--src", run.parent / "a.fr", "--tgt", run.parent / "a.en"]
    made = command("shortlist", run, *files, "--candidates", "3", "--frequent", "5")
    assert made.code == 0, made.err
    assert "candidates of" in made.err
    shortlist = read_shortlist(open_bundle(find_bundle(run)))
    assert max(map(len, shortlist.pieces)) == 3
    found = command("translate", run, "--shortlist", stdin=text)
    assert found.code == 0, found.err
    expected = regard.load(run).translate(SOURCES, shortlist=True)
    assert found.out == "".join(f"{one.text}\n" for one in expected)
    assert command("translate", run, stdin=text).code == 0
    assert command("info", run).code == 0


@pytest.mark.filterwarnings("default")
def test_precisions_are_measured_and_chosen(command, run: Path) -> None:
    text = "je dors\n"
    unmeasured = command("translate", run, "--precision", "auto", stdin=text)
    assert unmeasured.code == 0
    assert "measure it with `regard precision DIR --src F --ref F`" in unmeasured.err
    made = command("precision", run, "--src", run.parent / "a.fr", "--ref", run.parent / "a.en")
    assert made.code == 0, made.err
    measured = measured_precisions(open_bundle(find_bundle(run)).files)
    assert measured is not None
    assert measured.sentences == len(SOURCES)
    assert [line.split()[0] for line in made.out.splitlines()] == list(measured.bleu)
    automatic = command("translate", run, "--precision", "auto", stdin=text)
    chosen = made.err.split("auto uses ")[1].split()[0]
    assert automatic.out == command("translate", run, "--precision", chosen, stdin=text).out
    assert "measure it" not in automatic.err


@pytest.mark.filterwarnings("default")
def test_a_perfect_translator_has_100_bleu(command, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """sacrebleu's sum of logarithms may exceed it by rounding, which the record of the bundle does not allow."""
    perfect = SimpleNamespace(value=100.00000000000004)
    monkeypatch.setattr("regard.metrics.translation.bleu", lambda *_, **__: perfect)
    made = command("precision", run, "--src", run.parent / "a.fr", "--ref", run.parent / "a.en")
    assert made.code == 0, made.err
    assert "BLEU 100.00  +0.00" in made.out
