"""Forgetting: an old test set is scored before and after fine-tuning, as `regard evaluate` scores it, and replay helps."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.errors import ConfigError, DataError
from regard.explain.report import highlights
from regard.settings import merged
from regard.tasks.forgetting import BEFORE_FILE, FLAGS, forgetting_line
from regard.tasks.load import load_served
from regard.tasks.table import TASKS
from training.runs import logged, run, small_settings, started, steps, stop_after

TRAIN = {"max_steps": 6, "batch_tokens": 128, "validate_every": 3, "save_every": 3, "warmup": 2, "samples": 1}


def cases(home: Path) -> dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Task -> the data of the base, the new data, the old text for replay, and the flags of the old test set."""
    words = [f"{'fine' if n % 2 else 'dull'} {'film' * (n % 3 + 1)} {n}" for n in range(60)]
    for name in ("old", "new"):
        lines = words if name == "old" else [word.replace("film", "play") for word in words]
        texts = {
            "txt": lines,
            "tsv": [f"{line}\t{'ab'[n % 2]}" for n, line in enumerate(lines)],
            "xx": lines,
            "yy": [line.upper() for line in lines],
        }
        for suffix, rows in texts.items():
            (home / f"{name}.{suffix}").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    old = {suffix: str(home / f"old.{suffix}") for suffix in ("txt", "tsv", "xx", "yy")}
    new = {suffix: str(home / f"new.{suffix}") for suffix in ("txt", "tsv", "xx", "yy")}
    sides = {"src": old["xx"], "tgt": old["yy"]}
    return {
        "translate": (
            sides,
            {"src": new["xx"], "tgt": new["yy"]},
            {**sides, "test_src": old["xx"], "test_tgt": old["yy"]},
            {"src": old["xx"], "ref": old["yy"], "refs": [old["yy"]]},
        ),
        "generate": (
            {"text": old["txt"]},
            {"text": new["txt"]},
            {"text": old["txt"], "test_text": old["txt"]},
            {"text": old["txt"]},
        ),
        "pretrain": (
            {"text": old["txt"]},
            {"text": new["txt"]},
            {"text": old["txt"], "test_text": old["txt"]},
            {"text": old["txt"]},
        ),
        "classify": (
            {"labelled": old["tsv"]},
            {"labelled": new["tsv"]},
            {"labelled": old["tsv"], "test_labelled": old["tsv"]},
            {"data": old["tsv"]},
        ),
    }


@pytest.mark.parametrize("task", ["translate", "generate", "pretrain", "classify"])
def test_it_is_measured_as_evaluate_measures_it(task: str, tmp_path: Path) -> None:
    old, new, replay, flags = cases(tmp_path)[task]
    model = {"width": 16, "heads": 2, "feed_forward": 32, "layers": 1}
    run({"task": task, "data": old, "text": {"kind": "char"}, "model": model, "train": TRAIN}, tmp_path / "base")
    further = {"task": task, "data": {**new, "replay": {**replay, "share": 0.3}}, "train": TRAIN}
    result, _ = run(further, tmp_path / "run", start=str(tmp_path / "base"))
    assert result.metrics is not None
    record = result.metrics["forgetting"]
    for name, directory in (("before", "base"), ("after", "run")):
        served = load_served(tmp_path / directory)
        scores = TASKS[task].evaluate(served, TASKS[task].test_set(served, {**FLAGS, **flags})).metrics
        assert record[name]
        for score, value in record[name].items():
            assert value == pytest.approx(scores[score], rel=1e-6), (name, score)
    shares = {
        tuple(note.split()[:1]) for note in started(further, tmp_path / "other", start=str(tmp_path / "base")).notes
    }
    assert ("replay:",) in shares
    [highlight] = [line for line in highlights(result.metrics) if line.startswith("Forgetting: old test set ")]
    assert " before, " in highlight


def test_the_line_has_both_scores_and_the_difference() -> None:
    record = {
        "set": "old.en",
        "before": {"bleu": 34.1, "exact_match": 0.5},
        "after": {"bleu": 30.2, "exact_match": 0.25},
    }
    assert forgetting_line(record) == (
        "forgetting: old test set old.en: BLEU 34.10 before, 30.20 after (-3.90); "
        "exact match 50.0 % before, 25.0 % after (-25.0)"
    )


def test_a_resumed_run_scores_the_base_once_and_goes_on_exactly(tmp_path: Path) -> None:
    settings = small_settings(tmp_path)
    data = settings["data"]
    run(settings, tmp_path / "base")
    replay = {**data, "share": 0.4, "test_src": data["src"], "test_tgt": data["tgt"]}
    train = merged(settings["train"], {"start": str(tmp_path / "base")})
    further = {"data": {**data, "replay": replay}, "train": train}
    run(further, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(further, tmp_path / "cut", stop_after(8))
    before = json.loads((tmp_path / "cut" / BEFORE_FILE).read_text(encoding="utf-8"))
    marked = {**before, "scores": {**before["scores"], "bleu": 77.0}}
    (tmp_path / "cut" / BEFORE_FILE).write_text(json.dumps(marked), encoding="utf-8")
    result, _ = run(further, tmp_path / "cut")
    assert steps(tmp_path / "cut") == steps(tmp_path / "whole")
    assert result.metrics is not None
    assert result.metrics["forgetting"]["before"]["bleu"] == 77.0


def test_wrong_old_tests_are_told_before_training(tmp_path: Path) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base")
    train = merged(settings["train"], {"start": str(tmp_path / "base")})

    def tuned(**replay: Any) -> None:
        run({"data": {**settings["data"], "replay": replay}, "train": train}, tmp_path / "run")

    with pytest.raises(DataError, match=r"gone\.xx: no such file"):
        tuned(test_src=str(tmp_path / "gone.xx"), test_tgt=settings["data"]["tgt"])
    with pytest.raises(DataError, match=r"gone\.tsv: no such file"):
        tuned(pairs=str(tmp_path / "gone.tsv"))
    assert not (tmp_path / "run" / "checkpoints").exists()
    with pytest.raises(ConfigError, match=r"data\.replay needs train\.start"):
        run({**settings, "data": {**settings["data"], "replay": {"pairs": "old.tsv"}}}, tmp_path / "run")


@pytest.mark.slow
def test_replay_forgets_less(tmp_path: Path) -> None:
    settings = small_settings(tmp_path)
    data = settings["data"]
    run(settings, tmp_path / "base", max_steps=300, validate_every=300, learning_rate=0.01)
    lines = Path(data["src"]).read_text(encoding="utf-8").splitlines()
    (tmp_path / "new.xx").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "new.yy").write_text("".join(f"{line[::-1]}\n" for line in lines), encoding="utf-8")
    new = {"src": str(tmp_path / "new.xx"), "tgt": str(tmp_path / "new.yy")}
    test = {"test_src": data["src"], "test_tgt": data["tgt"]}
    after = {}
    for name, replay in (("without", test), ("with", {**data, **test, "share": 0.5})):
        result, _ = run(
            {"data": {**new, "replay": replay}, "train": settings["train"]},
            tmp_path / name,
            start=str(tmp_path / "base"),
            max_steps=100,
            validate_every=100,
        )
        assert result.metrics is not None
        assert logged(tmp_path / name, "validated")[-1]["step"] == 100
        after[name] = result.metrics["forgetting"]["after"]["perplexity"]
    assert after["with"] < after["without"]
