"""Runs in several directions: both are learned, an interrupted one goes on exactly, a part of the directions can be trained further."""

import json
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from regard.errors import ConfigError
from regard.explain.records import Report
from regard.explain.report import page_data
from regard.explain.run_report import write_run_report
from regard.tasks.load import load_translator
from training.runs import assert_same_run, run, small_settings, stop_after

LETTERS = "abcdef"


def lines(count: int, seed: int) -> list[str]:
    random = Random(seed)
    return ["".join(random.choice(LETTERS) for _ in range(random.randint(2, 4))) for _ in range(count)]


def copies_and_reversals(home: Path, count: int = 1500) -> dict[str, Any]:
    """A run that copies under one tag and reverses under the other."""
    rows: dict[str, dict[str, str]] = {"cp": {}, "rv": {}}
    for part, texts in (("", lines(count, 1)), ("valid_", lines(60, 2))):
        for target in rows:
            written = texts if target == "cp" else [text[::-1] for text in texts]
            for key, language, own in (("src", "xx", texts), ("tgt", target, written)):
                path = home / f"{part}{target}.{language}"
                path.write_text("".join(f"{line}\n" for line in own), encoding="utf-8")
                rows[target][f"{part}{key}"] = str(path)
    return {
        "data": {"corpora": list(rows.values())},
        "text": {"kind": "char"},
        "model": {"layers": 1, "width": 48, "heads": 4, "feed_forward": 96, "dropout": 0.0},
        "train": {
            "max_steps": 320,
            "batch_tokens": 700,
            "learning_rate": 1.2e-2,
            "adamw_factor": 2,
            "validate_every": 160,
        },
    }


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("learned")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(home / "cache"))
        run({**copies_and_reversals(home)}, home / "run", save_every=160)
    return home


def test_two_directions_are_learned_in_one_model(learned: Path) -> None:
    metrics = json.loads((learned / "run" / "metrics.json").read_text(encoding="utf-8"))
    each = metrics["directions"]
    assert set(each) == {"xx-cp", "xx-rv"}
    for name in ("bleu", "chrf", "exact_match", "perplexity"):
        assert metrics[name] == pytest.approx((each["xx-cp"][name] + each["xx-rv"][name]) / 2)
    assert min(own["exact_match"] for own in each.values()) >= 0.85
    assert metrics["sentences"] == 120
    model = load_translator(learned / "run", engine="torch")
    assert [one.text for one in model.translate(["abc", "abc", "fed"], to=["cp", "rv", "rv"])] == [
        "abc",
        "cba",
        "def",
    ]
    rows = [json.loads(line) for line in (learned / "run" / "translations.jsonl").read_text("utf-8").splitlines()]
    assert [row["direction"] for row in rows] == ["xx-cp"] * 60 + ["xx-rv"] * 60
    assert not [row for row in rows if ">>" in row["hypothesis"]]


def test_the_log_and_the_bundle_name_the_directions(learned: Path) -> None:
    events = [json.loads(line) for line in (learned / "run" / "log.jsonl").read_text("utf-8").splitlines()]
    last = [event for event in events if event["event"] == "validated"][-1]
    assert last["bleu"] == pytest.approx((last["bleu_xx-cp"] + last["bleu_xx-rv"]) / 2)
    shown = [(sample["source"], sample["reference"]) for sample in last["samples"]]
    expected = [(line, written) for line in lines(60, 2) for written in (line, line[::-1])]
    assert shown == expected[: len(shown)], "both directions in turn"
    assert any(written != source for source, written in shown)
    bundle = load_translator(learned / "run").bundle
    assert bundle is not None
    directions = bundle.config.directions
    assert [(one.source, one.target, one.pairs) for one in directions] == [("xx", "cp", 1500), ("xx", "rv", 1500)]
    config = json.loads((learned / "run" / "config.json").read_text(encoding="utf-8"))
    assert config["text"]["reserved"]["languages"] == ["cp", "rv"]


def test_training_goes_on_in_one_of_the_directions(learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = copies_and_reversals(learned)["data"]["corpora"][1]
    settings = {"data": row, "train": {"start": str(learned / "run")}}
    run(settings, learned / "further", max_steps=4, validate_every=2)
    metrics = json.loads((learned / "further" / "metrics.json").read_text(encoding="utf-8"))
    assert set(metrics["directions"]) == {"xx-rv"}
    assert metrics["exact_match"] >= 0.8
    model = load_translator(learned / "further", engine="torch")
    assert model.directions.pairs == (("xx", "cp"), ("xx", "rv"))
    assert [one.pairs for one in model.directions.seen] == [0, 1500]
    shown: list[Report] = []
    monkeypatch.setattr("regard.explain.report.page_data", lambda report: shown.append(report) or page_data(report))
    write_run_report(learned / "further")
    rows = [json.loads(line) for line in (learned / "further" / "translations.jsonl").read_text("utf-8").splitlines()]
    [report] = shown
    assert report.alignments, "the report is of the direction that was trained, not of the base's first"
    assert {"".join(one.source_words) for one in report.alignments} <= {row["source"] for row in rows}


def test_positions_that_end_before_the_tag_are_refused_before_training(tmp_path: Path) -> None:
    """Of one direction too, if the base has several: its sources get a tag."""
    settings = small_settings(tmp_path)
    short = {**settings["model"], "positions": "learned", "max_positions": 64}
    both = {**settings["data"], "both": True, "max_length": 62}
    run({**settings, "data": both, "model": short, "train": {"max_steps": 1, "batch_tokens": 120}}, tmp_path / "base")
    further = {"train": {"start": str(tmp_path / "base"), "max_steps": 1, "batch_tokens": 120}}
    message = "model.max_positions 64 is shorter than the longest example, data.max_length 63 and a language tag and"
    with pytest.raises(ConfigError, match=message):
        run({"data": {**settings["data"], "max_length": 63}, **further}, tmp_path / "one")
    run({"data": {**settings["data"], "max_length": 62}, **further}, tmp_path / "one")


def test_a_language_that_the_base_does_not_know_is_one_line(learned: Path) -> None:
    row = copies_and_reversals(learned)["data"]["corpora"][1]
    base = {"train": {"start": str(learned / "run")}}
    with pytest.raises(ConfigError, match=r"the base model has no tag for 'zz', only for cp, rv") as caught:
        run({"data": {**row, "tgt_lang": "zz"}, **base}, learned / "other")
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match="whose vocabulary has no piece '>>zz<<'"):
        run({"data": {"corpora": [row, {**row, "tgt_lang": "zz"}]}, **base}, learned / "other")


def mixed(home: Path) -> dict[str, Any]:
    """The small run in both directions, unequally often."""
    settings = small_settings(home)
    return {**settings, "data": {"corpora": [{**settings["data"], "both": True}], "temperature": 3.0}}


@pytest.mark.slow
def test_interrupted_it_resumes_exactly(tmp_path: Path) -> None:
    settings = mixed(tmp_path)
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    run(settings, straight)
    with suppress(KeyboardInterrupt):
        run(settings, stopped, stop_after(7))
    run(settings, stopped)
    assert_same_run(stopped, straight)
