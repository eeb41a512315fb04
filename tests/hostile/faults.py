"""Faults that a command meets while it runs. `Command.fault` names one; it is called in the child before the command starts."""

import importlib
import os
import shutil
from typing import Any


def signal_in(target: str, number: str, calls: str = "1") -> None:
    """Send this process a signal when `module:name` or `module:Class.name` is called for the `calls`-th time."""
    _before(target, int(calls), lambda: os.kill(os.getpid(), int(number)))


def raise_in(target: str, error: str, message: str = "out of luck") -> None:
    """Raise a builtin exception, such as MemoryError, when `module:name` is called."""

    def fail() -> None:
        raise getattr(importlib.import_module("builtins"), error)(message)

    _before(target, 1, fail)


def remove_in(target: str, path: str) -> None:
    """Remove a directory when `module:name` is called."""
    _before(target, 1, lambda: shutil.rmtree(path))


def _before(target: str, calls: int, act: Any) -> None:
    """Replace a function by one that acts first, at its `calls`-th call."""
    module, _, path = target.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for part in owners:
        owner = getattr(owner, part)
    original = getattr(owner, name)
    count = 0

    def replaced(*given: Any, **named: Any) -> Any:
        nonlocal count
        count += 1
        if count == calls:
            act()
        return original(*given, **named)

    setattr(owner, name, replaced)


def append_in(target: str, path: str, line: str) -> None:
    """Add a line to a file when `module:name` is called: the file changes while it is read."""

    def append() -> None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    _before(target, 1, append)
