"""The `regard` command: its verbs, and what a user sees when something is wrong: one line and exit code 2, never a traceback."""

import sys
import threading
import warnings
from typing import Any

import typer

from regard.cli import (
    align,
    classify,
    compare,
    data,
    demo,
    evaluate,
    explain,
    generate,
    info,
    init,
    report,
    score,
    sweep,
    train,
    translate,
)
from regard.errors import RegardError

USER_MISTAKE, INTERRUPTED = 2, 130

app = typer.Typer(
    name="regard",
    help="Train a translator from your own data on your own machine, decode it fast, and see where it looks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("train")(train.train)
app.command("translate")(translate.translate)
app.command("generate")(generate.generate)
app.command("classify")(classify.classify)
app.command("score")(score.score)
app.command("align")(align.align)
app.command("evaluate")(evaluate.evaluate)
app.command("explain")(explain.explain)
app.command("compare")(compare.compare)
app.command("sweep")(sweep.sweep)
app.command("info")(info.info)
app.command("report")(report.report)
app.command("init")(init.init)
app.add_typer(data.app, name="data")


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"regard {installed('regard')}")
        raise typer.Exit()


def run() -> None:
    """The console script."""
    warnings.showwarning = _one_line_warning
    threading.excepthook = _refused_in_a_thread
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except RegardError as error:
        code = _complain(str(error))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        if not hasattr(error, "format_message"):  # typer's own complaints about a command have one
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message(), file=sys.stderr)  # noqa: T201
            sys.exit(USER_MISTAKE)
        code = _complain(f"{error.format_message()} ({' '.join(['regard', *_verbs()])} --help shows what is possible)")
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str) -> int:
    print(f"regard: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    return USER_MISTAKE


def _one_line_warning(message: Warning | str, *where: object, **_: object) -> None:
    print(f"regard: warning: {message}", file=sys.stderr)  # noqa: T201


def _refused_in_a_thread(failure: threading.ExceptHookArgs) -> None:
    """What the disk refuses TensorBoard's writing thread is raised in the main one too, and told there."""
    writing = type(failure.thread).__module__.startswith("tensorboard")
    if not (writing and issubclass(failure.exc_type, OSError)):
        threading.__excepthook__(failure)


def _verbs() -> list[str]:
    """What was asked for: none, one, or a group and one of its own."""
    verbs: list[str] = []
    command: Any = typer.main.get_command(app)
    for word in sys.argv[1:]:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            break
        verbs.append(word)
    return verbs


if __name__ == "__main__":
    run()
