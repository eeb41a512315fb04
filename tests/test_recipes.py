"""Every recipe is a config that `regard train` takes, and the recipes that are compared differ in nothing but what they compare."""

from pathlib import Path

import pytest

from regard.settings import read_toml
from regard.train.config import RunConfig

RECIPES = Path(__file__).parent.parent / "recipes"
OPTIMISERS = ("sgd", "momentum", "adam", "adamw", "muon")
COMPARED = {"optimizer", "momentum", "weight_decay", "learning_rate", "adamw_factor"}


def recipe(path: Path) -> RunConfig:
    return RunConfig.parse(read_toml(path), str(path))


@pytest.mark.parametrize("path", sorted(RECIPES.rglob("*.toml")), ids=lambda path: path.stem)
def test_a_recipe_is_a_config(path: Path) -> None:
    recipe(path)


@pytest.mark.parametrize("name", OPTIMISERS[1:])
def test_optimisers_are_compared_on_equal_terms(name: str) -> None:
    one, other = (recipe(RECIPES / f"optimisation/{which}.toml") for which in (OPTIMISERS[0], name))
    changed = {change.split(":")[0] for change in other.changed_from(one)}
    assert changed
    assert changed <= {f"train.{key}" for key in COMPARED}


@pytest.mark.parametrize(("one", "other"), [("headline", "en-fr"), ("quick", "raw")])
def test_multi30k_recipes_that_differ_in_their_text_only(one: str, other: str) -> None:
    first, second = (recipe(RECIPES / f"multi30k-{name}.toml") for name in (one, other))
    assert {change.split(".")[0] for change in second.changed_from(first)} == {"data"}
