"""`regard sweep` as a user runs it. Most cells are trained by a stand-in that leaves a finished run at once, or fails, or waits."""

import json
import os
import re
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
    with (home / "ready").open("a") as file:
        file.write(f"{{out.name}} {{os.environ.get('OMP_NUM_THREADS')}}\\n")
    while not signals:
        time.sleep(0.05)
    time.sleep(0.5)
    with (home / "signals").open("a") as file:
        file.write(f"{{signals}} {{os.getpgrp() == os.getpid()}}\\n")
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
    return lines_of(home / "trained")


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def started(home: Path, given: list[str]) -> "subprocess.Popen[str]":
    """A sweep in a process of its own, the leader of its process group."""
    code = (
        f"from regard.cli import sweep; sweep.REGARD = [{sys.executable!r}, {str(home / 'stand_in.py')!r}]; "
        "from regard.cli.main import run; run()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, *given],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


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
    process = started(home, arguments(home))
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
        assert (home / "signals").read_text(encoding="utf-8") == f"[{int(signal.SIGINT)}] True\n"
    (home / "waiting").unlink()
    assert command(*arguments(home)).code == 0
    assert trained(home) == ["norm=pre,seed=1", "norm=pre,seed=1", "norm=post,seed=1"]


def test_several_cells_at_once_share_the_threads_and_all_are_interrupted(
    command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    (home / "waiting").write_text("", encoding="utf-8")
    given = arguments(home, "--seeds", "2", "--jobs", "3")
    process = started(home, given)
    while len(lines_of(home / "ready")) < 3:
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "run the same command again to go on" in err.splitlines()[-1]
    assert sorted(trained(home)) == ["norm=post,seed=1", "norm=pre,seed=1", "norm=pre,seed=2"]  # not the fourth
    assert {line.split()[1] for line in lines_of(home / "ready")} == {"1"}  # 5 // 3
    assert lines_of(home / "signals") == [f"[{int(signal.SIGINT)}] True"] * 3
    (home / "waiting").unlink()
    (home / "failing").write_text("norm=post", encoding="utf-8")
    again = command(*given)
    assert again.code == 1
    assert len(trained(home)) == 3 + 4
    assert "cell 4 of 4: " in again.err
    assert re.search(r"^\[[24]\] regard: the stand-in fails$", again.err, re.MULTILINE)
    assert len(json.loads((home / "grid/failed.json").read_text(encoding="utf-8"))) == 2


def test_every_flag_of_train_reaches_the_cells(command, home: Path) -> None:
    flags = ["--preset", "tiny", "--minutes", "2.5", "--src", "a.xx", "--tgt", "a.yy", "--recipe", "2017"]
    printed = command(*arguments(home, *flags, "--dry-run"))
    assert printed.code == 0, printed.err
    [first, _] = map(shlex.split, printed.out.splitlines())
    settings = [*("--src", "a.xx", "--tgt", "a.yy"), *("--preset", "tiny", "--minutes", "2.5", "--recipe", "2017")]
    assert first[:4] == ["regard", "train", str(home / "run.toml"), "--src"]
    assert first[3 : 3 + len(settings)] == settings
    wrong = command(*arguments(home, "--preset", "enormous"))
    assert wrong.code == 2
    assert "enormous" in wrong.err


def test_a_sweep_and_a_comparison_of_its_cells_have_the_same_baseline(command, home: Path) -> None:
    swept = command(*arguments(home))
    [note] = [line for line in swept.out.splitlines() if line.startswith("difference and p")]
    assert " against norm=pre, " in note  # the first value, though norm=post is the first by name
    assert note in command("compare", home / "grid").out
    other = [*arguments(home)[:2], "--set", "model.norm=post,pre", "--out", home / "grid"]
    assert command(*other).err.count("finished before") == 2
    assert " against norm=post, " in command("compare", home / "grid").out  # the order of the latest sweep
    (home / "grid/sweep.json").write_text("{}", encoding="utf-8")
    damaged = command("compare", home / "grid")
    assert damaged.code == 2
    assert "sweep.json: cells = None: not a list of names" in damaged.err


def test_a_finished_cell_of_another_extension_is_refused(command, home: Path) -> None:
    assert command(*arguments(home)).code == 0
    path = home / "grid/norm=post,seed=1/config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    used = {"name": "toys.py", "sha256": "0123456789abcdef", "adds": ["mixer toy"]}
    path.write_text(json.dumps({**config, "format": 2, "extensions": [used]}), encoding="utf-8")
    refused = command(*arguments(home))
    assert refused.code == 2
    assert "norm=post,seed=1: was trained with other settings (extension toys.py: '01234567' -> None)" in refused.err


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
