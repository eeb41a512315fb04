"""The entry point of the console script: what must hold before anything is imported and after everything is done.

Ctrl-C ends the command silently with code 130 at any moment. A failure to import is one line. What Python itself does before
this file runs, some hundredths of a second, is not ours: there Ctrl-C prints Python's own traceback.
"""

import os

FAILED, INTERRUPTED = 1, 130

try:
    import atexit
    import signal
    import sys
    from types import FrameType
except KeyboardInterrupt:  # the handler below is not there yet
    os._exit(INTERRUPTED)

TYPE_CHECKING = False  # without `typing`: nothing is imported before the handler is there
if TYPE_CHECKING:
    from collections.abc import Callable


def run() -> None:
    """Import the command line and run it."""
    ours = False
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as below nohup
            signal.signal(signal.SIGINT, interrupt)
            ours = True
            # Registered first, so called last: Python then restores the default action, by which Ctrl-C would still kill a done command.
            atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
        _imported()()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    finally:
        if ours:  # the interpreter is about to end, and would print a traceback
            signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))


def _imported() -> "Callable[[], None]":
    """The command line. If it cannot be imported, for want of memory, files or a package, the process ends with one line."""
    try:
        from regard.cli.failures import report_unraisable
        from regard.cli.main import run as run_command
    except Exception as error:
        if "--debug" in sys.argv or sys.stderr is None:
            raise
        reason = f"{type(error).__name__}: {str(error)[:500]}"
        os.write(2, f"regard: cannot start: {ascii(reason)[1:-1]}; --debug shows the traceback\n".encode())
        os._exit(FAILED)
    sys.unraisablehook = report_unraisable
    return run_command


def interrupt(number: int, frame: FrameType | None) -> None:
    """End the process at once during an import, whose callbacks swallow exceptions; else raise `KeyboardInterrupt`."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


if __name__ == "__main__":
    run()
