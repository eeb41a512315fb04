"""The `regard` command. A user's mistake is one line on stderr and exit code 2, never a traceback."""

import sys
import threading
import warnings
from typing import Any

import typer

from regard.cli import (
    align,
    caption,
    classify,
    compare,
    data,
    demo,
    evaluate,
    explain,
    export,
    fill,
    forecast,
    generate,
    hub,
    import_model,
    improve,
    info,
    init,
    ls,
    merge,
    precision,
    probe,
    quantize,
    report,
    resume,
    score,
    serve,
    shortlist,
    studio,
    sweep,
    train,
    translate,
)
from regard.cli.debug_flag import set_debugging
from regard.cli.display import shown_activities
from regard.cli.extension_flag import with_extensions
from regard.cli.failures import (
    FAILED,
    USER_MISTAKE,
    end_output,
    flush_output,
    report_failure,
    report_thread_failure,
    report_warning,
)
from regard.cli.streams import print_status, replace_closed_streams
from regard.cli.verbs import VerbApp
from regard.errors import shown

app = VerbApp(
    name="regard",
    help="Train a translator from your own data on your own machine, decode it fast, and see where it looks.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(with_extensions(demo.demo))
app.command("train")(with_extensions(train.train))
app.command("resume")(with_extensions(resume.resume))
app.command("improve")(with_extensions(improve.improve))
app.command("studio")(with_extensions(studio.studio))
app.command("translate")(with_extensions(translate.translate))
app.command("generate")(with_extensions(generate.generate))
app.command("classify")(with_extensions(classify.classify))
app.command("caption")(with_extensions(caption.caption))
app.command("forecast")(with_extensions(forecast.forecast))
app.command("fill")(with_extensions(fill.fill))
app.command("score")(with_extensions(score.score))
app.command("align")(with_extensions(align.align))
app.command("evaluate")(with_extensions(evaluate.evaluate))
app.command("explain")(with_extensions(explain.explain))
app.command("probe")(with_extensions(probe.probe))
app.command("compare")(with_extensions(compare.compare))
app.command("sweep")(with_extensions(sweep.sweep))
app.command("ls")(with_extensions(ls.ls))
app.command("info")(with_extensions(info.info))
app.command("shortlist")(with_extensions(shortlist.shortlist))
app.command("precision")(with_extensions(precision.precision))
app.command("quantize")(with_extensions(quantize.quantize))
app.command("merge")(with_extensions(merge.merge))
app.command("export")(with_extensions(export.export))
app.command("import")(with_extensions(import_model.import_model))
app.command("push")(with_extensions(hub.push))
app.command("pull")(with_extensions(hub.pull))
app.command("serve")(with_extensions(serve.serve))
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
    replace_closed_streams()
    set_debugging(False)
    warnings.showwarning = report_warning
    threading.excepthook = report_thread_failure
    try:
        with shown_activities():
            code = app.of_verb(sys.argv[1] if len(sys.argv) > 1 else "")(standalone_mode=False)
        flush_output()
    except SystemExit as stop:
        code = stop.code
        if isinstance(code, str):  # `sys.exit("needs scipy")` of an extension
            print_status(f"regard: {shown(code)}")
            code = FAILED
    except BaseException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print_status(*error.format_message().splitlines())  # type: ignore[attr-defined]
            code = USER_MISTAKE
        else:
            code = report_failure(error, _command_path())
    end_output()
    sys.exit(code if isinstance(code, int) else 0)


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
