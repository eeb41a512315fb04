"""`regard init`: every setting of every task and kind of model, with its meaning, default and allowed values."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from regard.data.objectives import objectives_of
from regard.errors import ConfigError
from regard.settings import choice_of
from regard.tasks.settings import parse_settings
from regard.tasks.table import TASKS
from regard.tasks.template import kinds_of, settings_template

ALL = [(task, kind) for task in TASKS for kind in kinds_of(task)]


def fields(task: str, kind: str) -> Iterator[tuple[str, str, Any]]:
    """(table, name, field) of every setting."""
    for table, outer in TASKS[task].run.model_fields.items():
        choice = choice_of(outer)
        group = type(outer.default)
        if choice is not None:
            group = choice.table[kind if table == "model" else objectives_of(kind)[0]]
        if issubclass(group, BaseModel):
            yield from within(table, group)
        else:
            yield "", table, outer


def within(table: str, group: type[BaseModel]) -> Iterator[tuple[str, str, Any]]:
    for name, field in group.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from within(f"{table}.{name}", type(field.default))
        elif inner := next(
            (kind for kind in get_args(field.annotation) if is_optional(field) and is_group(kind)), None
        ):
            yield from ((table, f"{name}.{part}", own) for part, own in inner.model_fields.items())
        else:
            yield table, name, field


def is_optional(field: Any) -> bool:
    return type(None) in get_args(field.annotation)


def is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


@pytest.mark.parametrize(("task", "kind"), ALL)
def test_every_setting_is_explained(task: str, kind: str) -> None:
    text = settings_template(task, kind)
    tables = dict(re.findall(r"(?:^\[([\w.]+)\]\n)(.*?)(?=^\[|\Z)", text, flags=re.MULTILINE | re.DOTALL))
    tables[""] = text.split("\n[")[0]
    count = 0
    for table, name, field in fields(task, kind):
        [line] = re.findall(rf"^(?:# )?{re.escape(name)} =.*$", tables[table], flags=re.MULTILINE)
        assert re.search(rf"^# (?![\w.]+ =).+\n{re.escape(line)}$", tables[table], flags=re.MULTILINE), name
        note = line.split("  # ")[1]
        assert note, name
        if field.default is not None and name not in ("task", "kind"):
            written: Any = tomllib.loads(line.removeprefix("# "))
            for key in name.split("."):
                written = written[key]
            assert written == (list(field.default) if isinstance(field.default, tuple) else field.default), name
        elif field.default is None and not field.examples:
            assert note.endswith("not set"), name
        count += 1
    assert count > 30
    assert len(re.findall(r"^(?:# )?[\w.]+ =", text, flags=re.MULTILINE)) == count, "and nothing else"


@pytest.mark.parametrize(("task", "kind"), ALL)
def test_it_can_be_trained_with_as_it_is(task: str, kind: str) -> None:
    text = settings_template(task, kind)
    parsed = parse_settings(tomllib.loads(text))
    assert (parsed.task, getattr(parsed.model, "kind", None)) == (task, kind)
    uncommented = re.sub(r"^# (\w+ = )(?= *[^# ])", r"\1", text, flags=re.MULTILINE)
    assert uncommented.count("\n# ") < text.count("\n# ")
    assert parse_settings(tomllib.loads(uncommented)) == parsed


def test_allowed_values() -> None:
    text = settings_template("translate", "recurrent")
    assert 'kind = "recurrent"  # "transformer", "recurrent" or "prefix"' in text
    assert (
        '# task = "translate"  # "translate", "generate", "classify", "classify_images", "caption", "forecast" or "pretrain"'
        in text
    )
    assert '# cell = "lstm"  # "rnn", "gru" or "lstm"' in text
    assert "# layers = 1  # a whole number, at least 1 and at most 64" in text
    assert "# dropout = 0.2  # a number, at least 0.0 and below 1.0" in text
    assert "# tie = true  # true or false" in text
    assert '# optimizer = "muon"  # "muon", "adamw", "adam" or "sgd"' in text
    assert '# score = "additive"  # "parameter_free", "dot"' in text
    assert '# select = "auto"  # "auto", "loss", "bleu"' in text
    assert 'text = "book.txt"  # text; must be given' in settings_template("generate")


def test_kinds_that_a_task_does_not_have() -> None:
    with pytest.raises(
        ConfigError,
        match="--kind markov: task 'translate' has transformer or recurrent or prefix; it is one of --task generate",
    ):
        settings_template("translate", "markov")
    with pytest.raises(ConfigError, match="--kind oracle: task 'classify' has transformer or recurrent or bag"):
        settings_template("classify", "oracle")
    with pytest.raises(ConfigError, match="--task paint: not one of translate, generate, classify"):
        settings_template("paint")
