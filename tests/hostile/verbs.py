"""A command with hostile input, how it is run, and what must be true of every outcome.

`Command` says what is run. `Server.run` runs it in a forked child with limits on time and memory. `problems` lists what fell short.
`sound_commands` has one sound command of every verb, from which families of hostile ones are made.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from PIL import Image

TESTS = Path(__file__).parent.parent
SECONDS = 60.0
"""The time that a command may take. It is many times what a sound one needs, on a busy machine too."""
MEMORY = 2 << 30
"""Bytes of address space that a command may take beyond what its imports take (`RLIMIT_AS`)."""
MOST_LINES, MOST_CHARACTERS = 6, 2000
"""Of standard error, where a command fails."""
WITH_PROGRESS = ("train", "demo", "resume", "sweep", "improve")
"""Verbs that tell on standard error how far they are."""
SIGNALLED = (130, 143)
"""Exit codes of a command that was interrupted or terminated, as a shell has them."""
UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)  # newline is allowed

CLOSED = "closed"
FULL = "/dev/full"


@dataclass(frozen=True)
class Command:
    """A command line and the circumstances in which it runs. Relative paths are below the directory of its round."""

    arguments: tuple[str, ...]
    stdin: bytes | None = b""
    """None: closed."""
    stdout: str | None = None
    """A path such as `FULL`, or `CLOSED`; None: captured."""
    stderr: str | None = None
    signals: tuple[tuple[float, int], ...] = ()
    """(seconds after the start, signal)."""
    fault: tuple[str, ...] = ()
    """A function of `hostile.faults` and its arguments; it is called before the command runs."""
    environment: tuple[tuple[str, str], ...] = ()
    seconds: float = SECONDS
    memory: int = MEMORY
    """0: no limit."""
    file_size: int | None = None
    """The largest file that it may write: a disk that is full."""
    open_files: int | None = None
    escaped_output: bool = False
    """Whether standard output shows text of others, and so may have no control characters either."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended. `code` is negative if a signal killed it."""

    code: int
    out: str
    err: str
    timed_out: bool = False
    leftover: bool = False
    """Whether a process was left running."""
    seconds: float = 0.0
    peak_mb: int = 0

    @property
    def unexpected(self) -> bool:
        """Whether only the last line of defence caught it: one line, but none that was written for this mistake."""
        return self.code == 1 and "--debug" in self.err


Family = Callable[[Random, Path], Command]
"""Draws a hostile case: writes its files into a directory and returns the command to run there."""


def problems(command: Command, outcome: Outcome) -> list[str]:
    """The shortcomings of an outcome; empty if the command handled its input."""
    found = []
    sent = {number for _, number in command.signals}
    if outcome.timed_out:
        found.append(f"did not end within {command.seconds:g} s")
    elif outcome.code < 0 and -outcome.code not in sent:
        found.append(f"killed by signal {-outcome.code}")
    elif outcome.code > 2 and not ((sent or command.fault) and outcome.code in SIGNALLED):
        found.append(f"exit code {outcome.code}")
    if "Traceback (most recent call last)" in outcome.err or "Exception ignored" in outcome.err:
        found.append("a traceback")
    if outcome.code in (1, 2):
        found += _message_problems(command, outcome)
    if UNSAFE.search(outcome.err):
        found.append("a control character on standard error")
    if command.escaped_output and UNSAFE.search(outcome.out.replace("\t", " ")):  # columns of its own
        found.append("a control character on standard output")
    if outcome.leftover:
        found.append("a process was left running")
    return found


def _message_problems(command: Command, outcome: Outcome) -> list[str]:
    """The shortcomings of the message of a command that failed. Training tells its progress before it."""
    lines = outcome.err.splitlines()
    last = lines[-1] if lines else ""
    if command.arguments[:1] and command.arguments[0] in WITH_PROGRESS:
        lines = [line for line in lines if line.startswith("regard: ")]
    lines = [line for line in lines if not line.startswith("regard: warning: line ")]  # one for each line of the input
    characters = sum(len(line) + 1 for line in lines)
    found = []
    if len(lines) > MOST_LINES or characters > MOST_CHARACTERS:
        found.append(f"{len(lines)} lines, {characters} characters on standard error")
    told = command.stderr is not None or last.startswith("regard: ") or outcome.out  # `data check` reports on stdout
    return found if told else [*found, "no message of regard at the end of standard error"]


