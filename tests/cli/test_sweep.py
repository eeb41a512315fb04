"""`regard sweep` as a user runs it. Most cells are trained by a stand-in that leaves a finished run at once, or fails, or waits."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from regard.cli import sweep

TESTS = Path(__file__).parent.parent
STAND_IN = f"""
import os, signal, sys, time
from pathlib import Path
sys.path.insert(0, {str(TESTS)!r})
from explain.made import finished_run
from regard.cli.train_flags import merge_settings

verb, config, *options = sys.argv[1:]
given = list(zip(options, options[1:]))
out = Path(dict(given)["--out"])
home = out.parent.parent
with (home / "trained").open("a") as file:
    file.write(f"{{out.name}}\\n")
if (home / "failing").exists() and (home / "failing").read_text() in out.name:
    print("regard: the stand-in fails", file=sys.stderr)
    sys.exit(2)
if (home / "waiting").exists():
    signals = []
    signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
    (home / "ready").write_text("")
    while not signals:
        time.sleep(0.05)
    time.sleep(0.5)
    (home / "signals").write_text(f"{{signals}} {{os.getpgrp() == os.getpid()}}")
    sys.exit(130)
settings = merge_settings(Path(config), None, {{}}, [value for name, value in given if name == "--set"])
finished_run(out, settings, wrong=range(settings["train"]["seed"]))
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "stand_in.py").write_text(STAND_IN, encoding="utf-8")
    (tmp_path / "run.toml").write_text("[train]\nmax_steps = 3\n", encoding="utf-8")
    monkeypatch.setattr(sweep, "REGARD", [sys.executable, str(tmp_path / "stand_in.py")])
    return tmp_path


def arguments(home: Path, *more: str) -> list[str]:
    return ["sweep", str(home / "run.toml"), "--set", "model.norm=pre,post", "--out", str(home / "grid"), *more]


def trained(home: Path) -> list[str]:
    return (home / "trained").read_text(encoding="utf-8").splitlines() if (home / "trained").exists() else []


def test_the_grid_is_trained_once_and_compared(command, home: Path) -> None:
    first = command(*arguments(home))
    assert first.code == 0, first.err
    assert trained(home) == ["norm=pre,seed=1", "norm=post,seed=1"]
    rows = [line.split() for line in first.out.splitlines() if line.startswith("  norm=")]
    assert [row[:2] for row in rows[:2]] == [["norm=pre", "1"], ["norm=post", "1"]]
    more = command(*arguments(home, "--seeds", "2"))  # the grid grows, and what is there is not repeated
    assert more.code == 0, more.err
    assert trained(home) == ["norm=pre,seed=1", "norm=post,seed=1", "norm=pre,seed=2", "norm=post,seed=2"]
    assert more.err.count("finished before") == 2
    config = json.loads((home / "grid/norm=post,seed=2/config.json").read_text(encoding="utf-8"))
    assert (config["model"]["norm"], config["train"]["seed"], config["train"]["max_steps"]) == ("post", 2, 3)


def test_a_failed_cell_is_recorded_and_tried_again(command, home: Path) -> None:
    (home / "failing").write_text("norm=pre", encoding="utf-8")
    result = command(*arguments(home))
    assert result.code == 1
    assert trained(home) == ["norm=pre,seed=1", "norm=post,seed=1"]
    assert "regard: 1 of 2 cells failed: norm=pre,seed=1; " in result.err.splitlines()[-1]
    record = home / "grid/failed.json"
    assert json.loads(record.read_text(encoding="utf-8")) == {"norm=pre,seed=1": "regard: the stand-in fails"}
    assert "BLEU" in result.out  # of the cell that did not fail
    (home / "failing").unlink()
    again = command(*arguments(home))
    assert again.code == 0, again.err
    assert trained(home)[2:] == ["norm=pre,seed=1"]
    assert not record.exists()


