"""The `regard` command. A user's mistake is one line on stderr and exit code 2, never a traceback."""

import sys
import threading
import warnings
from typing import Any

import typer
from pydantic import ValidationError

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
    ls,
    report,
    resume,
    score,
    sweep,
    train,
    translate,
)
from regard.cli.display import shown_activities
from regard.cli.extension_flag import with_extensions
from regard.cli.streams import print_status
from regard.cli.verbs import VerbApp
from regard.errors import RegardError

USER_MISTAKE, INTERRUPTED = 2, 130

app = VerbApp(
    name="regard",
    help="Train a translator from your own data on your own machine, decode it fast, and see where it looks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(with_extensions(demo.demo))
app.command("train")(with_extensions(train.train))
app.command("resume")(with_extensions(resume.resume))
app.command("translate")(with_extensions(translate.translate))
app.command("generate")(with_extensions(generate.generate))
app.command("classify")(with_extensions(classify.classify))
app.command("score")(with_extensions(score.score))
app.command("align")(with_extensions(align.align))
app.command("evaluate")(with_extensions(evaluate.evaluate))
app.command("explain")(with_extensions(explain.explain))
app.command("compare")(with_extensions(compare.compare))
app.command("sweep")(with_extensions(sweep.sweep))
app.command("ls")(with_extensions(ls.ls))
app.command("info")(with_extensions(info.info))
app.command("report")(with_extensions(report.report))
app.command("init")(with_extensions(init.init))
app.add_typer(data.app, name="data")


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"regard {installed('regard')}")
        raise typer.Exit()


def run() -> None:
    """The entry point of the console script."""
    warnings.showwarning = _one_line_warning
    threading.excepthook = _thread_excepthook
    try:
        with shown_activities():
            code = app(standalone_mode=False)
        sys.stdout.flush()
    except RegardError as error:
        code = _print_error(str(error))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        if not hasattr(error, "format_message"):  # typer's usage errors have one
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message(), file=sys.stderr)  # noqa: T201
            sys.exit(USER_MISTAKE)
        code = _print_error(
            f"{_usage_message(error)} ({' '.join(['regard', *_command_path()])} --help shows what is possible)"
        )
    sys.exit(code if isinstance(code, int) else 0)


def _usage_message(error: Any) -> str:
    """Typer's complaint about the command line, as `--minutes abc: ..` where it refuses a value."""
    cause = error.__cause__
    if not isinstance(cause, ValidationError):
        return str(error.format_message())
    first = cause.errors()[0]
    value = str(first["input"])
    shown = value if value.isprintable() else repr(value)
    complaint = first["msg"].partition(", unable to parse")[0]
    return f"{'/'.join(error.param.opts)} {shown}: {complaint[:1].lower()}{complaint[1:]}"


def _print_error(message: str) -> int:
    print(f"regard: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    return USER_MISTAKE


def _one_line_warning(message: Warning | str, *where: object, **_: object) -> None:
    print_status(f"regard: warning: {message}")


def _thread_excepthook(failure: threading.ExceptHookArgs) -> None:
    """Ignore disk errors of TensorBoard's writer thread: the main thread raises and reports them too."""
    is_writer = type(failure.thread).__module__.startswith("tensorboard")
    if not (is_writer and issubclass(failure.exc_type, OSError)):
        threading.__excepthook__(failure)


def _command_path() -> list[str]:
    """The command names in the arguments, such as `["data", "check"]`."""
    names: list[str] = []
    command: Any = typer.main.get_command(app)
    for word in sys.argv[1:]:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            break
        names.append(word)
    return names


if __name__ == "__main__":
    run()
