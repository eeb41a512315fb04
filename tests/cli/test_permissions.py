"""Every file that a command writes follows the umask: a colleague can read it."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import SMALL

LINES = "je suis étudiant\nle chat dort\n"


@pytest.fixture(params=[0o022, 0o027], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_every_file_follows_the_umask(command, tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("REGARD_CACHE", str(home / "cache"))
    (home / "fr").write_text(LINES, encoding="utf-8")
    (home / "en").write_text("I am a student\nthe cat sleeps\n", encoding="utf-8")
    (home / "gold").write_text("0-0\n0-0\n", encoding="utf-8")
    sides = ["--src", home / "fr", "--tgt", home / "en"]
    commands: list[list[str | Path]] = [
        ["train", "--out", home / "run", *SMALL, "--set", "train.average=2", "--set", "train.save_every=6"],
        ["translate", home / "run", "-i", home / "fr", "-o", home / "out"],
        ["translate", home / "run", "-i", home / "fr", "-o", home / "out.gz"],
        ["evaluate", home / "run", "--src", home / "fr", "--ref", home / "en", "-o", home / "kept"],
        ["explain", home / "run", "le chat dort", "--out", home / "page.html"],
        ["align", home / "run", *sides, "--pick", home / "gold", "--save", home / "how.json", "--remember"],
        ["compare", home / "run", "--figure", home / "figure.svg"],
        ["report", home / "run"],
    ]
    for arguments in commands:
        result = command(*arguments)
        assert result.code == 0, result.err
    names = {path.name for path in home.rglob("*")}
    assert names >= {
        "model.safetensors",
        "optimiser.safetensors",
        "model.bin",
        "report.html",
        "manifest.json",
        "out.gz",
    }
    modes = {str(path.relative_to(home)): stat.S_IMODE(path.stat().st_mode) for path in home.rglob("*")}
    wrong = {
        name: oct(mode) for name, mode in modes.items() if mode != (0o777 if (home / name).is_dir() else 0o666) & ~umask
    }
    assert wrong == {}
