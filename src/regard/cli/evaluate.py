"""`regard evaluate`: the scores of a model on a test set, by its task; or of translations in files, without a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.align import Method
from regard.cli.compare import MOST_RESAMPLES
from regard.cli.direction_flags import From, To

if TYPE_CHECKING:
    from regard.tasks.interface import Task
    from regard.training.objective import Evaluation

HIDDEN = ("set", "decoding_seconds", "engine", "texts", "pictures")  # metrics of a run, not of a test set
BEAM, ALPHA, DEVICE, ENGINE, PRECISION = 5, 1.0, "cpu", "auto", "float32"


def evaluate(
    bundle: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="A run or a bundle.")] = None,
    src: Annotated[str | None, typer.Option(help="Source sentences.")] = None,
    ref: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Reference translations, line by line; repeat it for several references."),
    ] = None,
    hyp: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Translations of any system, line by line, in place of DIR; repeat it to test others against the first.",
        ),
    ] = None,
    to: To = None,
    from_: From = None,
    text: Annotated[str | None, typer.Option(help="For a language model: the text to predict.")] = None,
    data: Annotated[
        str | None, typer.Option(help="For a classifier: lines of text, tab, label; or of token, tab, label.")
    ] = None,
    images: Annotated[
        str | None,
        typer.Option(help="For a classifier of pictures: a folder with a folder for each class, .npz, idx, or .tsv."),
    ] = None,
    captions: Annotated[
        str | None,
        typer.Option(
            help="For a captioner: lines of picture, tab, caption (.tsv), or .jsonl; --images is their folder."
        ),
    ] = None,
    series: Annotated[
        str | None,
        typer.Option(help="For a forecaster: series in a CSV file; values after those of training are scored."),
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Of --series: sort times, drop duplicates and fill gaps.")
    ] = False,
    baseline: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Of --series: last, seasonal, ets or arima; may be repeated. Else all."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCORE",
            help="Only this score of translations, such as bleu, chrf, ter or exact_match; may be repeated. "
            "wer is the share of wrong lines; per counts edits.",
        ),
    ] = None,
    resamples: Annotated[
        int,
        typer.Option(
            min=0,
            max=MOST_RESAMPLES,
            help="Test sets drawn by the bootstrap for the 95 % intervals; 0: no intervals.",
        ),
    ] = 1000,
    beam: Annotated[int, typer.Option(help="Hypotheses kept at each step; 1 is greedy.")] = BEAM,
    alpha: Annotated[float, typer.Option(help="Scores are divided by length^alpha.")] = ALPHA,
    tokenize: Annotated[str, typer.Option(help="How BLEU cuts words: 13a, none, intl, char, zh, ..")] = "13a",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Compare without case.")] = False,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The group of each sentence of --src, line by line, or as third column of a .tsv: adds their scores.",
        ),
    ] = None,
    max_length: Annotated[
        int | None, typer.Option(min=1, help="Longest translation in tokens; by default by the length of its source.")
    ] = None,
    gold_align: Annotated[
        str | None, typer.Option(help="Gold alignments (Pharaoh) of src and ref: adds the error rate.")
    ] = None,
    align_method: Method = None,
    output: Annotated[str | None, typer.Option("-o", "--output", help="Keep the translations here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = DEVICE,
    engine: Annotated[str, typer.Option(help="auto, torch, or ct2: CTranslate2, faster on a CPU.")] = ENGINE,
    precision: Annotated[str, typer.Option(help="CTranslate2's weights: float32, bfloat16, int8 or auto.")] = PRECISION,
) -> None:
    """Print what a model, or a file of translations, is worth on a test set.

    A translator's BLEU, chrF, TER, exact match, length and perplexity; the perplexities of a text; how well labels are told; or the errors
    of forecasts from every origin, beside baselines.
    With --hyp F --ref F: the scores of translations that stand in files.
    """
    from regard.cli.systems import refuse_repeated
    from regard.errors import ConfigError
    from regard.metrics.translation import TOKENIZERS

    flags: dict[str, Any] = {
        "src": src,
        "ref": ref[0] if ref else None,
        "refs": ref or [],
        "to": to,
        "from": from_,
        "text": text,
        "data": data,
        "images": images,
        "captions": captions,
        "series": series,
        "repair": repair,
        "baselines": baseline or [],
        "beam": beam,
        "alpha": alpha,
        "tokenize": tokenize,
        "lowercase": lowercase,
        "metric": metric or [],
        "resamples": resamples,
        "gold_align": gold_align,
        "groups": groups,
        "max_length": max_length,
    }
    if tokenize not in TOKENIZERS:
        raise ConfigError(f"--tokenize {tokenize}: not one of {', '.join(TOKENIZERS)}")
    refuse_repeated("--ref", flags["refs"])
    loading = {"device": device, "engine": engine, "precision": precision}
    if hyp:
        _refuse_model_flags(bundle, {**flags, **loading, "align_method": align_method, "output": output})
        _evaluate_files(hyp, flags, as_json)
    elif bundle is not None:
        _evaluate_model(bundle, flags, loading, align_method, output, as_json)
    else:
        raise ConfigError("give DIR, a run or a bundle; or --hyp F --ref F for translations of any system")


def _evaluate_files(hyps: list[str], flags: dict[str, Any], as_json: bool) -> None:
    from regard.cli.streams import open_output
    from regard.cli.systems import score_files, to_record, to_text
    from regard.errors import ConfigError
    from regard.files import to_json_line

    if not flags["refs"]:
        raise ConfigError("--hyp: give its reference translations too, as --ref F")
    options = {name: flags[name] for name in ("tokenize", "lowercase", "resamples")}
    scored = score_files(hyps, flags["refs"], flags["metric"], **options)
    with open_output(None) as stream:
        stream.write(to_json_line(to_record(scored)) if as_json else to_text(scored))


def _refuse_model_flags(bundle: Path | None, given: dict[str, Any]) -> None:
    """Refuse what only a model needs beside --hyp."""
    from regard.errors import ConfigError

    if bundle is not None:
        raise ConfigError(f"{bundle}: no model is needed to score --hyp; leave out one of the two")
    defaults = {
        "beam": BEAM,
        "alpha": ALPHA,
        "device": DEVICE,
        "engine": ENGINE,
        "precision": PRECISION,
        "repair": False,
    }
    for name in (
        "src",
        "to",
        "from",
        "text",
        "data",
        "images",
        "captions",
        "series",
        "repair",
        "gold_align",
        "groups",
        "max_length",
        "align_method",
        "output",
        *defaults,
    ):
        if given[name] != defaults.get(name):
            option = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{option} {given[name]}: --hyp is scored without a model; leave it out, or give DIR")


def _evaluate_model(
    path: Path,
    flags: dict[str, Any],
    loading: dict[str, str],
    align_method: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    from regard.bundle.locate import find_bundle
    from regard.cli.align import read_method
    from regard.cli.streams import open_output, refuse_own_input
    from regard.errors import ConfigError
    from regard.files import to_json_line
    from regard.metrics.scores import METRICS
    from regard.tasks.bundles import open_to_load
    from regard.tasks.evaluation_files import check_files
    from regard.tasks.load import loaded
    from regard.tasks.table import TASKS

    opened = open_to_load(find_bundle(path))
    check_files(opened, flags)
    if align_method is not None and flags["gold_align"] is None:
        raise ConfigError(
            f"--align-method {align_method}: it is judged by gold alignments; give --gold-align F, or leave it out"
        )
    inputs = [flags[name] for name in ("src", "text", "data", "images", "captions", "series", "gold_align", "groups")]
    refuse_own_input(output, *inputs, *flags["refs"])
    flags["alignment"] = read_method(align_method, "--align-method")
    task = TASKS[opened.config.task]
    if output is not None and task.results.columns is None:
        raise ConfigError(f"-o: a model to {task.name} gives no output a line to keep; leave it out")
    if flags["metric"] and METRICS[task.scores[0]].judges != "translations":
        raise ConfigError(
            f"--metric {flags['metric'][0]}: chooses scores of translations, not of a model to {task.name}"
        )
    if task.name != "translate" and (language := flags["to"] or flags["from"]) is not None:
        option = "--from" if flags["to"] is None else "--to"
        raise ConfigError(f"{option} {language}: {path} is a model to {task.name}; leave it out")
    if task.name != "translate" and flags["max_length"] is not None:
        raise ConfigError(
            f"--max-length {flags['max_length']}: {path} is a model to {task.name}, not to translate; leave it out"
        )
    served = loaded(opened, *loading.values())
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


def _report_empty_lines(flags: dict[str, Any], test: Any) -> None:
    """Report how many lines of a parallel test set are empty. They are evaluated as they are."""
    from regard.cli.systems import report_empty_lines, report_fewer_references

    if flags["src"] is None or flags["ref"] is None or not hasattr(test, "references"):
        return
    report_empty_lines(flags["src"], test.sources)
    report_fewer_references(flags["refs"], [test.references, *getattr(test, "more_references", ())])
