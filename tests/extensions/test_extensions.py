"""Extensions: files of a user's own add to every table; a model that needs one says so; nothing runs that was not named."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from regard.errors import ExtensionError

HERE = Path(__file__).parent
TOYS, REVERSE = HERE / "toys.py", HERE / "reverse.py"
SMALL = ["data.pocket=120", "text.kind=char", "model.layers=1", "model.width=16", "model.heads=2"]
SMALL += [
    "model.feed_forward=16",
    "train.max_steps=12",
    "train.save_every=4",
    "train.validate_every=6",
    "train.warmup=2",
]
TOY = ["model.mixer=running_mean", "model.score=half_dot", "train.optimizer=sign", "train.select=first_word"]


def regard(
    *arguments: object, code: int = 0, cwd: Path | None = None, threads: int = 1
) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, so that its tables are its own."""
    result = subprocess.run(
        [sys.executable, "-m", "regard.cli.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
    )
    assert result.returncode == code, result.stderr
    return result


def sets(*assignments: str) -> list[str]:
    return [part for assignment in assignments for part in ("--set", assignment)]


def stopped(settings: list[str], extension: Path, out: Path) -> None:
    """A run that ends after six steps, as an error would end it."""
    program = (
        "import sys; from pathlib import Path\n"
        "from regard.extensions import load_extension; from regard.settings import override\n"
        "load_extension(sys.argv[1])\n"
        "from regard.tasks.run import train_run; from regard.tasks.fine_tuning import run_settings\n"
        "def stop(event):\n    if getattr(event, 'name', '') == 'step' and event.step == 6: raise SystemExit(0)\n"
        "train_run(run_settings(override({}, sys.argv[3:])), Path(sys.argv[2]), [stop])\n"
    )
    command = [sys.executable, "-c", program, str(extension), str(out), *settings]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert result.returncode == 0, result.stderr
    assert not (out / "metrics.json").exists()


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "checkpoints/step-00000012/model.safetensors")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("extensions")
    (home / "a.fr").write_text("je suis étudiant\ntu es professeur\n", encoding="utf-8")
    (home / "a.en").write_text("I am a student\nyou are a teacher\n", encoding="utf-8")
    return home


@pytest.fixture(scope="module")
def toy_run(home: Path) -> Path:
    regard("train", "--out", home / "toy", *sets(*SMALL, *TOY), "--extension", TOYS)
    return home / "toy"


