"""Config files and `--set` values from Hypothesis: whatever they hold, the answer is settings or one short line."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hostile import configs, draw
from hostile.verbs import UNSAFE
from regard.errors import LONGEST_MESSAGE, RegardError
from regard.settings import override
from regard.tasks.settings import parse_settings, read_settings

TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
SCALAR = st.one_of(
    st.booleans(),
    st.integers(min_value=-(2**63), max_value=2**63 - 1),
    st.floats(),
    TEXT.map(lambda text: text.encode("utf-8", "replace").decode("utf-8")),
)
VALUE: st.SearchStrategy[Any] = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)


def toml(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{toml(key)} = {toml(part)}' for key, part in value.items())}}}"
    return json.dumps(value)


def settings_or_one_line(text: str) -> None:
    """Read a config as `regard train` does."""
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "run.toml"
        draw.write_text(path, text)
        refused_in_one_line(lambda: parse_settings(read_settings(path), str(path)))


def refused_in_one_line(read: Callable[[], object]) -> None:
    """Call what reads settings. The one exception that it may raise has a short and harmless message."""
    message = ""
    try:
        read()
    except RegardError as error:
        message = str(error)
    assert len(message) <= LONGEST_MESSAGE
    assert not UNSAFE.search(message)
    assert "\n" not in message


@given(st.sampled_from(configs.KEYS), VALUE)
def test_any_value_of_any_setting(key: str, value: Any) -> None:
    settings_or_one_line(configs.with_value(key, toml(value)))


@given(TEXT, VALUE)
@example("\x1b]0;title\x07", 1)
@example("k" * 1_000_000, 1)
def test_any_key(key: str, value: Any) -> None:
    settings_or_one_line(f"{configs.SOUND}\n[model.{json.dumps(key)}]\nx = {toml(value)}\n")


@given(st.integers(min_value=0, max_value=2**32))
def test_attacked_texts(seed: int) -> None:
    settings_or_one_line(configs.toml_text(Random(seed)))


@pytest.mark.parametrize("depth", [70, 3_000, 100_000])
@pytest.mark.parametrize("form", ["[" * 1, "{ a = ", "a."])
def test_depth(depth: int, form: str) -> None:
    closing = {"[": "]", "{ a = ": "}", "a.": ""}[form]
    value = f"{form * depth}1{closing * depth}"
    settings_or_one_line(f"{value} = 1" if form == "a." else f"x = {value}")
    refused_in_one_line(lambda: override({}, [f"{value}=1" if form == "a." else f"model.x={value}"]))


@pytest.mark.parametrize("digits", [30, 400, 5_000, 100_000])
def test_digits(digits: int) -> None:
    number = "9" * digits
    for text in (number, f"-{number}", f"0.{number}", f"1e{number}", f"0x{number}", f"[{number}]"):
        settings_or_one_line(configs.with_value("model.layers", text))
        refused_in_one_line(lambda text=text: parse_settings(override({}, [f"model.layers={text}"])))


@given(TEXT, TEXT | VALUE.map(toml))
def test_any_assignment(key: str, value: str) -> None:
    refused_in_one_line(lambda: parse_settings(override({}, [f"{key}={value}"])))


def test_a_key_that_is_there_twice(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[model]\nlayers = 1\nlayers = 2\n", encoding="utf-8")
    with pytest.raises(RegardError, match=r"run.toml: not valid TOML"):
        read_settings(path)