def test_a_dry_run_prints_what_would_be_run(command, home: Path) -> None:
    (home / "failing").write_text("norm=post", encoding="utf-8")
    command(*arguments(home))
    lines = command(*arguments(home, "--dry-run")).out.splitlines()
    assert lines[0].startswith("# finished: regard train ")
    assert shlex.split(lines[1]) == [
        *("regard", "train", str(home / "run.toml"), "--set", "model.norm=post", "--set", "train.seed=1"),
        *("--out", str(home / "grid/norm=post,seed=1")),
    ]
    assert len(trained(home)) == 2


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (["--set", "model.nrm=pre"], "unknown key 'model.nrm'; did you mean 'model.norm'?"),
        (["--set", "train.warmup=1,-1"], "train.warmup = -1"),
        (["--seeds", "0"], "--seeds"),
    ],
)
def test_mistakes_are_told_before_anything_trains(command, home: Path, wrong: list[str], complaint: str) -> None:
    result = command(*arguments(home, *wrong))
    assert result.code == 2
    assert complaint in result.err
    assert "Traceback" not in result.err
    assert trained(home) == []
    assert not (home / "grid").exists()


def test_there_must_be_somewhere_to_train(command, home: Path) -> None:
    result = command("sweep", "--seeds", "2")
    assert result.code == 2
    assert "--out DIR is missing" in result.err
    (home / "grid").write_text("a file", encoding="utf-8")
    result = command(*arguments(home))
    assert result.code == 2
    assert f"{home / 'grid'}: " in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_cell_once_and_ends_the_sweep(command, home: Path, number: signal.Signals) -> None:
    """The stand-in waits for SIGINT, so SIGTERM ends it as it would end anything."""
    (home / "waiting").write_text("", encoding="utf-8")
    code = (
        f"from regard.cli import sweep; sweep.REGARD = [{sys.executable!r}, {str(home / 'stand_in.py')!r}]; "
        "from regard.cli.main import run; run()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments(home)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (home / "ready").exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, number)  # as a terminal does: to the sweep and to all that share its group
    out, err = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert "run the same command again to go on" in err.splitlines()[-1]
    assert out == ""
    assert trained(home) == ["norm=pre,seed=1"]
    if number == signal.SIGINT:
        # Two signals that come at once count as one, so that it leads a group of its own is asked as well.
        assert (home / "signals").read_text(encoding="utf-8") == f"[{int(signal.SIGINT)}] True"
    (home / "waiting").unlink()
    assert command(*arguments(home)).code == 0
    assert trained(home) == ["norm=pre,seed=1", "norm=pre,seed=1", "norm=post,seed=1"]


def test_cells_of_other_data_are_trained_and_not_compared(command, home: Path) -> None:
    for seed, pairs in (("1", "[:9]"), ("2", "")):
        text = (home / "stand_in.py").read_text(encoding="utf-8")
        marked = text.replace("wrong=range(", f"pairs=PAIRS{pairs}, wrong=range(").replace(
            "import finished_run", "import PAIRS, finished_run"
        )
        (home / f"stand_in_{seed}.py").write_text(marked, encoding="utf-8")
    sets = [*arguments(home)[:2], "--out", str(home / "grid"), "--set"]
    for seed in ("1", "2"):
        sweep.REGARD[1] = str(home / f"stand_in_{seed}.py")
        result = command(*sets, f"train.seed={','.join(['1', '2'][: int(seed)])}")
        assert result.code == 0, result.err
    assert "regard: warning: the cells cannot be compared: " in result.err
    assert result.out == ""


def test_real_cells_are_trained_by_regard_train(command, tmp_path: Path) -> None:
    lines = [f"{'ab' * (number % 5 + 1)} {'cd' * (number % 7)}" for number in range(60)]
    (tmp_path / "train.xx").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "train.yy").write_text("".join(f"{line[::-1]}\n" for line in lines), encoding="utf-8")
    settings = {
        "data": {"src": str(tmp_path / "train.xx"), "tgt": str(tmp_path / "train.yy")},
        "text": {"kind": "char"},
        "model": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16},
        "train": {"max_steps": 2, "batch_tokens": 256},
    }
    (tmp_path / "tiny.json").write_text(json.dumps(settings), encoding="utf-8")
    grid = tmp_path / "grid"
    result = command("sweep", tmp_path / "tiny.json", "--set", "model.heads=2,3", "--out", grid)
    assert result.code == 2  # 3 does not divide the width: nothing trained
    assert not grid.exists()
    result = command("sweep", tmp_path / "tiny.json", "--set", "train.warmup=1", "--out", grid)
    assert result.code == 0, result.err
    assert "validation set, " in result.err  # what `regard train` says at its end
    metrics = json.loads((grid / "warmup=1,seed=1/metrics.json").read_text(encoding="utf-8"))
    assert metrics["decoding_seconds"] > 0
    assert "warmup=1,seed=1" in result.out
