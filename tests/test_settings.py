"""Settings: typos are refused with the nearest name, overrides reach any depth, and differences are told."""

from pathlib import Path

import pytest

from regard.errors import ConfigError
from regard.settings import Settings, descriptions, last_parts, leaves, merged, override, read_json, read_toml
from regard.tasks.settings import parse_settings
from regard.tasks.translate.settings import TranslateSettings


def complaint(values: dict[str, object]) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_settings(values, "run.toml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_typo_is_answered_with_the_nearest_name() -> None:
    assert (
        complaint({"train": {"max_step": 5}})
        == "run.toml: unknown key 'train.max_step'; did you mean 'train.max_steps'?"
    )
    assert complaint({"modle": {}}) == "run.toml: unknown key 'modle'; did you mean 'model'?"
    assert "valid here: data, model, task, text, train" in complaint({"zzz": 1})
    assert "did you mean 'train.max_steps'?" in complaint({"max_steps": 1})
    assert "did you mean 'model.kind'?" in complaint({"kind": "markov"})  # no text has that kind
    assert "did you mean 'model.kind' or 'text.kind'?" in complaint({"kind": "bpe"})
    assert complaint({"seed": 3}) == "run.toml: unknown key 'seed'; did you mean 'train.seed' or 'data.seed'?"


def test_values_out_of_range_are_named() -> None:
    assert complaint({"model": {"dropout": 1.5}}).startswith("run.toml: model.dropout = 1.5: ")
    assert "train.learning_rate" in complaint({"train": {"learning_rate": float("inf")}})
    assert "max_positions 100" in complaint({"model": {"positions": "learned", "max_positions": 100}})
    assert (
        complaint({"train": {"average": 5, "keep": 2}})
        == "run.toml: train.average 5 needs train.keep of at least 5, not 2"
    )


def test_overrides_reach_any_depth_and_parse_toml() -> None:
    values = override(
        {"train": {"seed": 1}}, ["train.seed=2", "model.norm=post", "model.tie=false", "data.src=a b.txt"]
    )
    assert values == {"train": {"seed": 2}, "model": {"norm": "post", "tie": False}, "data": {"src": "a b.txt"}}
    with pytest.raises(ConfigError, match="KEY=VALUE"):
        override({}, ["train.seed"])
    with pytest.raises(ConfigError, match="is a value"):
        override({"train": 3}, ["train.seed=1"])


def test_override_and_merge_leave_their_input_alone() -> None:
    values = {"train": {"seed": 1}}
    override(values, ["train.seed=2"])
    assert merged(values, {"train": {"warmup": 3}}) == {"train": {"seed": 1, "warmup": 3}}
    assert values == {"train": {"seed": 1}}


def test_differences_are_told_with_old_and_new_values() -> None:
    older, newer = TranslateSettings(), parse_settings({"train": {"seed": 2}, "model": {"layers": 6}})
    assert newer.changed_from(older) == ["model.layers: 4 -> 6", "train.seed: 1 -> 2"]
    assert newer.changed_from(newer) == []


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.toml").write_bytes(b"\xff")
    (tmp_path / "a.json").write_text("[]", encoding="utf-8")
    for read, name in ((read_toml, "none.toml"), (read_toml, "a.toml"), (read_json, "a.json"), (read_toml, "folder")):
        with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
            read(tmp_path / name)
    (tmp_path / "latin.toml").write_bytes(b"[a]\nb = 'caf\xe9'\n")
    with pytest.raises(ConfigError, match=r"latin\.toml:2: not UTF-8 \(byte 0xe9 at column 9\); save it as UTF-8$"):
        read_toml(tmp_path / "latin.toml")


def test_a_byte_order_mark_is_no_part_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[train]\nseed = 3\n", encoding="utf-8-sig")
    (tmp_path / "a.json").write_text('{"train": {"seed": 3}}', encoding="utf-8-sig")
    assert read_toml(tmp_path / "a.toml") == read_json(tmp_path / "a.json") == {"train": {"seed": 3}}


def test_leaves_and_their_short_names() -> None:
    found = dict(leaves({"model": {"dropout": 0.1, "inner": {"width": 2}}, "text": {"dropout": 0.0}, "top": [1]}))
    assert found == {"model.dropout": 0.1, "model.inner.width": 2, "text.dropout": 0.0, "top": [1]}
    assert last_parts(found) == {
        "model.dropout": "model.dropout",
        "model.inner.width": "width",
        "text.dropout": "text.dropout",
        "top": "top",
    }


@pytest.mark.parametrize("value", ["[" * 100_000, "1" * 5000, "{a=" * 100_000, "'\udcff'"])
def test_a_value_without_bound_is_one_line(value: str) -> None:
    with pytest.raises(ConfigError, match=r"^--set train\.seed: not valid TOML: ") as caught:
        override({}, [f"train.seed={value}"])
    assert "\n" not in str(caught.value)
    assert "sys." not in str(caught.value)
    assert len(str(caught.value)) < 2000


def test_a_key_without_bound_is_one_line() -> None:
    with pytest.raises(ConfigError, match="a key of 100,001 parts; none has more than 64"):
        override({}, ["a." * 100_000 + "b=1"])


class Described(Settings):
    """A group."""

    first: int = 1
    """The first."""
    second: int = 2
    third: int = 3
    """The third,
    on two lines."""


class More(Described):
    """More of it."""

    first: int = 4
    fourth: int = 5
    """The fourth."""


def test_settings_are_described_below_them() -> None:
    third = "The third,\non two lines."
    assert descriptions(Described) == {"first": "The first.", "third": third}
    assert descriptions(More) == {"third": third, "fourth": "The fourth."}  # the other first is not described
