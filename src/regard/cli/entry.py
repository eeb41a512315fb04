"""The entry point of the console script. Ctrl-C ends it silently with code 130, even while modules are being imported."""

import os

INTERRUPTED = 130

try:
    import signal
    from types import FrameType
except KeyboardInterrupt:  # the handler below is not there yet
    os._exit(INTERRUPTED)


def run() -> None:
    """Import the command line and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as below nohup
        signal.signal(signal.SIGINT, interrupt)
    from regard.cli.main import run as run_command

    run_command()


def interrupt(number: int, frame: FrameType | None) -> None:
    """End the process at once during an import, whose callbacks swallow exceptions; else raise `KeyboardInterrupt`."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


if __name__ == "__main__":
    run()