def test_a_run_with_a_mixer_a_score_a_metric_and_an_optimiser(toy_run: Path) -> None:
    metrics = json.loads((toy_run / "metrics.json").read_text(encoding="utf-8"))
    assert 0.0 <= metrics["first_word"] <= 1.0
    validated = [json.loads(line) for line in (toy_run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all("first_word" in event for event in validated if event["event"] == "validated")
    assert all("copied" in event for event in validated if event["event"] == "validated")
    rows = [json.loads(line) for line in (toy_run / "translations.jsonl").read_text(encoding="utf-8").splitlines()]
    words = [(row["hypothesis"].split(), row["source"].split()) for row in rows]
    shares = [sum(word in source for word in said) / max(1, len(said)) for said, source in words]
    assert metrics["copied"] == pytest.approx(sum(shares) / len(shares))
    assert "first word" in (toy_run / "report.html").read_text(encoding="utf-8")
    names = weights(toy_run)
    assert "decoder.0.mixer.map.weight" in names
    assert "decoder.0.cross.query.weight" in names


@pytest.mark.slow
def test_it_resumes_to_the_last_bit(toy_run: Path, home: Path) -> None:
    stopped([*SMALL, *TOY], TOYS, home / "stopped")
    regard("train", "--out", home / "stopped", *sets(*SMALL, *TOY), "--extension", TOYS)
    whole, resumed = weights(toy_run), weights(home / "stopped")
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


@pytest.mark.slow
def test_two_workers_share_the_state_of_an_optimiser(home: Path) -> None:
    regard("train", "--out", home / "two", *sets(*SMALL, *TOY), "--extension", TOYS, threads=2)
    optimiser = load_file(home / "two/checkpoints/step-00000012/optimiser.safetensors")
    assert all(value.any() for name, value in optimiser.items() if name.endswith("/mean") and "key.bias" not in name)


@pytest.mark.slow
def test_it_translates_evaluates_compares_and_reports(toy_run: Path, home: Path) -> None:
    lines = regard("translate", toy_run, "-i", home / "a.fr", "--beam", 2, "--extension", TOYS).stdout.splitlines()
    assert len(lines) == 2
    table = regard("evaluate", toy_run, "--src", home / "a.fr", "--ref", home / "a.en", "--extension", TOYS).stdout
    assert "first_word" in table
    assert "copied" in table
    regard("train", "--out", home / "plain", *sets(*SMALL), "--extension", TOYS)
    compared = regard("compare", toy_run, home / "plain", "--metric", "first_word", "--extension", TOYS).stdout
    assert re.search(r"first word", compared)
    by_source = regard("compare", toy_run, home / "plain", "--metric", "copied", "--extension", TOYS).stdout
    assert "difference and p: copied against" in by_source
    assert "baseline" in compared
    assert regard("report", toy_run, "--extension", TOYS).stdout.strip().endswith("report.html")


@pytest.mark.slow
def test_a_kind_of_model(home: Path) -> None:
    rows = "".join(f"{'fine' if n % 2 else 'dull'} film {n}\t{'good' if n % 2 else 'bad'}\n" for n in range(80))
    (home / "films.tsv").write_text(rows, encoding="utf-8")
    small = sets("text.kind=word", "model.kind=word_mean", "train.max_steps=60", "train.learning_rate=0.05")
    arguments = [
        "--task",
        "classify",
        "--data",
        home / "films.tsv",
        "--out",
        home / "films",
        *small,
        "--extension",
        TOYS,
    ]
    regard("train", *arguments)
    assert regard("evaluate", home / "films", "--data", home / "films.tsv", "--json", "--extension", TOYS).stdout
    assert json.loads((home / "films/metrics.json").read_text(encoding="utf-8"))["accuracy"] > 0.8


def test_init_explains_a_kind_of_model() -> None:
    text = regard("init", "--task", "classify", "--kind", "word_mean", "--extension", TOYS).stdout
    assert "# Width of a word vector.\n# width = 8  # a whole number\n" in text
    assert 'kind = "word_mean"  # "transformer", "recurrent", "bag" or "word_mean"' in text
    assert "--extension toys.py" in text.splitlines()[0]


def test_a_model_that_needs_an_extension_says_so_and_runs_nothing(toy_run: Path, home: Path) -> None:
    told = regard("translate", toy_run, "-i", home / "a.fr", code=2).stderr
    assert "needs the extension toys.py" in told
    assert "mixer running_mean" in told
    assert "--extension toys.py" in told
    compared = regard("compare", toy_run, code=2).stderr
    assert compared.startswith(f"regard: {toy_run / 'config.json'}: needs the extension toys.py (metric first_word, ")
    assert compared.endswith("; give --extension toys.py\n")
    (home / "toys.py").write_text(f"{TOYS.read_text(encoding='utf-8')}\n# changed\n", encoding="utf-8")
    changed = regard("train", "--out", toy_run, *sets(*SMALL, *TOY), "--extension", home / "toys.py", code=2).stderr
    assert "toys.py" in changed
    assert "other settings" in changed
    assert changed.endswith("; restore the file toys.py that it began with, or choose another --out\n")
    loaded = regard("translate", toy_run, "-i", home / "a.fr", "--extension", home / "toys.py")
    assert "another version of the extension toys.py" in loaded.stderr


@pytest.fixture(scope="module")
def reverse_run(home: Path) -> Path:
    regard("train", "--out", home / "reverse", *sets(*REVERSED), "--extension", REVERSE)
    return home / "reverse"


REVERSED = [
    "task=reverse",
    "train.max_steps=12",
    "train.save_every=4",
    "train.validate_every=6",
    "train.optimizer=adamw",
]
REVERSED += ["train.learning_rate=0.1"]


@pytest.mark.slow
def test_a_task_trains_and_resumes(reverse_run: Path, home: Path) -> None:
    metrics = json.loads((reverse_run / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["digits"] > 0.5
    assert metrics["task"] == "reverse"
    assert metrics["lists"] == 20
    stopped(REVERSED, REVERSE, home / "reverse-stopped")
    regard("train", "--out", home / "reverse-stopped", *sets(*REVERSED), "--extension", REVERSE)
    whole, resumed = weights(reverse_run), weights(home / "reverse-stopped")
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


@pytest.mark.slow
def test_a_task_loads_evaluates_compares_and_reports(reverse_run: Path, home: Path) -> None:
    (home / "lists.txt").write_text("1234\n9080\n", encoding="utf-8")
    assert "of 2 lists" in regard("evaluate", reverse_run, "--data", home / "lists.txt", "--extension", REVERSE).stdout
    missing = regard("evaluate", reverse_run, "--extension", REVERSE, code=2).stderr
    assert "give --data F" in missing
    regard("train", "--out", home / "slow", *sets(*REVERSED, "train.learning_rate=0.001"), "--extension", REVERSE)
    compared = regard("compare", reverse_run, home / "slow", "--extension", REVERSE).stdout
    assert "digits" in compared
    page = Path(regard("report", reverse_run, "--extension", REVERSE).stdout.strip())
    assert "digits" in page.read_text(encoding="utf-8")
    assert "linear" in regard("info", reverse_run, "--extension", REVERSE).stdout
    assert "lists" in regard("init", "--task", "reverse", "--extension", REVERSE).stdout
    told = regard("info", reverse_run, code=2).stderr
    assert "needs the extension reverse.py" in told


@pytest.mark.slow
def test_a_sweep_hands_its_extensions_on(home: Path) -> None:
    swept = ["sweep", "--set", "task=reverse", "--set", "train.max_steps=3", "--set", "data.length=2,3"]
    printed = regard(*swept, "--out", home / "sweep", "--dry-run", "--extension", REVERSE).stdout
    assert printed.count("--extension") == 2
    regard(*swept, "--out", home / "sweep", "--extension", REVERSE)
    assert len(list((home / "sweep").glob("*/metrics.json"))) == 2


BROKEN: dict[str, tuple[str, str]] = {
    "empty": ("x = 1\n", "adds nothing"),
    "syntax": ("def\n", "syntax.py:1: SyntaxError"),
    "raises": ("import regard\n\n1 / 0\n", "raises.py:3: ZeroDivisionError"),
    "taken": (
        "import regard\nregard.extend(mixers={'attention': print})\n",
        "taken.py: regard.extend: there is a mixer 'attention' already",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    content, expected = BROKEN[name]
    (tmp_path / f"{name}.py").write_text(content, encoding="utf-8")
    told = regard("info", tmp_path, "--extension", tmp_path / f"{name}.py", code=2).stderr
    assert expected in told
    assert len(told.splitlines()) == 1
    missing: Any = regard("info", tmp_path, "--extension", tmp_path / "none.py", code=2).stderr
    assert "cannot be read" in missing


HALF = """
import regard
from regard.metrics.scores import Metric

def score(hypotheses, references):
    return [0.0 for _ in hypotheses]

regard.extend(metrics=[Metric("half", "half", sentence_scores=score)])
regard.extend(optimizers={{"halved": (0.1, print)}}, {second})
"""
FAILURES = {
    "a taken name": "mixers={'attention': print}",
    "a name given twice": "metrics=[Metric('same', 'x'), Metric('same', 'x')]",
    "no such task": "models=[('sing', object, print)]",
    "no settings": "models=[('translate', object, print)]",
    "an error": "metrics=[1 / 0]",
    "an interrupt": "metrics=exit(3)",
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_file_that_fails_leaves_nothing_behind(failure: str, tmp_path: Path) -> None:
    """Neither the rows before the failing call nor those of the call itself stay; the mended file can be loaded."""
    from regard import extensions
    from regard.metrics.scores import METRICS
    from regard.training.config import RATES
    from regard.training.optimizer import OPTIMIZERS

    tables = (METRICS, OPTIMIZERS, RATES, extensions.LOADED, extensions._FILES, sys.modules)
    before = [dict(table) for table in tables]
    file = tmp_path / "half.py"
    file.write_text(HALF.format(second=FAILURES[failure]), encoding="utf-8")
    with pytest.raises(SystemExit if failure == "an interrupt" else ExtensionError):
        extensions.load_extension(file)
    after = [{key: value for key, value in table.items() if not str(key).startswith("regard.")} for table in tables]
    assert after == [
        {key: value for key, value in table.items() if not str(key).startswith("regard.")} for table in before
    ]
    file.write_text(HALF.format(second=""), encoding="utf-8")
    try:
        assert extensions.load_extension(file).adds == ("metric half", "optimizer halved")
    finally:
        while extensions._UNDO:
            extensions._UNDO.pop()()
        del extensions.LOADED["half.py"], extensions._FILES["half.py"]
    assert "half" not in METRICS
    assert "halved" not in RATES
