"""An option that takes one value and is given twice is refused, by every verb; lists may be repeated."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from regard.cli.main import app
from regard.cli.verbs import keep_default, takes_one_value
from regard.errors import ConfigError


def verbs(command: Any, path: str = "regard") -> Iterator[tuple[str, Any]]:
    for name, inner in getattr(command, "commands", {}).items():
        yield from verbs(inner, f"{path} {name}")
    if not hasattr(command, "commands"):
        yield path, command


VERBS = dict(verbs(typer.main.get_command(app)))


def test_all_verbs_are_looked_at() -> None:
    assert {"regard train", "regard translate", "regard sweep", "regard data check"} <= VERBS.keys()


@pytest.mark.parametrize("path", VERBS)
def test_an_option_with_one_value_is_refused_if_it_is_repeated(path: str) -> None:
    verb = VERBS[path]
    single = [parameter for parameter in verb.params if takes_one_value(parameter)]
    for parameter in single:
        for first, second in ((parameter.opts[0], parameter.opts[0]), (parameter.opts[0], parameter.opts[-1])):
            with pytest.raises(ConfigError, match=r"is given 2 times but takes one value; give it once") as caught:
                verb.make_context(path, [first, "1", second, "2"])
            assert str(caught.value).startswith("/".join(parameter.opts))


def test_what_is_a_list_or_a_switch_may_be_repeated() -> None:
    by_name = {name: parameter for parameter in VERBS["regard train"].params for name in parameter.opts}
    for name in ("--set", "--extension", "--src", "--tgt", "--pairs"):
        assert not takes_one_value(by_name[name]), name
    assert not any(
        takes_one_value(parameter) for parameter in VERBS["regard data check"].params if "--json" in parameter.opts
    )


def test_the_command_says_so_in_one_line(command) -> None:
    for arguments, option in (
        (("translate", "nowhere", "-i", "a", "--input", "b"), "-i/--input"),
        (("train", "--valid-text", "a", "--valid-text", "b", "--out", "c"), "--valid-text"),
        (("evaluate", "nowhere", "--src", "a", "--src=b"), "--src"),
    ):
        result = command(*arguments)
        assert result.code == 2
        assert result.err.startswith(f"regard: {option} is given 2 times")
        assert result.err.count("\n") == 1


@pytest.mark.parametrize("path", VERBS)
def test_defaults_that_are_kept_are_those_that_typer_would_make(path: str) -> None:
    verb = VERBS[path]
    context = verb.context_class(verb, info_name=path)
    for parameter in verb.params:
        keep_default(parameter, not_given=True)
        if "process_value" in vars(parameter):
            default = parameter.get_default(context)
            validated = type(parameter).process_value(parameter, context, default)
            assert parameter.process_value(context, default) is default
            assert (type(validated), validated) == (type(default), default), parameter.name
        keep_default(parameter, not_given=False)
        assert "process_value" not in vars(parameter)


def test_one_verb_alone_is_the_same_command() -> None:
    for name in ("translate", "train"):
        alone = typer.main.get_command(app.of_verb(name))
        assert [*alone.commands] == [name]
        assert [p.opts for p in alone.commands[name].params] == [p.opts for p in VERBS[f"regard {name}"].params]
    assert app.of_verb("data") is app.of_verb("--help") is app
