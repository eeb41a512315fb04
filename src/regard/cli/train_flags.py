"""The flags of `regard train` that name settings. `regard sweep` has the same ones, from this one definition.

Decorate a command that takes `flags: TrainFlags` with `with_train_flags`. It then has one flag for each field.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.corpora import corpora_settings
from regard.cli.signature import parameters_of, set_parameters

FLAGS = "flags"  # the parameter of a command that the flags replace

REPLACED_DATA_KEYS = {
    "pairs": ("src", "tgt", "corpora"),
    "src": ("pairs", "corpora"),
    "corpora": ("src", "tgt", "pairs"),
    "valid_pairs": ("valid_src", "valid_tgt"),
    "valid_src": ("valid_pairs",),
}
"""Data flag -> keys of the config file that it replaces, because they name the same data in another form."""


@dataclass(frozen=True)
class TrainFlags:
    """The flags as they were given. None: not given."""

    config: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG.toml]", help="Settings; `regard init` prints all.")
    ] = None
    task: Annotated[
        str | None,
        typer.Option(
            help="What the model is for: translate (the default), generate, classify, caption, forecast or pretrain."
        ),
    ] = None
    objective: Annotated[str | None, typer.Option(help="To pretrain: mask (the default), denoise, span or prefix.")] = (
        None
    )
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="To generate or pretrain: the text to learn from (.gz too); to pretrain, may be repeated.",
        ),
    ] = None
    valid_text: Annotated[str | None, typer.Option(help="Validation text; without it the last tenth.")] = None
    data: Annotated[str | None, typer.Option(help="To classify: lines of text, tab, label (.tsv, .gz too).")] = None
    labels_of: Annotated[
        str | None,
        typer.Option(help="What has a label: text, or token (token, tab, label; blank lines between texts)."),
    ] = None
    valid_data: Annotated[str | None, typer.Option(help="Validation lines; without them a tenth.")] = None
    test_data: Annotated[str | None, typer.Option(help="Lines that the classifier is judged by in the end.")] = None
    images: Annotated[
        str | None,
        typer.Option(
            help="To classify pictures: a folder with a folder for each class, .npz, idx, .tsv. To caption: the folder of the pictures."
        ),
    ] = None
    valid_images: Annotated[str | None, typer.Option(help="Validation pictures; without them a tenth.")] = None
    test_images: Annotated[str | None, typer.Option(help="Pictures that the classifier is judged by in the end.")] = (
        None
    )
    captions: Annotated[
        str | None,
        typer.Option(help="To caption: lines of picture, tab, caption (.tsv), or .jsonl; several a picture allowed."),
    ] = None
    valid_captions: Annotated[
        str | None, typer.Option(help="Validation captions; without them a tenth of the pictures.")
    ] = None
    test_captions: Annotated[str | None, typer.Option(help="Captions that the captioner is judged by in the end.")] = (
        None
    )
    test_text: Annotated[str | None, typer.Option(help="Text that the model is judged by in the end.")] = None
    series: Annotated[
        str | None, typer.Option(help="To forecast: series in a CSV file, wide or as unique_id, ds, y (.gz too).")
    ] = None
    target: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column to forecast; may be repeated. Else all.")
    ] = None
    horizon: Annotated[int | None, typer.Option(help="Steps to forecast.")] = None
    context: Annotated[int | None, typer.Option(help="Steps of the past that are read for a forecast.")] = None
    src: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Source text, one sentence a line (.gz too); may be repeated."),
    ] = None
    tgt: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Target text, line by line its translation; as often as --src."),
    ] = None
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Both in one file: .tsv, .jsonl, .tmx, .parquet, .zip of OPUS, - for TSV on stdin; may be repeated.",
        ),
    ] = None
    valid_src: Annotated[str | None, typer.Option(help="Validation source; without it 1 % is held out.")] = None
    valid_tgt: Annotated[str | None, typer.Option(help="Validation target.")] = None
    valid_pairs: Annotated[str | None, typer.Option(help="Validation pairs in one file.")] = None
    test_src: Annotated[str | None, typer.Option(help="Test source, translated when training ends.")] = None
    test_tgt: Annotated[str | None, typer.Option(help="Test target.")] = None
    src_lang: Annotated[str | None, typer.Option(help="Source language; else the file's suffix.")] = None
    tgt_lang: Annotated[
        str | None, typer.Option(help="Target language, or that of a text; else the file's suffix.")
    ] = None
    start: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="A run or bundle to start from: to train it further, or of another task."),
    ] = None
    lora: Annotated[
        int | None,
        typer.Option(
            metavar="RANK", help="With --start: train low-rank additions of this rank (LoRA), not all weights."
        ),
    ] = None
    replay_src: Annotated[
        str | None, typer.Option(metavar="FILE", help="With --start: source text of the base, a tenth of each epoch.")
    ] = None
    replay_tgt: Annotated[str | None, typer.Option(metavar="FILE", help="Its translation.")] = None
    replay_pairs: Annotated[str | None, typer.Option(metavar="FILE", help="Both in one file.")] = None
    preset: Annotated[str | None, typer.Option(help="Size of the model: tiny, tiny-deep, small or base.")] = None
    minutes: Annotated[float | None, typer.Option(help="Stop after so many minutes of training.")] = None
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = None
    recipe: Annotated[str | None, typer.Option(help="Start from named settings: 2017.")] = None

    def tables(self) -> dict[str, dict[str, Any]]:
        """The settings that the flags name, by table. None: not given."""
        return {
            "data": {
                "text": self.text[0] if self.text and len(self.text) == 1 else self.text or None,
                "valid_text": self.valid_text,
                "test_text": self.test_text,
                "labelled": self.data,
                "valid_labelled": self.valid_data,
                "test_labelled": self.test_data,
                "labels_of": self.labels_of,
                "images": self.images,
                "valid_images": self.valid_images,
                "test_images": self.test_images,
                "captions": self.captions,
                "valid_captions": self.valid_captions,
                "test_captions": self.test_captions,
                "series": self.series,
                "targets": self.target or None,
                "horizon": self.horizon,
                "context": self.context,
                **corpora_settings(self.src, self.tgt, self.pairs),
                "valid_src": self.valid_src,
                "valid_tgt": self.valid_tgt,
                "valid_pairs": self.valid_pairs,
                "test_src": self.test_src,
                "test_tgt": self.test_tgt,
                "src_lang": self.src_lang,
                "tgt_lang": self.tgt_lang,
                "replay": _given({"src": self.replay_src, "tgt": self.replay_tgt, "pairs": self.replay_pairs}),
            },
            "objective": {"kind": self.objective},
            "model": {"preset": self.preset},
            "train": {
                "start": self.start,
                "minutes": self.minutes,
                "device": self.device,
                "lora": _given({"rank": self.lora}),
            },
        }

    def settings(self, sets: Sequence[str] = ()) -> dict[str, Any]:
        """The settings of the recipe, overridden by the file, then by the flags, then by `--set`."""
        task = [] if self.task is None else [f"task={self.task}"]
        return merge_settings(self.config, self.recipe, self.tables(), [*task, *sets])

    def where(self, sets: Sequence[str] = ()) -> str:
        """Where the settings come from, for error messages."""
        if self.config is None:
            return "settings"
        tables = self.tables().values()
        given = sets or self.task is not None or any(value is not None for table in tables for value in table.values())
        return f"{self.config}{', as the options change it' if given else ''}"

    def arguments(self) -> list[str]:
        """The flags as arguments of a command line."""
        words = [] if self.config is None else [str(self.config)]
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None or field.name == "config":
                continue
            for item in value if isinstance(value, list) else [value]:
                words += [f"--{field.name.replace('_', '-')}", str(item)]
        return words


def _given(values: dict[str, Any]) -> dict[str, Any] | None:
    """The settings of an inner table that are given; None: none is."""
    return {name: value for name, value in values.items() if value is not None} or None


def with_train_flags(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the flags of `TrainFlags` in place of its parameter `flags`."""
    flags = parameters_of(TrainFlags)
    parameters: list[inspect.Parameter] = []
    for name, parameter in parameters_of(command).items():
        parameters += flags.values() if name == FLAGS else [parameter]

    @wraps(command)
    def with_flags(**values: Any) -> None:
        given = TrainFlags(**{name: values.pop(name) for name in flags})
        command(flags=given, **values)

    set_parameters(with_flags, parameters)
    return with_flags


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
