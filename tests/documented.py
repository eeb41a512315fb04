"""Commands of the README and of docs/*.md, run or parsed as they stand."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from typer.main import get_command

from regard.cli.main import app
from regard.data.pocket.corpus import pocket_split

ROOT = Path(__file__).parent.parent
SIZES = "--set model.layers=1 --set model.width=16 --set model.heads=2 --set model.feed_forward=16"
SMALL = f"{SIZES} --set train.max_steps=4 --set text.vocabulary=400"
POCKET = "--set data.pocket=60"
BLOCK = re.compile(r"(?:<!-- ([\w.:, -]+) -->\n)?```(\w+)\n(.*?)```", flags=re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    mark: str
    """The comment above it: `test: NAME`, `file: NAME.py`, `long: WHY`, or nothing."""
    language: str
    text: str
    """One command a line."""


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page that have a language."""
    found = BLOCK.findall(path.read_text(encoding="utf-8"))
    return [Block(path.name, mark, language, text.replace("\\\n", "")) for mark, language, text in found]


def shell(command: str, home: Path) -> str:
    """The output of a command run by bash. The command must succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "REGARD_CACHE": str(home / "cache"), "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def shells(commands: str, home: Path) -> list[str]:
    """The output of each line; the lines do not depend on each other, so two run at a time."""
    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(partial(shell, home=home), commands.strip().split("\n")))


def write_pairs(home: Path, source: str, target: str) -> None:
    """Parallel files of the pocket corpus: train.SOURCE, train.TARGET, test.SOURCE and test.TARGET."""
    pairs = pocket_split(train=100, valid=0, test=10)
    for name, some in (("train", pairs.train), ("test", pairs.test)):
        (home / f"{name}.{source}").write_text("".join(f"{pair.french}\n" for pair in some), encoding="utf-8")
        (home / f"{name}.{target}").write_text("".join(f"{pair.english}\n" for pair in some), encoding="utf-8")


def programs(text: str) -> Iterator[list[str]]:
    """The words of each call of `regard` or of a script of `python` in a block of shell commands."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&<>()\n")
    lexer.whitespace, lexer.whitespace_split = " \t", True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word[0] in ";|&<>()\n":
            start = next((place for place, name in enumerate(words) if name in ("regard", "python")), None)
            if start is not None:
                yield words[start:]
            words = []
        else:
            words.append(word)


def source_of(script: Path) -> str:
    """A script, and those beside it that it imports: they may read its command line."""
    text = script.read_text(encoding="utf-8")
    beside = (script.with_name(f"{name}.py") for name in re.findall(r"^from (\w+) import", text, re.MULTILINE))
    return "".join([text, *(path.read_text(encoding="utf-8") for path in beside if path.exists())])


def check_program(words: list[str]) -> None:
    """A call that is not run: its verb and its flags exist, and so do the files of the repository that it names."""
    program, *arguments = words
    flags = [word.split("=")[0] for word in arguments if word.startswith("-") and word != "-"]
    for word in arguments:
        if word.startswith(("recipes/", "benchmarks/")):
            assert list(ROOT.glob(word)), f"{word}: no such file ({shlex.join(words)})"
    if program == "python":
        script = source_of(ROOT / arguments[0])
        assert [flag for flag in flags if f'"{flag}"' not in script] == [], shlex.join(words)
        return
    command: Any = get_command(app)
    while hasattr(command, "commands"):
        verb = arguments.pop(0)
        assert verb in command.commands, f"no command {verb}: {shlex.join(words)}"
        command = command.commands[verb]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert [flag for flag in flags if flag not in known] == [], shlex.join(words)
