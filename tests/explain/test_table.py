"""The tables of explanations: whatever is explained has a verb, whose options are keywords of its explainer."""

import inspect

import pytest

from regard.cli.explain import explain as explain_command
from regard.errors import ConfigError
from regard.explain.table import EXPLAINERS, VERB
from regard.tasks.table import TASKS

OPTIONS = set(inspect.signature(explain_command).parameters) - {"bundle", "sentence", "out", "device"}


def test_what_is_explained_in_python_is_explained_by_the_verb() -> None:
    assert set(VERB) == set(EXPLAINERS)
    assert set(VERB) <= set(TASKS)


@pytest.mark.parametrize("task", sorted(VERB))
def test_options_are_those_of_the_verb_and_become_keywords_of_the_explainer(task: str) -> None:
    row = VERB[task]
    keywords = {
        name for name, value in inspect.signature(row.explain).parameters.items() if value.kind is value.KEYWORD_ONLY
    }
    assert set(row.options) <= OPTIONS
    assert {*row.options.values(), "name"} <= keywords


@pytest.mark.parametrize("task", sorted(VERB))
def test_every_other_option_is_refused(task: str) -> None:
    row = VERB[task]
    for option in OPTIONS:
        taken = option in row.options or (option == "beside" and row.several)
        if taken:
            expected = {row.options[option]: ["x"]} if option in row.options else {}
            assert row.keywords({option: ["x"]}, "a run") == expected
        else:
            with pytest.raises(ConfigError, match=f"^--{option}: "):
                row.keywords({option: ["x"]}, "a run")
