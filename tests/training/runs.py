"""A small run to disturb: its settings, what it logged to the last bit, and processes of their own that train it, stop it or die in it."""

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch.utils._python_dispatch import TorchDispatchMode

from regard.settings import merged
from regard.tasks.fine_tuning import run_settings
from regard.tasks.run import Run, train_run
from regard.training.events import Event, Started, Step
from regard.training.run import Listener

LETTERS = "abcdefgh"
EVERYTHING = {"optimizer": "adamw", "ema": 0.9, "accumulate": 2, "schedule": "inverse_sqrt", "consistency": 1.0}


def small_settings(home: Path) -> dict[str, Any]:
    """A run of a few dozen steps, with everything on that could disturb an exact resume.

    Words of a made-up language and the same words reversed and in upper case: learnable, and never the identity.
    """
    lines = [" ".join(_word(i * 7 + j) for j in range(1 + i % 4)) for i in range(120)]
    (home / "train.xx").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (home / "train.yy").write_text("".join(f"{line[::-1].upper()}\n" for line in lines), encoding="utf-8")
    return {
        "data": {"src": str(home / "train.xx"), "tgt": str(home / "train.yy")},
        "text": {"kind": "bpe", "vocabulary": 320, "dropout": 0.2},
        "model": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 32, "dropout": 0.2},
        "train": {"max_steps": 12, "batch_tokens": 120, "validate_every": 5, "save_every": 3, "warmup": 2, "keep": 2},
    }


