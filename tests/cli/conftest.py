"""The command as a user runs it, in this process; and one small trained run that all tests share."""

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from regard.cli.main import run


@dataclass(frozen=True)
class Result:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Result]


def _command(*arguments: str | Path, stdin: bytes | str = b"") -> Result:
    streams = sys.argv, sys.stdin, sys.stdout, sys.stderr
    given = stdin.encode("utf-8") if isinstance(stdin, str) else stdin
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    sys.argv = ["regard", *map(str, arguments)]
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(given)), out, err
    try:
        run()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = streams
    out.flush()
    return Result(code, out.buffer.getvalue().decode("utf-8"), err.getvalue())


@pytest.fixture(scope="session")
def command() -> Command:
    """`command("translate", run, stdin="..")`"""
    return _command


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few steps on a few pocket sentences: it translates badly, but it is a real run."""
    home = tmp_path_factory.mktemp("small")
    before = os.environ.get("REGARD_CACHE")
    os.environ["REGARD_CACHE"] = str(home / "cache")
    try:
        result = _command("train", "--out", home / "run", *SMALL)
    finally:
        os.environ.pop("REGARD_CACHE")
        if before is not None:
            os.environ["REGARD_CACHE"] = before
    assert result.code == 0, result.err
    return home / "run"


SMALL = [
    *("--set", "data.pocket=60", "--set", "text.vocabulary=400"),
    *("--set", "model.layers=1", "--set", "model.width=16", "--set", "model.heads=2", "--set", "model.feed_forward=16"),
    *("--set", "train.max_steps=12", "--set", "train.batch_tokens=256", "--set", "train.validate_every=6"),
    *("--set", "train.seed=2"),  # a seed whose model writes something
]
