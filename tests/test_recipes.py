"""Every recipe is a config that `regard train` takes, and the recipes that are compared differ in nothing but what they compare."""

import json
from pathlib import Path

import numpy as np
import pytest

from regard import load, train
from regard.layers.scores import SCORES
from regard.settings import merged, read_toml
from regard.tasks.settings import parse_settings
from regard.tasks.sweep import grid
from regard.training.config import RunSettings

RECIPES = Path(__file__).parent.parent / "recipes"
OPTIMISERS = ("sgd", "momentum", "adam", "adamw", "muon")
COMPARED = {"optimizer", "momentum", "weight_decay", "learning_rate", "adamw_factor"}


def recipe(path: Path) -> RunSettings:
    return parse_settings(read_toml(path), str(path))


@pytest.mark.parametrize("path", sorted(RECIPES.rglob("*.toml")), ids=lambda path: path.stem)
def test_a_recipe_is_a_config(path: Path) -> None:
    recipe(path)


@pytest.mark.parametrize("name", OPTIMISERS[1:])
def test_optimisers_are_compared_on_equal_terms(name: str) -> None:
    one, other = (recipe(RECIPES / f"optimisation/{which}.toml") for which in (OPTIMISERS[0], name))
    changed = {change.split(":")[0] for change in other.changed_from(one)}
    assert changed
    assert changed <= {f"train.{key}" for key in COMPARED}


@pytest.mark.parametrize(("one", "other"), [("diversified", "en-fr"), ("quick", "raw")])
def test_multi30k_recipes_that_differ_in_their_text_only(one: str, other: str) -> None:
    first, second = (recipe(RECIPES / f"multi30k-{name}.toml") for name in (one, other))
    assert {change.split(".")[0] for change in second.changed_from(first)} == {"data"}


def test_a_deep_encoder_is_compared_with_a_symmetric_model_on_equal_terms() -> None:
    first, second = (recipe(RECIPES / f"multi30k-{name}.toml") for name in ("quick", "deep"))
    names = {change.split(":")[0] for change in second.changed_from(first)}
    assert names == {"model.preset", "model.layers", "model.encoder_layers"}


def test_one_stack_is_compared_with_two_on_equal_terms() -> None:
    first, second = (recipe(RECIPES / f"multi30k-{name}.toml") for name in ("quick", "prefix"))
    names = {change.split(":")[0] for change in second.changed_from(first)}
    both = set(type(first.model).model_fields) & set(type(second.model).model_fields)  # type: ignore[attr-defined]
    assert {name for name in names if name.removeprefix("model.") in both or not name.startswith("model.")} == {
        "model.kind",
        "model.layers",
    }


def changed(name: str, other: str) -> set[str]:
    """The settings in which two rows of the comparison on Multi30k differ."""
    rows = [recipe(RECIPES / f"compare-multi30k-{which}.toml") for which in (name, other)]
    return {change.split(":")[0] for change in rows[1].changed_from(rows[0])}


def test_models_are_compared_on_equal_terms() -> None:
    assert changed("lstm-plain", "lstm-additive") == {"model.attention"}
    assert changed("lstm-additive", "lstm-scaled-dot") == {"model.score"}
    others = {name for name in changed("lstm-additive", "transformer") if not name.startswith("model.")}
    assert others <= {"train.learning_rate", "train.adamw_factor"}  # each has its own best


def test_every_score_fits_the_model_of_the_pocket_comparison() -> None:
    path = RECIPES / "compare-pocket.toml"
    command = next(line for line in path.read_text(encoding="utf-8").splitlines() if "--set model.score=" in line)
    cells = grid(read_toml(path), [command.split("--set ")[1]], seeds=3, where=str(path))
    assert {cell.config.model.score for cell in cells} == set(SCORES)
    assert len(cells) == 3 * len(SCORES)


@pytest.mark.slow
def test_the_recipe_for_colour_pictures_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few steps of `cifar10.toml` as it stands, on generated pictures in the form that it asks for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    random = np.random.default_rng(1)
    arrays = {
        name: array
        for part, count in (("train", 400), ("test", 60))
        for name, array in (
            (f"x_{part}", random.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)),
            (f"y_{part}", np.arange(count) % 10),
        )
    }
    Path("data/images").mkdir(parents=True)
    np.savez("data/images/cifar10.npz", **arrays)
    settings = merged(read_toml(RECIPES / "cifar10.toml"), {"train": {"max_steps": 3}})
    run = train(settings, "run", progress=False)
    assert run.metrics is not None
    assert run.metrics["steps"] == 3
    assert run.metrics["pictures"] == 60
    losses = [json.loads(line) for line in Path("run/log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all(np.isfinite(event["loss"]) for event in losses if event["event"] == "step")
    [answer] = load("run").classify([arrays["x_test"][0]])
    assert answer.label in ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