class Server:
    """A warm process that forks a child for each command. See `hostile.server`."""

    def __init__(self) -> None:
        paths = [str(TESTS), str(TESTS.parent / "src")]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hostile.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(paths)},
        )
        self._ready = False

    def run(self, command: Command, directory: Path) -> Outcome:
        """Run a command in a directory. Its home, cache and temporary files are inside of it."""
        streams = self._streams(command, directory)
        inside = {
            "HOME": directory,
            "XDG_CACHE_HOME": directory / ".cache",
            "TMPDIR": directory,
            "REGARD_CACHE": directory / ".cache" / "regard",
        }
        request = {
            "arguments": [_argument(word) for word in command.arguments],
            "directory": str(directory),
            "environment": {**{name: str(path) for name, path in inside.items()}, **dict(command.environment)},
            "streams": streams,
            "signals": command.signals,
            "fault": command.fault,
            "seconds": command.seconds,
            "memory": command.memory,
            "file_size": command.file_size,
            "open_files": command.open_files,
        }
        reply = self._ask(request)
        captured = [_text(path, directory) for path in streams[1:]]
        return Outcome(out=captured[0], err=captured[1], **reply)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.kill()  # a process that another test forked may hold its standard input open
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if not self._ready:
            assert self._process.stdout.readline() == "ready\n", "the server did not start"
            self._ready = True
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        reply: dict[str, Any] = json.loads(self._process.stdout.readline())
        return reply

    def _streams(self, command: Command, directory: Path) -> list[str | None]:
        """The files of the three standard streams; None: closed."""
        given, out, err = (directory / f".{name}" for name in ("stdin", "stdout", "stderr"))
        if command.stdin is not None:
            given.write_bytes(command.stdin)
        for path in (out, err):
            path.unlink(missing_ok=True)
        outputs = [
            str(path) if where is None else None if where == CLOSED else where
            for path, where in ((out, command.stdout), (err, command.stderr))
        ]
        return [None if command.stdin is None else str(given), *outputs]


def _argument(word: str) -> str:
    """A word as a command can be given it: no NUL, and bytes that are not UTF-8 as lone surrogates."""
    return word.replace("\0", "").encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")


def _text(path: str | None, directory: Path) -> str:
    """The text that was written to a captured stream."""
    if path is None or not path.startswith(str(directory)) or not Path(path).is_file():
        return ""
    return Path(path).read_bytes().decode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Materials:
    """Small sound runs and texts, made once. A family copies what it damages."""

    home: Path

    @property
    def translator(self) -> Path:
        return self.home / "translator"

    @property
    def writer(self) -> Path:
        return self.home / "writer"

    @property
    def classifier(self) -> Path:
        return self.home / "classifier"

    @property
    def bundle(self) -> Path:
        """The latest checkpoint of the translator."""
        return next(iter(sorted((self.translator / "checkpoints").iterdir(), reverse=True)))


FRENCH = (
    "le chat dort",
    "je suis étudiant",
    "la pomme est rouge",
    "il parle",
    "nous mangeons une pomme",
    "le chat noir",
)
ENGLISH = ("the cat sleeps", "I am a student", "the apple is red", "he speaks", "we eat an apple", "the black cat")
TINY = ("--set", "train.max_steps=4", "--set", "train.batch_tokens=200", "--set", "train.validate_every=2")
SIZES = "--set model.layers=1 --set model.width=16 --set model.heads=2 --set model.feed_forward=16"
SMALL = (*TINY, *SIZES.split())


RUNS = ("translator", "writer", "classifier", "captioner", "forecaster", "filler", "adapter")
"""The runs of `Materials`."""
CLASSES = {"light": 200, "dark": 30}


