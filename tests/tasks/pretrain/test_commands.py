"""Pretrained models on the command line: `fill` and its refusals, and what every other verb makes of such a run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import _command as command
from regard.tasks.pretrain.filler import Filler
from tasks.pretrain.conftest import SENTENCES

Learned = Callable[[str], tuple[Any, Filler]]
GAP = "my <mask> bakes bread daily."
WHOLE = "my sister bakes bread daily."


@pytest.fixture
def runs(learned: Learned) -> Callable[[str], Path]:
    return lambda objective: learned(objective)[0].directory


@pytest.mark.parametrize("objective", ["mask", "denoise", "span"])
def test_gaps_are_filled(objective: str, runs: Callable[[str], Path]) -> None:
    run = runs(objective)
    result = command("fill", run, GAP)
    assert (result.code, result.out) == (0, f"{WHOLE}\n")
    result = command("fill", run, "-i", "-", stdin=f"{GAP}\n\nmy\x01 <mask> bakes bread\tdaily.\n")
    assert (result.code, result.out) == (0, f"{WHOLE}\n\n{WHOLE}\n"), result.err
    lines = command("fill", run, GAP, "--nbest", "3").out.splitlines()
    assert lines[0] == WHOLE
    assert all(line.startswith("  ") for line in lines[1:])
    assert len(lines) == (2 if objective == "mask" else 3)
    first, second = map(json.loads, command("fill", run, GAP, "", "--json", "--nbest", "2").out.splitlines())
    assert (first["text"], first["filled"], first["truncated"]) == (GAP, WHOLE, False)
    assert (len(first["gaps"]), len(first["alternatives"])) == ((1, 0) if objective == "mask" else (0, 2))
    assert second["text"] == ""


def test_a_gap_in_the_middle_and_several(runs: Callable[[str], Path]) -> None:
    lines = command("fill", runs("mask"), "his green <mask> repeats <mask> jokes!", "--nbest", "2").out.splitlines()
    assert lines[0] == "his green parrot repeats rude jokes!"
    assert [line.split(" ", 4)[2:4] for line in lines[1:]] == [["1:", "parrot"], ["2:", "rude"]]
    result = command("fill", runs("span"), "his green <extra_id_1> repeats <extra_id_0> jokes!")
    assert result.code == 0


def test_a_text_without_a_gap_is_noted(runs: Callable[[str], Path]) -> None:
    for given in ({"texts": ["nobody ever visits"]}, {"stdin": "nobody ever visits\n"}):
        result = command("fill", runs("mask"), *given.get("texts", []), stdin=given.get("stdin", ""))  # type: ignore[arg-type]
        assert (result.code, result.out) == (0, "nobody ever visits\n")
        assert "note: there is no <mask> in the text" in result.err
    assert "note" not in command("fill", runs("denoise"), "nobody ever visits").err
    assert "note" not in command("fill", runs("prefix"), "four").err
    assert command("fill", runs("mask"), stdin="").err == ""


def test_too_long_a_text_is_cut_with_a_warning(runs: Callable[[str], Path]) -> None:
    text = "word " * 3000 + "<mask>"
    for result in (
        command("fill", runs("mask"), "a <mask>", text),
        command("fill", runs("mask"), stdin=f"a <mask>\n{text}"),
    ):
        assert result.code == 0
        assert "regard: warning: line 2 is longer than" in result.err
        assert "line 1" not in result.err


def test_it_goes_on_with_its_output(runs: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "in").write_text(f"{GAP}\n" * 3, encoding="utf-8")
    for _ in range(2):
        result = command("fill", runs("mask"), "-i", tmp_path / "in", "-o", tmp_path / "out")
        assert result.code == 0, result.err
        assert (tmp_path / "out").read_text(encoding="utf-8") == f"{WHOLE}\n" * 3


def test_what_fill_refuses(runs: Callable[[str], Path], tmp_path: Path, small_run: Path) -> None:
    (tmp_path / "in").write_text("fine <mask>\nthe <extra_id_2> sat\n", encoding="utf-8")
    mask = runs("mask")
    for arguments, message in (
        ((mask, "-i", tmp_path / "in"), "in:2: a model of objective 'mask' has no gap <extra_id_2>; write <mask>"),
        ((mask, "a <mask>", "b <extra_id_0>"), "text 2: a model of objective 'mask' has no gap <extra_id_0>"),
        ((mask, "-i", tmp_path / "none"), "no such file"),
        ((mask, "a", "-i", tmp_path / "in"), "there are texts on the command line too"),
        ((mask, "a", "--nbest", "0"), "--nbest = 0: must be a whole number of at least 1"),
        ((mask, "a", "--beam", "-2"), "--beam = -2: must be"),
        ((runs("prefix"), "the <mask>"), "goes on with a text and has no gap <mask>"),
        ((runs("span"), "<mask> " * 40), "has no sentinel left"),
        ((tmp_path / "nowhere", "a"), "no such directory"),
        ((small_run, "a <mask>"), "its task is to translate, not to pretrain"),
    ):
        result = command("fill", *arguments)
        assert result.code == 2, arguments
        assert message in result.err, result.err
        assert len(result.err.strip().splitlines()) == 1


def test_what_other_verbs_say_of_a_pretrained_model(runs: Callable[[str], Path], tmp_path: Path) -> None:
    mask, held_out = runs("mask"), tmp_path / "text"
    held_out.write_text("".join(f"{sentence}\n" for sentence in SENTENCES), encoding="utf-8")
    first, again = (command("evaluate", mask, "--text", held_out, "--json").out for _ in range(2))
    assert first == again
    assert json.loads(first)["accuracy"] > 0.9
    assert "perplexity" in command("evaluate", mask, "--text", held_out).out
    info = command("info", mask).out
    for line in ("task: pretrain", "kind: mask", "reserved: ('<mask>',)"):
        assert line in info
    assert "pretrain" in command("ls", mask.parent).out
    report = command("report", mask)
    assert report.code == 0, report.err
    page = (mask / "report.html").read_text(encoding="utf-8")
    assert "sailor" in page, "samples"
    for arguments, message in (
        (("explain", mask, GAP), "cannot be explained yet"),
        (("generate", mask, "my"), "use `regard fill`"),
        (("translate", mask), "use `regard fill`"),
        (("export", mask, tmp_path / "hf", "--to", "hf"), "its task is to pretrain"),
        (("export", mask, tmp_path / "ct2", "--to", "ct2"), "its task is to pretrain"),
        (("evaluate", mask), "--text F for a pretrained model"),
    ):
        result = command(*arguments)
        assert result.code == 2, (arguments, result)
        assert message in result.err, result.err
    assert command("export", mask, tmp_path / "bundle.zip", "--to", "zip").code == 0


def test_runs_are_compared(runs: Callable[[str], Path]) -> None:
    result = command("compare", runs("mask"), runs("denoise"))
    assert result.code == 0, result.err
    assert "perplexity" in result.out
    assert "accuracy" in result.out


def test_a_sweep_and_a_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("".join(f"{sentence}\n" for sentence in SENTENCES * 4), encoding="utf-8")
    small = ("layers=1", "width=16", "heads=2", "feed_forward=16")
    sets = [word for setting in small for word in ("--set", f"model.{setting}")]
    sets += ["--set", "train.max_steps=2", "--set", "train.batch_tokens=99", "--set", "text.kind=word"]
    common = ("--task", "pretrain", "--text", "text", "--valid-text", "text")
    result = command("sweep", *common, "--out", "cells", "--set", "objective.rate=0.1,0.4", *sets)
    assert result.code == 0, result.err
    assert "rate=0.4" in result.out
    written = command("init", "--task", "pretrain", "--kind", "prefix")
    assert written.code == 0, written.err
    Path("run.toml").write_text(written.out, encoding="utf-8")
    result = command("train", "run.toml", "--text", "text", "--valid-text", "text", "--out", "run", *sets)
    assert result.code == 0, result.err
    assert json.loads(Path("run/config.json").read_text(encoding="utf-8"))["objective"]["kind"] == "prefix"
