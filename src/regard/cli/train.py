"""`regard train`: trains a model into a run directory. The same command again resumes it."""

from pathlib import Path
from typing import Annotated, Any

import typer


def train(
    config: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG.toml]", help="Settings; `regard init` prints all.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run directory; give it again to resume.")] = None,
    task: Annotated[
        str | None, typer.Option(help="What the model is for: translate (the default), generate or classify.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="To generate: the text to learn from (.gz too).")] = None,
    valid_text: Annotated[str | None, typer.Option(help="Validation text; without it the last tenth.")] = None,
    data: Annotated[str | None, typer.Option(help="To classify: lines of text, tab, label (.tsv, .gz too).")] = None,
    labels_of: Annotated[
        str | None,
        typer.Option(help="What has a label: text, or token (token, tab, label; blank lines between texts)."),
    ] = None,
    valid_data: Annotated[str | None, typer.Option(help="Validation lines; without them a tenth.")] = None,
    test_data: Annotated[str | None, typer.Option(help="Lines that the classifier is judged by in the end.")] = None,
    test_text: Annotated[str | None, typer.Option(help="Text that the model is judged by in the end.")] = None,
    src: Annotated[str | None, typer.Option(help="Source text, one sentence a line (.gz too).")] = None,
    tgt: Annotated[str | None, typer.Option(help="Target text, line by line its translation.")] = None,
    pairs: Annotated[
        str | None, typer.Option(help="Both in one file: .tsv, .jsonl, .tmx, or - for TSV on stdin.")
    ] = None,
    valid_src: Annotated[str | None, typer.Option(help="Validation source; without it 1 % is held out.")] = None,
    valid_tgt: Annotated[str | None, typer.Option(help="Validation target.")] = None,
    valid_pairs: Annotated[str | None, typer.Option(help="Validation pairs in one file.")] = None,
    test_src: Annotated[str | None, typer.Option(help="Test source, translated when training ends.")] = None,
    test_tgt: Annotated[str | None, typer.Option(help="Test target.")] = None,
    src_lang: Annotated[str | None, typer.Option(help="Source language; else the file's suffix.")] = None,
    tgt_lang: Annotated[str | None, typer.Option(help="Target language; else the file's suffix.")] = None,
    start: Annotated[
        str | None, typer.Option(metavar="DIR", help="A run or bundle to train further on this data (fine-tuning).")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Size of the model: tiny, tiny-deep, small or base.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Stop after so many minutes of training.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = None,
    recipe: Annotated[str | None, typer.Option(help="Start from named settings: 2017.")] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting, e.g. model.layers=6.")
    ] = None,
) -> None:
    """Train a translator, or with --task a language model or a classifier. Without data a translator trains on the pocket corpus."""
    from regard.errors import ConfigError

    if out is None or out == Path():  # an empty path is the current directory
        raise ConfigError(
            "--out DIR is missing, or is the current directory: where should the run be kept? For example --out runs/first"
        )
    flags: dict[str, dict[str, Any]] = {
        "data": {
            "text": text,
            "valid_text": valid_text,
            "test_text": test_text,
            "labelled": data,
            "valid_labelled": valid_data,
            "test_labelled": test_data,
            "labels_of": labels_of,
            "src": src,
            "tgt": tgt,
            "pairs": pairs,
            "valid_src": valid_src,
            "valid_tgt": valid_tgt,
            "valid_pairs": valid_pairs,
            "test_src": test_src,
            "test_tgt": test_tgt,
            "src_lang": src_lang,
            "tgt_lang": tgt_lang,
        },
        "model": {"preset": preset},
        "train": {"start": start, "minutes": minutes, "device": device},
    }
    if task is not None:
        sets = [f"task={task}", *(sets or [])]
    values = merge_settings(config, recipe, flags, sets or [])
    given = sets or any(value is not None for table in flags.values() for value in table.values())
    changed = ", as the options change it" if given else ""
    train_with_progress(values, out, "settings" if config is None else f"{config}{changed}")


def train_with_progress(values: dict[str, Any], out: Path, where: str = "settings") -> None:
    """Train with a progress bar and a summary on stderr. An interrupt exits the command."""
    from regard.cli.progress import TrainingProgress
    from regard.cli.streams import print_status
    from regard.data.config import PairData
    from regard.tasks.fine_tuning import run_settings

    config = run_settings(values, where)
    print_status("loading torch ..")
    from regard.api import train as train_run

    data = getattr(config, "data", None)
    if isinstance(data, PairData) and data.src is None and data.pairs is None:
        print_status("no data given: training on the pocket corpus, French to English")
    with TrainingProgress() as progress:
        run = train_run(config, out, progress)
    if run.signal is not None:
        print_status(f"interrupted; everything is saved in {out}: run the same command again to go on")
        raise typer.Exit(128 + run.signal)  # the exit code of a shell for a signal
    assert run.metrics is not None
    if run.reason == "finished":
        print_status(f"{out}: this run is finished; choose another --out for a new one")
    print_status(metrics_summary(run.metrics))
    for note in run.metrics.get("notes", ()):
        print_status(f"note: {note}")
    print_status(f"report: {out / 'report.html'}")


def metrics_summary(metrics: dict[str, Any]) -> str:
    """The final metrics in one line."""
    from regard.cli.progress import shown_scores
    from regard.tasks.table import TASKS

    sizes = {"evaluated_tokens": "tokens", **dict([TASKS[str(metrics.get("task", "translate"))].results.size])}
    size = next(f"{metrics[key]:,} {unit}" for key, unit in sizes.items() if key in metrics)
    size += f", beam {metrics['beam']}" if "beam" in metrics else ""
    return f"{metrics['set']} set, {size}: {', '.join(shown_scores(metrics))}"


REPLACED_DATA_KEYS = {
    "pairs": ("src", "tgt"),
    "src": ("pairs",),
    "valid_pairs": ("valid_src", "valid_tgt"),
    "valid_src": ("valid_pairs",),
}
"""Data flag -> keys of the config file that it replaces, because they name the same data in another form."""


def merge_settings(
    config: Path | None, recipe: str | None, flags: dict[str, dict[str, Any]], sets: list[str]
) -> dict[str, Any]:
    """The settings of the recipe, overridden by the file, then by the flags, then by `--set`."""
    from regard.errors import ConfigError
    from regard.models.config import SIZES
    from regard.settings import merged, override
    from regard.tasks.settings import read_settings
    from regard.training.recipes import RECIPES

    if recipe is not None and recipe not in RECIPES:
        raise ConfigError(f"--recipe {recipe}: no such recipe; there is {', '.join(RECIPES)}")
    values = RECIPES[recipe] if recipe is not None else {}
    preset = flags.get("model", {}).get("preset")
    if config is not None:
        values = merged(values, read_settings(config))
    if preset is not None:  # the preset overrides sizes that the file writes out
        values = merged(values, {"model": {}})
        for size in SIZES:
            values["model"].pop(size, None)
    given = {table: {key: value for key, value in keys.items() if value is not None} for table, keys in flags.items()}
    if replaced := [old for flag in given.get("data", {}) for old in REPLACED_DATA_KEYS.get(flag, ())]:
        values = merged(values, {"data": {}})
        for old in replaced:
            values["data"].pop(old, None)
    return override(merged(values, {table: keys for table, keys in given.items() if keys}), sets)
