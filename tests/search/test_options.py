"""`SearchOptions`, its keywords and its flags: one list of options, whichever way they are given."""

import inspect
import subprocess
import sys
from typing import Any, get_type_hints

import pytest

from regard.cli.generate import generate
from regard.cli.search_flags import search_options
from regard.cli.translate import translate
from regard.errors import ConfigError, SearchError
from regard.search.options import FIELDS, SearchKeywords, SearchOptions, default_of, given_in_vain

OTHERS: dict[str, Any] = {  # a value of every option that is not its default, and the search that it needs
    "beam": ({"beam": 3}, {}),
    "alpha": ({"alpha": 0.5}, {}),
    "length_form": ({"length_form": "wu"}, {}),
    "coverage": ({"coverage": 0.5}, {}),
    "stop": ({"stop": "safe"}, {}),
    "stop_after": ({"stop_after": 2}, {}),
    "nbest": ({"nbest": 2}, {}),
    "groups": ({"groups": 5}, {}),
    "diversity": ({"diversity": 1.0}, {"groups": 5}),
    "sample": ({"sample": True}, {}),
    "temperature": ({"temperature": 0.5}, {"sample": True}),
    "top_k": ({"top_k": 4}, {"mbr": 2}),
    "top_p": ({"top_p": 0.5}, {"sample": True}),
    "seed": ({"seed": 4}, {}),
    "mbr": ({"mbr": 4}, {}),
    "exact": ({"exact": True}, {}),
    "node_limit": ({"node_limit": 4}, {"exact": True}),
    "exhaustive": ({"exhaustive": True}, {"max_length": 2}),
    "min_length": ({"min_length": 2}, {}),
    "max_length": ({"max_length": 7}, {}),
    "no_repeat": ({"no_repeat": 2}, {}),
    "suppress": ({"suppress": ["a"]}, {}),
    "shortlist": ({"shortlist": True}, {}),
    "time_limit": ({"time_limit": 2.5}, {}),
}


def test_the_keywords_are_the_fields() -> None:
    assert get_type_hints(SearchKeywords) == get_type_hints(SearchOptions)
    assert list(SearchKeywords.__annotations__) == list(FIELDS) == list(OTHERS)
    assert not SearchKeywords.__required_keys__
    assert SearchOptions() == SearchOptions(**{name: default_of(name) for name in FIELDS})


@pytest.mark.parametrize("name", OTHERS)
def test_every_option_has_help_and_a_meaning(name: str) -> None:
    value, needed = OTHERS[name]
    assert FIELDS[name].metadata["help"].endswith((".", ".."))
    assert search_options({**needed, **value}) != search_options(needed)
    assert set(FIELDS[name].metadata["only_for"]) <= set(FIELDS)
    if FIELDS[name].metadata["only_for"]:
        assert name in given_in_vain(value)
        with pytest.raises(ConfigError, match=f"--{name.replace('_', '-')}"):
            search_options(value)
    assert given_in_vain({**needed, **value}) == []


def test_the_verbs_have_a_flag_for_every_option() -> None:
    flags = inspect.signature(translate).parameters
    for name, field in FIELDS.items():
        [option] = flags[name].annotation.__metadata__
        assert option.help == field.metadata["help"]
        assert flags[name].default == (field.default or None if name == "suppress" else field.default)
    own = inspect.signature(generate).parameters
    assert set(FIELDS) - set(own) == {"coverage", "nbest", "sample", "shortlist"}
    assert (own["beam"].default, own["max_length"].default) == (0, 200)
    assert own["beam"].annotation != flags["beam"].annotation
    assert "search" not in {*flags, *own}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"top_k": 3},
            "--temperature, --top-k and --top-p are for --sample and --mbr; add one, or leave them out",
        ),
        ({"diversity": 2.0}, "--diversity is for --groups; add it, or leave it out"),
        ({"node_limit": 2}, "--node-limit is for --exact; add it, or leave it out"),
    ],
)
def test_flags_that_do_nothing_are_refused(given: SearchKeywords, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        search_options(given)
    assert str(refused.value) == message


def test_the_command_line_knows_its_flags_without_heavy_imports() -> None:
    code = (
        "import sys, regard.cli.main as main, typer; typer.main.get_command(main.app);"
        "print(sorted({'torch', 'numpy', 'sentencepiece'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"temperature": 2.0},
            "temperature = 2.0: has no effect without sample= or mbr=; add it, or leave temperature out",
        ),
        ({"top_k": 3, "exact": True}, "top_k = 3: has no effect without sample= or mbr=; add it, or leave top_k out"),
        ({"diversity": 2.0}, "diversity = 2.0: has no effect without groups=; add it, or leave diversity out"),
        ({"temperature": "hot"}, "temperature = 'hot': must be a number"),
        ({"alpha": None}, "alpha = None: must be a number"),
        ({"sample": "no"}, "sample = 'no': must be True or False"),
        ({"suppress": 5}, "suppress = 5: must be a list of pieces"),
    ],
)
def test_options_that_do_nothing_or_have_another_type(given: Any, message: str) -> None:
    """The rule of the flags holds for the keywords too."""
    with pytest.raises(SearchError) as refused:
        SearchOptions(**given)
    assert str(refused.value) == message


def test_docstrings_name_every_option() -> None:
    from regard.tasks.generate.writer import Writer
    from regard.tasks.translate.translator import Translator

    for documented in (SearchOptions, Translator.translate, Writer.generate):
        text = inspect.getdoc(documented) or ""
        assert all(f"\n    {name} = {field.default!r}: " in text for name, field in FIELDS.items())
        assert "--" not in text


def test_options_that_were_checked_before_are_told_apart_by_type() -> None:
    assert SearchOptions.of({"beam": 1, "alpha": 0.0}) is SearchOptions.of({"beam": 1, "alpha": 0.0})
    with pytest.raises(SearchError, match="beam = True"):
        SearchOptions.of({"beam": True, "alpha": 0.0})
    with pytest.raises(SearchError, match=r"beam = 1\.0"):
        SearchOptions.of({"beam": 1.0, "alpha": 0.0})  # type: ignore[typeddict-item]
    assert SearchOptions.of({"suppress": ["a"]}) == SearchOptions(suppress=("a",))  # a list cannot be remembered
    with pytest.raises(SearchError, match=r"beam = \[5\]"):
        SearchOptions.of({"beam": [5]})  # type: ignore[typeddict-item]
