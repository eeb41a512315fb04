"""`regard compare` as a user runs it, on made-up runs."""

import json
from pathlib import Path

import pytest

from explain.made import PAIRS, finished_classifier, finished_run, finished_writer
from regard.settings import merged


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two settings with two seeds each, and one run under way."""
    home = tmp_path / "runs"
    for seed in (1, 2):
        seeded = {"train": {"seed": seed}}
        finished_run(home / f"pre-{seed}", seeded, wrong=[seed])
        finished_run(home / f"post-{seed}", merged(seeded, {"model": {"norm": "post"}}), wrong=range(seed, 12))
    finished_run(home / "young", {"model": {"layers": 1}})
    (home / "young/metrics.json").unlink()
    return home


def complaint(result) -> str:
    assert result.code == 2, (result.code, result.out, result.err)
    assert result.out == ""
    assert "Traceback" not in result.err
    return result.err.splitlines()[-1]


def test_a_directory_of_runs(command, runs: Path) -> None:
    result = command("compare", runs, "--resamples", "50", "--by-length")
    assert result.code == 0, result.err
    assert result.err == f"regard: warning: {runs / 'young'}: not a finished run; left out\n"
    rows = [line.split() for line in result.out.splitlines() if line.startswith("  norm=")]
    assert [row[:2] for row in rows[:2]] == [["norm=post", "2"], ["norm=pre", "2"]]
    assert rows[0][-2:] == ["baseline", "-"]
    assert "BLEU by source words" in result.out
    assert "against norm=post, paired bootstrap, 50 resamples of the sentences and of the runs" in result.out


def test_the_baseline_is_the_row_of_the_run_that_is_named(command, runs: Path) -> None:
    given = [runs / "post-1", runs / "post-2", runs / "pre-1", "--resamples", "50", "--format", "json"]
    values = json.loads(command("compare", *given, "--baseline", runs / "pre-1", "--metric", "exact_match").out)
    assert (values["baseline"], values["metric"]) == ("norm=pre", "exact_match")
    assert [row["name"] for row in values["rows"]] == ["norm=post", "norm=pre"]
    assert values["rows"][0]["against_baseline"]["difference"] < 0
    added = json.loads(command("compare", *given, "--baseline", runs / "pre-2").out)  # not among the directories
    assert added["rows"][1]["runs"] == [str(runs / "pre-1"), str(runs / "pre-2")]


def test_a_run_counts_once(command, runs: Path, tmp_path: Path) -> None:
    again = finished_run(tmp_path / "again", {"train": {"seed": 1}})
    result = command("compare", runs / "pre-1", runs / "../runs/pre-1", again, "--format", "json")
    assert len(json.loads(result.out)["rows"][0]["runs"]) == 1
    assert result.err == f"regard: warning: {again}: the same settings and seed as {runs / 'pre-1'}; left out\n"


def test_defaults_that_an_older_run_did_not_know(command, runs: Path) -> None:
    config = runs / "pre-2/config.json"
    older = json.loads(config.read_text(encoding="utf-8"))
    del older["train"]["consistency"]
    config.write_text(json.dumps(older), encoding="utf-8")
    values = json.loads(command("compare", runs / "pre-1", runs / "pre-2", "--format", "json").out)
    assert len(values["rows"]) == 1


def test_bleu_of_text_that_is_split_already(command, runs: Path) -> None:
    result = command("compare", runs / "pre-1", "--tokenize", "none", "--format", "markdown")
    assert "tok:none" in result.out
    assert result.out.startswith("|  | runs | BLEU |")


def test_the_figure(command, runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result = command("compare", runs, "--figure", tmp_path / "figure.svg", "--resamples", "5", "--format", "latex")
    assert result.code == 0, result.err
    assert r"\toprule" in result.out
    assert "norm=post" in (tmp_path / "figure.svg").read_text(encoding="utf-8")
    line = complaint(command("compare", runs, "--figure", tmp_path / "figure.jpg", "--resamples", "5"))
    assert "figure.jpg: a figure is written as .svg, .png, .pdf" in line


def test_what_cannot_be_compared(command, runs: Path, tmp_path: Path) -> None:
    other = finished_run(tmp_path / "other", pairs=PAIRS[:9])
    line = complaint(command("compare", runs / "pre-1", other))
    assert str(runs / "pre-1") in line
    assert f"{other}: judged by another test set" in line
    assert "no such directory" in complaint(command("compare", runs / "nowhere"))
    assert "there is no finished run to compare" in complaint(command("compare", runs / "young"))
    (runs / "empty").mkdir()
    assert "neither a run nor a directory of runs" in complaint(command("compare", runs / "pre-1", runs / "empty"))
    (runs / "empty").rmdir()
    line = complaint(command("compare", runs / "pre-1", "--baseline", runs / "young"))
    assert f"--baseline {runs / 'young'}: not the directory of a finished run" in line
    for option, value in (("--format", "html"), ("--metric", "comet"), ("--tokenize", "moses")):
        assert f"{option} {value}: not one of" in complaint(command("compare", runs, option, value))


def test_runs_of_other_tasks(command, runs: Path, tmp_path: Path) -> None:
    labels, texts = finished_classifier(tmp_path / "labels", wrong=[1]), finished_writer(tmp_path / "texts")
    result = command("compare", labels, "--format", "markdown")
    assert (result.code, result.err) == (0, "")
    assert "| labels | 1 | 95.0 | 0.500 |" in result.out
    result = command("compare", texts, "--format", "json")
    assert json.loads(result.out)["rows"][0]["scores"]["perplexity_word"]["mean"] == 90.0
    line = complaint(command("compare", runs / "pre-1", labels))
    assert f"{labels}: its task is to classify, but that of {runs / 'pre-1'} is to translate" in line
