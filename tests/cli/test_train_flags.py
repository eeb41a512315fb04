"""The flags of training: one definition for `regard train` and `regard sweep`."""

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from regard.cli.main import app
from regard.cli.sweep import sweep
from regard.cli.train import train
from regard.cli.train_flags import TrainFlags
from regard.errors import shown
from regard.settings import leaves

OWN = {"train": {"out", "sets"}, "sweep": {"out", "sets", "seeds", "jobs", "dry_run"}}


def test_both_verbs_have_every_flag() -> None:
    shared = {field.name for field in fields(TrainFlags)}
    for name, verb in (("train", train), ("sweep", sweep)):
        assert set(inspect.signature(verb).parameters) == shared | OWN[name]
    group: Any = typer.main.get_command(app)
    options = {
        name: {option for parameter in group.commands[name].params for option in parameter.opts}
        for name in ("train", "sweep")
    }
    assert options["train"] <= options["sweep"]


def test_every_flag_becomes_a_setting_and_arguments_that_say_the_same() -> None:
    """Each flag but the config file, alone: the settings have its value, and the arguments are parsed to the same flags."""
    group: Any = typer.main.get_command(app)
    command = group.commands["train"]
    for field in fields(TrainFlags):
        if field.name in ("config", "recipe"):
            continue
        value = {"minutes": 2.5, "preset": "tiny", "horizon": 2, "context": 3, "lora": 4}.get(field.name, "value")
        flags = TrainFlags(**{field.name: [value] if "list" in str(field.type) else value})
        found = [leaf for _, leaf in leaves(flags.settings())]
        assert value in found or [value] in found, field.name
        given = command.make_context("train", [*flags.arguments(), "--out", "x"]).params
        assert TrainFlags(**{name.name: given[name.name] or None for name in fields(TrainFlags)}) == flags


def test_the_config_file_comes_first_and_lists_are_repeated() -> None:
    flags: Any = TrainFlags(config=Path("run.toml"), src=["a", "b"], minutes=1.0)
    assert flags.arguments() == ["run.toml", "--src", "a", "--src", "b", "--minutes", "1.0"]


def test_numbers_that_are_none_are_named_with_their_value(command) -> None:
    for verb, flag, value, complaint in (
        ("train", "--minutes", "abc", "input should be a valid number"),
        ("sweep", "--jobs", "0", "input should be greater than or equal to 1"),
        ("translate", "--beam", "x", "input should be a valid integer"),
        ("translate", "--beam", "1\n2", "input should be a valid integer"),
    ):
        told = command(verb, "runs", flag, value)
        value = shown(value)
        assert told.code == 2
        assert told.err == f"regard: {flag} {value}: {complaint} (regard {verb} --help shows what is possible)\n"