def make_texts(directory: Path) -> None:
    """Sound corpora of every kind: a.fr, a.en, a.txt (lines), a.tsv (labels), a.csv (a series), captions.tsv and pictures."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, lines in (
        ("a.fr", FRENCH * 6),
        ("a.en", ENGLISH * 6),
        ("a.txt", ENGLISH * 20),
        ("a.tsv", [f"{line}\t{'food' if 'pomme' in line else 'other'}" for line in FRENCH * 6]),
        ("a.csv", ["ds,sales", *(f"2020-01-{day:02},{day % 7}" for day in range(1, 32))]),
        ("captions.tsv", [f"{name}/{number}.png\ta {name} picture" for name in CLASSES for number in range(6)]),
    ):
        (directory / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for name, shade in CLASSES.items():
        (directory / "pictures" / name).mkdir(parents=True, exist_ok=True)
        for number in range(6):
            picture = np.full((16, 16, 3), shade + number, dtype=np.uint8)
            Image.fromarray(picture).save(directory / "pictures" / name / f"{number}.png")


def make_materials(home: Path, server: Server) -> Materials:
    """Train one tiny run of each task."""
    make_texts(home)
    parallel = ("--src", "a.fr", "--tgt", "a.en", "--valid-src", "a.fr", "--valid-tgt", "a.en")
    sinusoids = ("--set", "text.vocabulary=60", "--set", "model.positions=sinusoidal")  # every format can hold them
    captions = ("--images", "pictures", "--captions", "captions.tsv", "--valid-captions", "captions.tsv")
    patches = ("--set", "model.patch=4", "--set", "model.stride=4", "--set", "data.baseline_windows=1")
    commands = {
        "translator": ("train", *parallel, "--out", "translator", *SMALL, *sinusoids),
        "writer": ("train", "--task", "generate", "--text", "a.txt", "--out", "writer", "--set", "model.kind=markov"),
        "classifier": ("train", "--task", "classify", "--data", "a.tsv", "--out", "classifier", *SMALL),
        "captioner": (
            *("train", "--task", "caption", *captions, "--out", "captioner"),
            *(*SMALL, "--set", "text.vocabulary=60"),
        ),
        "forecaster": (
            *("train", "--task", "forecast", "--series", "a.csv", "--horizon", "2", "--context", "8"),
            *("--out", "forecaster", *patches, *SMALL),
        ),
        "filler": (
            *("train", "--task", "pretrain", "--text", "a.txt", "--out", "filler"),
            *(*SMALL, "--set", "text.vocabulary=320"),
        ),
        "adapter": (
            *("train", *parallel, "--start", "translator", "--out", "adapter", *TINY),
            *("--lora", "2", "--set", "train.lora.merge=false"),
        ),
        "ct2": ("export", "translator", "ct2", "--to", "ct2"),
        "model.zip": ("export", "translator", "model.zip", "--to", "zip"),
    }
    for name, arguments in commands.items():
        outcome = server.run(Command(arguments, memory=0, seconds=120), home)
        assert outcome.code == 0, (name, outcome)
    return Materials(home)


OFFLINE = (("HF_HUB_OFFLINE", "1"),)
"""No test asks a hub: its verbs end with the message of a network that is not there."""


def sound_commands(
    *,
    translator: str = "translator",
    writer: str = "writer",
    classifier: str = "classifier",
    source: str = "a.fr",
    target: str = "a.en",
    text: str = "a.txt",
    labelled: str = "a.tsv",
    series: str = "a.csv",
    picture: str = "pictures/light/0.png",
    foreign: str = "ct2",
    out: str = "out",
) -> dict[str, Command]:
    """A sound command of every verb, over names that a family may replace by hostile ones. `tests/hostile` checks that none is missing."""
    parallel = ("--src", source, "--tgt", target)
    sized = (*SMALL, "--set", "text.vocabulary=60")
    tables = {"escaped_output": True}
    return {
        "demo": Command(("demo", "--out", out, "--set", "data.pocket=40", *sized, "--set", "text.vocabulary=300")),
        "train": Command(("train", *parallel, "--out", out, *sized)),
        "resume": Command(("resume", translator)),
        "improve": Command(("improve", translator, "--mono-tgt", target, "--out", out, "--dry-run"), **tables),
        "translate": Command(("translate", translator, "-i", source, "--max-length", "5")),
        "generate": Command(("generate", writer, "the cat", "--max-length", "5")),
        "classify": Command(("classify", classifier, "-i", source)),
        "fill": Command(("fill", "filler", "the <mask> sleeps")),
        "caption": Command(("caption", "captioner", picture, "--max-length", "5")),
        "forecast": Command(("forecast", "forecaster", "--series", series)),
        "export": Command(("export", translator, out, "--to", "safetensors")),
        "merge": Command(("merge", "adapter", out)),
        "quantize": Command(("quantize", translator, out, "--src", source, "--ref", target, "--beam", "1"), **tables),
        "import": Command(("import", foreign, out)),
        "push": Command(("push", translator, "someone/model"), environment=OFFLINE),
        "pull": Command(("pull", "someone/model", out), environment=OFFLINE),
        "score": Command(("score", translator, *parallel)),
        "align": Command(("align", translator, *parallel)),
        "evaluate": Command(("evaluate", translator, "--src", source, "--ref", target, "--beam", "1"), **tables),
        "explain": Command(("explain", translator, "le chat dort", "--beam", "1"), **tables),
        "probe": Command(
            ("probe", translator, "--src", source, "--ref", target, "--beam", "1", "--most", "4"), **tables
        ),
        "compare": Command(("compare", translator, "--resamples", "5"), **tables),
        "sweep": Command(("sweep", *parallel, "--out", out, "--dry-run", "--set", "model.layers=1,2"), **tables),
        "ls": Command(("ls", "."), **tables),
        "info": Command(("info", translator), **tables),
        "precision": Command(("precision", translator, "--src", source, "--ref", target, "--beam", "1"), **tables),
        "shortlist": Command(("shortlist", translator, *parallel)),
        "report": Command(("report", translator), **tables),
        "init": Command(("init",), **tables),
        "data check": Command(("data", "check", *parallel), **tables),
        "data convert": Command(("data", "convert", "--from", "moses", "--to", "tsv", source, target, out)),
        "data clean": Command(("data", "clean", "--from", "moses", source, target, "--out", out), **tables),
        "data split": Command(("data", "split", "--from", "moses", source, target, out, "--valid", "1")),
        "data grammar": Command(("data", "grammar", out, "--train", "9", "--valid", "1", "--test", "1", "--each", "1")),
        "data passages": Command(("data", "passages", out, "--train", "3", "--judged", "2")),
    }


def digest_of(directory: Path) -> str:
    """A hash of the names and contents below a directory: whether something was written there."""
    total = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        total.update(str(path.relative_to(directory)).encode("utf-8", "surrogateescape"))
        total.update(path.read_bytes() if path.is_file() and not path.is_symlink() else b"")
    return total.hexdigest()
