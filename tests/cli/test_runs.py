"""`regard resume`, `regard ls` and `regard info` of runs: finished, interrupted, damaged, nested, and of extensions."""

import fcntl
import json
import shutil
from pathlib import Path

import pytest

import regard
from cli.conftest import SMALL
from explain.made import finished_classifier, finished_writer
from regard.bundle.locate import LOCK
from regard.errors import TrainError
from regard.explain.explain import model_facts
from regard.tasks.runs import refuse_holder_of_runs, run_state, runs_below, runs_in, write_order


@pytest.fixture(scope="module")
def whole_run(command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run with two checkpoints."""
    home = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(home / "cache"))
        more = ["train.save_every=6", "text.vocabulary=5"]
        result = command("train", "--out", home / "run", *SMALL, *(f"--set={assignment}" for assignment in more))
    assert result.code == 0, result.err
    assert "note: text.vocabulary = 5: bpe needs at least 300 pieces, so it has 300\n" in result.err
    return home / "run"


@pytest.fixture
def unfinished(whole_run: Path, tmp_path: Path) -> Path:
    """The run as it was after its first checkpoint."""
    run = tmp_path / "runs/cut"
    shutil.copytree(whole_run, run)
    for name in ("metrics.json", "translations.jsonl", "report.html"):
        (run / name).unlink()
    checkpoints = sorted((run / "checkpoints").iterdir())
    assert [path.name for path in checkpoints] == ["step-00000006", "step-00000012"]
    shutil.rmtree(checkpoints[1])
    for pointer in ("latest", "best"):
        (run / pointer).write_text("checkpoints/step-00000006\n", encoding="utf-8")
    lines = (run / "log.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["step"] <= 8 and json.loads(line)["event"] != "stopped"]
    (run / "log.jsonl").write_text("".join(kept) + '{"event": "step", "step": 9, "sec', encoding="utf-8")
    return run


def test_resuming_ends_as_the_whole_run_did(command, whole_run: Path, unfinished: Path) -> None:
    state = run_state(unfinished)
    assert (state.state, state.step, state.saved_step) == ("unfinished", 8, 6)
    result = command("resume", unfinished)
    assert result.code == 0, result.err
    assert "resumed after step 6" in result.err
    whole, resumed = (json.loads((run / "metrics.json").read_text(encoding="utf-8")) for run in (whole_run, unfinished))
    assert (resumed["bleu"], resumed["perplexity"]) == (whole["bleu"], whole["perplexity"])
    again = command("resume", unfinished)
    assert (again.code, len(again.err.splitlines())) == (0, 1)
    assert "this run is finished (BLEU " in again.err
    longer = command("train", "--out", unfinished, *SMALL, "--set=train.max_steps=99")
    assert longer.code == 2
    assert f"to train it further: --start {unfinished} --out OTHER" in longer.err
    assert "this run is finished" in longer.err


def test_what_cannot_be_resumed_is_said_in_one_line(command, whole_run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    (tmp_path / "needy").mkdir()
    config = json.loads((whole_run / "config.json").read_text(encoding="utf-8"))
    used = {"name": "toys.py", "sha256": "00", "adds": ["mixer toy"]}
    config |= {"extensions": [used], "model": {"kind": "transformer", "mixer": "toy"}}
    (tmp_path / "needy/config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "sweep").mkdir()
    write_order(tmp_path / "sweep", [])
    for name, complaint in (
        ("none", "no such directory; give the directory of a run"),
        ("file", "a file, not a directory"),
        ("empty", "not a run, it has no config.json"),
        ("needy", "needs the extension toys.py (mixer toy); give --extension toys.py"),
        ("sweep", "a sweep; run the same `regard sweep` command again"),
        (".", "not a run, but it holds some; give one of them, such as"),
        (whole_run / "checkpoints/step-00000012", "a bundle, not a run"),
    ):
        told = command("resume", tmp_path / name)
        assert (told.code, len(told.err.splitlines())) == (2, 1), told.err
        assert complaint in told.err


def test_the_table_of_runs(command, whole_run: Path, unfinished: Path) -> None:
    runs = unfinished.parent
    shutil.copytree(whole_run, runs / "sweep/a=2")
    shutil.copytree(whole_run, runs / "sweep/a=10")
    write_order(runs / "sweep", [runs / "sweep/a=2", runs / "sweep/a=10"])
    (runs / "broken").mkdir()
    (runs / "broken/config.json").write_text("{", encoding="utf-8")
    listed = command("ls", runs)
    assert listed.code == 0, listed.err
    rows = [line.split() for line in listed.out.splitlines() if "translate" in line]
    assert [row[0] for row in rows] == ["cut", "sweep/a=2", "sweep/a=10"]
    assert listed.out.count("finished") == 3
    assert "unfinished, step 8" in listed.out
    assert listed.err.splitlines() == [
        f"regard: warning: {runs}/broken/config.json: not valid JSON: {_json_error('{')}"
    ]
    objects = json.loads(command("ls", runs, "--json").out)
    metrics = json.loads((whole_run / "metrics.json").read_text(encoding="utf-8"))
    cut, first, _, broken = objects
    assert first["score"] == {"name": "bleu", "value": metrics["bleu"]}
    assert (first["state"], first["step"], first["go_on"]) == ("finished", 12, None)
    assert first["parameters"] == cut["parameters"] == metrics["parameters"]
    assert cut["go_on"] == f"regard resume {unfinished}"
    assert broken["directory"] == str(runs / "broken")
    assert command("ls", runs / "broken").err.count("\n") == 1


def _json_error(text: str) -> str:
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    raise AssertionError


def test_places_without_runs(command, tmp_path: Path) -> None:
    assert "no runs here" in command("ls", tmp_path).err
    assert json.loads(command("ls", tmp_path, "--json").out) == []
    assert command("ls", tmp_path / "none").code == 2


def test_values_of_a_damaged_run_are_left_out(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text('{"task": "to sing", "model": 3, "extensions": [7]}', encoding="utf-8")
    (run / "metrics.json").write_text('{"seconds": "many", "steps": [], "bleu": null}', encoding="utf-8")
    (run / "log.jsonl").write_bytes(b'\xff\n[]\n{"event": "validated", "best": true, "step": "x"}\n')
    state = run_state(run)
    assert (state.task, state.kind, state.step, state.minutes, state.score) == ("to sing", None, None, None, None)
    assert state.to_json()["state"] == "finished"


def test_the_score_is_shown_with_its_name(tmp_path: Path) -> None:
    writer = run_state(finished_writer(tmp_path / "writer"))
    assert writer.score_text == "perplexity per word 90.00"
    assert run_state(finished_classifier(tmp_path / "classifier", wrong=[1])).score_text == "accuracy 95.0 %"


def test_a_run_that_is_being_trained(unfinished: Path) -> None:
    with (unfinished / LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run_state(unfinished).state == "training"
        assert run_state(unfinished).go_on is None
    assert run_state(unfinished).state == "unfinished"


def test_a_loaded_model_has_the_name_that_was_given(unfinished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = regard.load(unfinished)
    assert model_facts(model, None).name == "cut"
    assert regard.load(unfinished / "checkpoints/step-00000006").bundle.name == "step-00000006"
    monkeypatch.chdir(unfinished)
    assert regard.load(".").bundle.name == "cut"


def test_info_of_a_run_has_its_state_before_its_bundle(command, unfinished: Path) -> None:
    shown = json.loads(command("info", unfinished, "--json").out)
    assert shown["run"]["state"] == "unfinished"
    assert shown["run"]["go_on"] == f"regard resume {unfinished}"
    assert shown["run"]["score"].startswith("BLEU ")
    bundle = json.loads(command("info", unfinished / "checkpoints/step-00000006", "--json").out)
    assert {key: value for key, value in shown.items() if key != "run"} == bundle
    shutil.rmtree(unfinished / "checkpoints")
    for pointer in ("latest", "best"):
        (unfinished / pointer).unlink()
    begun = command("info", unfinished)
    assert begun.code == 0, begun.err
    assert f"go_on: regard resume {unfinished}" in begun.out
    assert "unfinished, nothing saved yet" in command("ls", unfinished.parent).out
    again = command("resume", unfinished)
    assert again.code == 0, again.err
    assert f"{unfinished}: nothing was saved yet; the run begins again at step 0" in again.err
    assert "resumed after" not in again.err


def test_training_beside_other_runs_needs_a_directory_of_its_own(command, unfinished: Path) -> None:
    runs = unfinished.parent
    refused = command("train", "--out", runs, *SMALL)
    assert refused.code == 2
    assert f"--out {runs}: it holds other runs (cut); give this run a directory of its own" in refused.err
    assert [path.name for path in runs.iterdir()] == ["cut"]
    refuse_holder_of_runs(unfinished)
    refuse_holder_of_runs(runs / "new")
    shutil.copy(unfinished / "config.json", runs / "config.json")  # a run that has begun here goes on
    refuse_holder_of_runs(runs)
    (runs / "config.json").unlink()
    shutil.copytree(unfinished, runs / "other")
    with pytest.raises(TrainError, match=r"it holds other runs \(cut and 1 more\)"):
        refuse_holder_of_runs(runs)


def test_the_order_of_runs(tmp_path: Path) -> None:
    for name in ("c", "b", "a", "deep/er"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "a bundle").mkdir()
    for name in ("config.json", "manifest.json"):
        (tmp_path / "a bundle" / name).write_text("{}", encoding="utf-8")
    assert [run.name for run in runs_in(tmp_path)] == ["a", "b", "c"]
    write_order(tmp_path, [tmp_path / "b"])
    write_order(tmp_path, [tmp_path / "c", tmp_path / "gone"])
    assert [run.name for run in runs_in(tmp_path)] == ["c", "b", "a"]
    assert [str(run.relative_to(tmp_path)) for run in runs_below(tmp_path)] == ["c", "b", "a", "deep/er"]
    assert list(runs_below(tmp_path / "c")) == [tmp_path / "c"]