def _word(number: int) -> str:
    return "".join(LETTERS[(number // 8**place + place) % 8] for place in range(2 + number % 3))


def run(settings: dict[str, Any], out: Path, *listeners: Listener, **changes: Any) -> tuple[Run, list[Event]]:
    """Train here; the events are what it told."""
    events: list[Event] = []
    config = run_settings(merged(settings, {"train": changes}))
    return train_run(config, out, [events.append, *listeners]), events


def on_step(step: int, act: Callable[[], object]) -> Listener:
    """A listener that does something after a step, and before anything is validated or saved after it."""

    def listener(event: Event) -> None:
        if isinstance(event, Step) and event.step == step:
            act()

    return listener


def stop_after(step: int) -> Listener:
    """A listener that ends the run as an unforeseen error would: nothing more is saved."""

    def stop() -> None:
        raise KeyboardInterrupt

    return on_step(step, stop)


def started(settings: dict[str, Any], out: Path, **changes: Any) -> Started:
    """How the run would go on, without going on."""
    events: list[Event] = []

    def look(event: Event) -> None:
        events.append(event)
        raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        run(settings, out, look, **changes)
    assert isinstance(events[0], Started)
    return events[0]


def logged(out: Path, name: str) -> list[dict[str, Any]]:
    """The objects of an event in the log."""
    lines = (out / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["event"] == name]


def steps(out: Path) -> list[tuple[Any, ...]]:
    """The log's record of every step, in order and to the last bit; only times are left out."""
    exact = ("loss", "nll", "gradient_norm", "learning_rate", "progress")
    return [
        (step["step"], step["epoch"], step["tokens"], *(step[name].hex() for name in exact))
        for step in logged(out, "step")
    ]


def kept(out: Path) -> list[str]:
    """The names in the run's folder of checkpoints."""
    return sorted(path.name for path in (out / "checkpoints").iterdir())


def pointed(out: Path, name: str) -> str:
    """The text of a pointer of the run."""
    return (out / name).read_text(encoding="utf-8").strip()


def leftovers(home: Path) -> list[str]:
    """The files that interrupted writers left."""
    return [str(path.relative_to(home)) for path in home.rglob("*.partial-*")]


class Undisturbed:
    """The runs that others are compared with or begin as, each trained once."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.settings = small_settings(home)
        self._runs: dict[str, Path] = {}

    def run(self, **changes: Any) -> Path:
        """The run with these changes of its training, whole."""
        return self._kept(json.dumps(changes), lambda out: run(self.settings, out, **changes))

    def copy_stopped(self, out: Path, after: int, **changes: Any) -> Path:
        """A run that ended after a step without another word, as a copy to do anything with."""

        def stop(path: Path) -> None:
            with suppress(KeyboardInterrupt):
                run(self.settings, path, stop_after(after), **changes)

        shutil.copytree(self._kept(f"{after} {json.dumps(changes)}", stop), out)
        return out

    def command(self, home: Path, **changes: Any) -> list[str]:
        """The command line that trains into `home/run`."""
        (home / "settings.json").write_text(json.dumps(merged(self.settings, {"train": changes})), encoding="utf-8")
        return ["train", str(home / "settings.json"), "--out", str(home / "run")]

    def _kept(self, name: str, train: Callable[[Path], object]) -> Path:
        if name not in self._runs:
            out = self.home / str(len(self._runs))
            train(out)
            self._runs[name] = out
        return self._runs[name]


def assert_same_run(out: Path, straight: Path) -> None:
    """Every step, every tensor of every checkpoint, and what is kept are those of the uninterrupted run."""
    assert steps(out) == steps(straight)
    assert kept(out) == kept(straight)
    for pointer in ("best", "latest"):
        assert pointed(out, pointer) == pointed(straight, pointer)
    for name in kept(out):
        assert_same_tensors(out / "checkpoints" / name, straight / "checkpoints" / name)
    assert leftovers(out) == []


def assert_same_tensors(one: Path, other: Path) -> None:
    """Weights, moving average and optimiser's memory of two checkpoints are equal bit by bit."""
    for name in ("model.safetensors", "optimiser.safetensors"):
        mine, theirs = load_file(one / name), load_file(other / name)
        assert mine.keys() == theirs.keys()
        assert [key for key in mine if not torch.equal(mine[key], theirs[key])] == []


class Child:
    """A function in a forked process: as separate as a new interpreter, without the seconds that importing torch takes."""

    def __init__(self, function: Callable[[], object], stderr: Path) -> None:
        self.stderr = stderr
        self._process: BaseProcess = multiprocessing.get_context("fork").Process(target=self._body, args=(function,))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 on: torch's idle threads are not forked
            self._process.start()

    def _body(self, function: Callable[[], object]) -> None:
        os.dup2(os.open(self.stderr, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            function()
        except Exception:
            traceback.print_exc()
            raise SystemExit(1) from None

    def send(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def wait(self) -> int:
        """The exit code, or minus the signal that ended it."""
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def end(self) -> None:
        """Nobody needs it any more."""
        self._process.kill()
        self._process.join()

    def said(self) -> str:
        """The text that it wrote to standard error."""
        return self.stderr.read_text(encoding="utf-8")


def command(arguments: list[str]) -> None:
    """For a child: the command line."""
    from regard.cli.main import run as regard

    sys.argv = ["regard", *arguments]
    regard()


class Gate:
    """Where a child waits until its parent has done what it means to do at this very moment."""

    def __init__(self, home: Path) -> None:
        self._here, self._open = home / "gate-reached", home / "gate-open"

    def wait(self) -> None:
        """For the child; it waits once."""
        if not self._here.exists():
            self._here.touch()
            while not self._open.exists():
                time.sleep(0.005)

    def reached(self, child: Child) -> None:
        """For the parent: return when the child stands here."""
        while not self._here.exists():
            assert child.alive, child.said()
            time.sleep(0.005)

    def open(self) -> None:
        """For the parent: let the child go on, now and ever after."""
        self._open.touch()


def die() -> None:
    """End this process as the kernel's out-of-memory killer does: no handler runs, no buffer is written."""
    os.kill(os.getpid(), signal.SIGKILL)


FILE_CALLS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir")


def on_file_calls(home: Path, act: Callable[[str, str], None]) -> None:
    """For a child: `act(call, path)` before every such call on something in `home`, except to read it.

    Before a sync its file is opened; the writes of safetensors go unseen.
    """

    def hook(name: str, arguments: tuple[Any, ...]) -> None:
        # `foreign.regular_handle` reads without waiting; a sync opens its file without that flag
        reads = name == "open" and (
            arguments[1] in ("r", "rb") or (arguments[1] is None and arguments[2] & os.O_NONBLOCK)
        )
        if name in FILE_CALLS and not reads and isinstance(arguments[0], str | Path):
            path = str(arguments[1] if name == "os.rename" else arguments[0])
            if path.startswith(str(home)) or not Path(path).is_absolute():  # relative: inside of what is being deleted
                act(name, path)

    sys.addaudithook(hook)


class TokenIds(TorchDispatchMode):
    """Writes down a digest of all token ids that each step of training looks up: which sentences, in which order, cut how."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._digest = hashlib.sha256()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if function is torch.ops.aten.embedding.default and torch.is_grad_enabled():
            self._digest.update(args[1].numpy().tobytes())
        return function(*args, **(kwargs or {}))

    def __call__(self, event: Event) -> None:
        if isinstance(event, Step):
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{event.step} {self._digest.hexdigest()}\n")
            self._digest = hashlib.sha256()


def looked_up(paths: Iterable[Path]) -> dict[str, set[str]]:
    """Step -> the digests that were written down for it."""
    found: dict[str, set[str]] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            step, digest = line.split()
            found.setdefault(step, set()).add(digest)
    return found
