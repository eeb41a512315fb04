"""Grids: which cells there are, what they are called, what is refused before anything trains, and which directory is whose."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.errors import ConfigError, TrainError
from regard.extensions import LOADED, ExtensionUse
from regard.tasks.runs import is_done
from regard.tasks.settings import parse_settings
from regard.tasks.sweep import grid, places, positions_note, split_values
from regard.training.config import RunSettings


def names(assignments: list[str], seeds: int | None = None, values: dict[str, Any] | None = None) -> list[str]:
    return [cell.name for cell in grid(values or {}, assignments, seeds)]


def test_all_combinations_of_one_seed_then_of_the_next() -> None:
    cells = grid({"train": {"seed": 7}}, ["model.norm=pre,post", "train.warmup=10, 20"], 2)
    assert [cell.name for cell in cells] == [
        f"norm={norm},warmup={warmup},seed={seed}" for seed in (7, 8) for norm in ("pre", "post") for warmup in (10, 20)
    ]
    assert cells[3].sets == ("model.norm=post", "train.warmup=20", "train.seed=7")
    assert cells[3].config == parse_settings({"model": {"norm": "post"}, "train": {"warmup": 20, "seed": 7}})


def test_without_seeds_or_settings() -> None:
    assert names([]) == ["seed=1"]
    assert names([], 3) == ["seed=1", "seed=2", "seed=3"]
    assert names(["train.seed=5,9"]) == ["seed=5", "seed=9"]
    with pytest.raises(ConfigError, match=r"--seeds 2: --set train\.seed tells the seeds already"):
        names(["train.seed=5,9"], 2)


def test_names_that_are_safe_and_clear() -> None:
    assert names(["model.dropout=0.1,0.2", "text.dropout=0.0"]) == [
        "model.dropout=0.1,text.dropout=0.0,seed=1",
        "model.dropout=0.2,text.dropout=0.0,seed=1",
    ]
    [name] = names(["data.src='corpora/my file, 1.fr'"], values={"data": {"tgt": "t.en"}})
    assert name == "src=corpora_my_file_1.fr,seed=1"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a,b", ["a", "b"]),
        ("a , b", ["a", "b"]),
        ('"a,b",c', ['"a,b"', "c"]),
        ("'a,b', c", ["'a,b'", "c"]),
        ('"a\\",b",c', ['"a\\",b"', "c"]),
        ("[1,2],[3]", ["[1,2]", "[3]"]),
        ('["a]",2],{x = 1, y = 2}', ['["a]",2]', "{x = 1, y = 2}"]),
        ("l'été,d'hiver", ["l'été", "d'hiver"]),
        ('""', ['""']),
    ],
)
def test_commas_that_separate_and_commas_that_do_not(text: str, values: list[str]) -> None:
    assert split_values(f"key={text}", text) == values


@pytest.mark.parametrize(
    ("assignments", "complaint"),
    [
        (["model.layer=2,4"], r"unknown key 'model\.layer'; did you mean 'model\.layers'"),
        (["model.layers=2,many"], r"--set model\.layers=many: model\.layers = 'many'"),
        (["model.layers"], r"--set model\.layers: expected KEY=VALUE,VALUE"),
        (["model.layers=2,"], r"--set model\.layers=2,: an empty value"),
        (["text.kind='bpe,char"], "a quote is not closed"),
        (["text.kind=[bpe"], "a bracket is not closed"),
        (["model.layers=2", "model.layers=4"], r"model\.layers is given twice"),
        (["model.dropout=0.1,0.10"], "the same settings or the same name, .*give values that differ"),
        ([f"data.src_lang={'x' * 260}"], r"too long for a directory's name; move .* to CONFIG\.toml"),
        (["data.pairs=-"], r"data\.pairs = '-': every cell reads the data anew"),
        (['data.corpora=[{pairs="-"}]'], r"data\.corpora\.0\.pairs = '-': every cell reads the data anew"),
    ],
)
def test_what_is_refused_before_anything_trains(assignments: list[str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        grid({}, assignments)


def kept(run: Path, config: RunSettings, *files: str) -> Path:
    run.mkdir(parents=True)
    (run / "config.json").write_text(config.model_dump_json(), encoding="utf-8")
    for name in files:
        (run / name).write_text("{}", encoding="utf-8")
    return run


def test_a_cell_is_found_by_its_settings(tmp_path: Path) -> None:
    one, two, three = grid({}, ["model.norm=pre"], 3)
    elsewhere = kept(tmp_path / "by another name", one.config, "metrics.json")
    begun = kept(tmp_path / two.name, two.config, "latest")
    assert places([one, two, three], tmp_path) == [elsewhere, begun, tmp_path / three.name]
    assert [is_done(run) for run in places([one, two, three], tmp_path)] == [True, False, False]


def test_a_directory_of_other_settings_is_not_taken_over(tmp_path: Path) -> None:
    [cell] = grid({}, ["model.norm=pre"])
    other = cell.config.model_copy(update={"train": cell.config.train.model_copy(update={"warmup": 3})})
    kept(tmp_path / cell.name, other)
    assert places([cell], tmp_path) == [tmp_path / cell.name]  # nothing came of it: it may begin anew
    (tmp_path / cell.name / "latest").write_text("x", encoding="utf-8")
    with pytest.raises(
        TrainError, match=r"norm=pre,seed=1: was trained with other settings \(train\.warmup: 3 -> 200\)"
    ):
        places([cell], tmp_path)


def test_a_changed_extension_is_to_be_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [cell] = grid({}, ["model.norm=pre"])
    run = kept(tmp_path / cell.name, cell.config, "metrics.json")
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    used = ExtensionUse(name="toys.py", sha256="0123456789abcdef", adds=("mixer toy",))
    (run / "config.json").write_text(
        json.dumps({**config, "format": 2, "extensions": [used.model_dump(mode="json")]}), encoding="utf-8"
    )
    monkeypatch.setitem(LOADED, "toys.py", used)
    assert places([cell], tmp_path) == [run]
    monkeypatch.setitem(LOADED, "toys.py", used.model_copy(update={"sha256": "fedcba9876543210"}))
    with pytest.raises(
        TrainError, match=r"'fedcba98'\); restore the file toys\.py that it began with, or choose another"
    ):
        places([cell], tmp_path)


def test_cells_whose_scores_read_other_positions_are_told() -> None:
    note = positions_note(grid({}, ["model.score=scaled_dot,additive"]))
    assert note is not None
    assert "(rotary, sinusoidal)" in note
    for alike in (["model.score=scaled_dot,cosine"], ["model.score=additive,concat"]):
        assert positions_note(grid({}, alike)) is None
    assert positions_note(grid({}, ["model.score=scaled_dot,additive", "model.positions=sinusoidal"])) is None
    assert positions_note(grid({}, ["model.positions=rotary,sinusoidal"])) is None  # that is what was asked for
