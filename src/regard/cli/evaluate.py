"""`regard evaluate`: the scores of a model on a test set, by its task."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.align import Method

if TYPE_CHECKING:
    from regard.bundle.opened import OpenBundle
    from regard.tasks.interface import Task
    from regard.training.objective import Evaluation

HIDDEN = ("set", "decoding_seconds", "texts")  # metrics of a run, not of a test set


def evaluate(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    src: Annotated[str | None, typer.Option(help="Source sentences.")] = None,
    ref: Annotated[str | None, typer.Option(help="Reference translations, line by line.")] = None,
    text: Annotated[str | None, typer.Option(help="For a language model: the text to predict.")] = None,
    data: Annotated[
        str | None, typer.Option(help="For a classifier: lines of text, tab, label; or of token, tab, label.")
    ] = None,
    beam: Annotated[int, typer.Option(help="Hypotheses kept at each step; 1 is greedy.")] = 5,
    alpha: Annotated[float, typer.Option(help="Scores are divided by length^alpha.")] = 1.0,
    tokenize: Annotated[str, typer.Option(help="How BLEU cuts words: 13a, none, intl, char, zh, ..")] = "13a",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Compare without case.")] = False,
    gold_align: Annotated[
        str | None, typer.Option(help="Gold alignments (Pharaoh) of src and ref: adds the error rate.")
    ] = None,
    align_method: Method = None,
    output: Annotated[str | None, typer.Option("-o", "--output", help="Keep the translations here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
    engine: Annotated[str, typer.Option(help="auto, torch, or ct2: CTranslate2, faster on a CPU.")] = "auto",
    precision: Annotated[str, typer.Option(help="Of CTranslate2's weights: float32 or int8.")] = "float32",
) -> None:
    """Print what a model is worth on a test set.

    A translator's BLEU, chrF, TER, exact match, length and perplexity; the perplexities of a text; or how well labels are told.
    """
    from regard.cli.align import read_method
    from regard.cli.streams import open_output, refuse_own_input
    from regard.errors import ConfigError
    from regard.files import to_json_line
    from regard.tasks.table import TASKS

    flags: dict[str, Any] = {
        "src": src,
        "ref": ref,
        "text": text,
        "data": data,
        "beam": beam,
        "alpha": alpha,
        "tokenize": tokenize,
        "lowercase": lowercase,
        "gold_align": gold_align,
    }
    opened = _bundle(bundle, flags)
    refuse_own_input(output, src, ref, text, data, gold_align)
    flags["alignment"] = read_method(align_method, "--align-method")
    task = TASKS[opened.config.task]
    if output is not None and task.results.columns is None:
        raise ConfigError(f"-o: a model to {task.name} gives no output a line to keep; leave it out")
    served = task.load(opened, device, engine, precision)
    test = task.test_set(served, flags)
    _report_empty_lines(flags, test)
    evaluation = task.evaluate(served, test)
    hidden = {*HIDDEN, *(name for name, value in evaluation.metrics.items() if value is None)}
    metrics = {name: value for name, value in evaluation.metrics.items() if name not in hidden}
    if output is not None:
        hypotheses = _hypotheses(task, evaluation)
        with open_output(output) as stream:
            stream.writelines(f"{hypothesis}\n" for hypothesis in hypotheses)
    with open_output(None) as stream:
        stream.write(to_json_line(metrics) if as_json else task.shown(metrics))


def _hypotheses(task: "Task", evaluation: "Evaluation") -> list[str]:
    """One line for each hypothesis of a task whose results can be compared line by line."""
    assert task.results.columns is not None, "refused before"
    key = task.results.columns[2]
    values = [row[key] for row in evaluation.rows]
    return ["\t".join(value) if isinstance(value, list) else str(value) for value in values]


def _bundle(path: Path, flags: dict[str, Any]) -> "OpenBundle":
    """The bundle. Its task must match the flags that name data."""
    from regard.bundle.locate import find_bundle
    from regard.errors import ConfigError
    from regard.tasks.bundles import open_bundle
    from regard.tasks.load import wrong_task

    given = {name for name in ("src", "ref", "text", "data") if flags[name] is not None}
    wanted = {"src": "translate", "ref": "translate", "text": "generate", "data": "classify"}
    tasks = {wanted[name] for name in given}
    bundle = open_bundle(find_bundle(path))
    if bundle.config.task not in wanted.values():  # a task of an extension checks its own flags
        return bundle
    if len(tasks) != 1 or given == {"src"} or given == {"ref"}:
        raise ConfigError(
            "give --src F --ref F for a translator, --text F for a language model, or --data F for a classifier"
        )
    [task] = tasks
    if bundle.config.task != task:
        raise wrong_task(bundle, task)
    return bundle


def _report_empty_lines(flags: dict[str, Any], test: Any) -> None:
    """Report how many lines of a parallel test set are empty. They are evaluated as they are."""
    from regard.cli.streams import print_status

    if flags["src"] is None or flags["ref"] is None or not hasattr(test, "references"):
        return
    for side, lines in ((flags["src"], test.sources), (flags["ref"], test.references)):
        if empty := sum(not line.strip() for line in lines):
            print_status(f"{side}: {empty:,} of {len(lines):,} lines are empty, and judged as they are")
