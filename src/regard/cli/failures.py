"""The last line of defence: whatever ends a command becomes one line on stderr and an exit code. `--debug` adds the traceback.

| exception | exit code |
| --- | --- |
| `RegardError`, a wrong command line, a missing extra, a file or stream that fails | 2 |
| out of memory, a bug | 1 |
| Ctrl-C | 130 |
"""

import os
import sys
import threading
import traceback
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from regard.cli.debug_flag import HINT, debugging
from regard.cli.streams import print_status, silence_output
from regard.errors import RegardError, is_out_of_memory, shown
from regard.extras import missing, missing_module

FAILED, USER_MISTAKE, INTERRUPTED = 1, 2, 130

_LAST_WORDS = b"regard: out of memory; use a smaller model, batch or beam\n"


def report_failure(error: BaseException, command_path: list[str]) -> int:
    """Print one line for the exception that ended a command; returns the exit code. command_path: such as `["data", "check"]`."""
    try:
        if debugging():
            print_status(*"".join(traceback.format_exception(error)).splitlines())
        else:
            _free_frames(error)
        if isinstance(error, KeyboardInterrupt):
            return INTERRUPTED
        message, code = _described(error, command_path)
        print_status(f"regard: {message}")
        return code
    except MemoryError:
        os.write(2, _LAST_WORDS)
        return FAILED


def _free_frames(error: BaseException) -> None:
    """Release what the functions of the traceback hold: after a `MemoryError` the message needs some memory."""
    chained: BaseException | None = error
    while chained is not None:
        chained.__traceback__ = None
        chained = chained.__context__


def _described(error: BaseException, command_path: list[str]) -> tuple[str, int]:
    """The message and the exit code of an exception."""
    if isinstance(error, RegardError):
        return str(error), USER_MISTAKE
    if (module := missing_module(error)) is not None:
        return str(missing(" ".join(["regard", *command_path]), module)), USER_MISTAKE
    if hasattr(error, "format_message"):  # typer's complaint about the command line
        help_text = f"({' '.join(['regard', *command_path])} --help shows what is possible)"
        return f"{_usage_message(error)}{_hint(error, command_path)} {help_text}", USER_MISTAKE
    if is_out_of_memory(error):
        fix = "use a smaller model, batch or beam, or a machine with more memory"
        return f"out of memory{_in_brackets(error)}; {fix}; {HINT}", FAILED
    if isinstance(error, RecursionError):
        return f"something in the input is nested too deep{_in_brackets(error)}; {HINT}", FAILED
    if isinstance(error, OSError):
        where = f"{shown(error.filename)}: " if error.filename is not None else ""
        return f"{where}{error.strerror or error}; check the file, the disk and the permissions; {HINT}", USER_MISTAKE
    return f"internal error: {type(error).__name__}{_in_brackets(error)}; this is a bug in regard; {HINT}", FAILED


def _in_brackets(error: BaseException) -> str:
    """The first line of an exception's own message."""
    lines = str(error).strip().splitlines()
    return f" ({shown(lines[0])})" if lines else ""


def _usage_message(error: Any) -> str:
    """Typer's complaint about the command line, as `--minutes abc: ..` where it refuses a value."""
    cause = error.__cause__
    if not isinstance(cause, ValidationError):
        return " ".join(str(error.format_message()).split())
    first = cause.errors()[0]
    complaint = first["msg"].partition(", unable to parse")[0]
    return f"{'/'.join(error.param.opts)} {shown(first['input'])}: {complaint[:1].lower()}{complaint[1:]}"


def _hint(error: Any, command_path: list[str]) -> str:
    """How to give a text to a verb that takes it from standard input, if it was given as an argument."""
    if command_path not in (["translate"], ["classify"]) or "extra argument" not in str(error.format_message()):
        return ""
    verb = f"regard {command_path[0]} DIR"
    return f'; the text is piped, echo "TEXT" | {verb}, or read from a file, {verb} -i FILE'


def flush_output() -> None:
    """Write out what stdout still holds. The interpreter would do it at its end, and print a traceback if it cannot."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


def end_output() -> None:
    """Give up what stdout still holds if it cannot be written: the failure has been reported."""
    try:
        flush_output()
    except OSError:
        silence_output()


def report_thread_failure(failure: threading.ExceptHookArgs) -> None:
    """One line for an exception that ends a thread; none for a disk error of TensorBoard's writer, which the main thread reports."""
    is_writer = type(failure.thread).__module__.startswith("tensorboard")
    if is_writer and issubclass(failure.exc_type, OSError):
        return
    if debugging():
        threading.__excepthook__(failure)
    else:
        print_status(f"regard: warning: a thread failed: {failure.exc_type.__name__}: {failure.exc_value}; {HINT}")


def report_unraisable(failure: "sys.UnraisableHookArgs") -> None:
    """One line for an exception that nothing can catch, such as in a destructor; none for a file that cannot be closed."""
    if debugging():
        sys.__unraisablehook__(failure)
    elif not issubclass(failure.exc_type, OSError):
        with suppress(Exception):
            name = failure.exc_type.__name__
            print_status(f"regard: warning: ignored: {name}: {failure.exc_value or failure.err_msg or ''}; {HINT}")


def report_warning(message: Warning | str, *_: object, **__: object) -> None:
    """One line for a warning."""
    print_status(f"regard: warning: {message}")
