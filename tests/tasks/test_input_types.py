"""What is not a list of texts is refused in one line that names the position and the type."""

from collections.abc import Callable
from typing import Any

import pytest

from regard.errors import InputTypeError, RegardError
from regard.tasks.checks import check_text, check_texts

GOOD = ["le chat", "il dort"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("le chat", "expected a list of texts, not one text: write ['le chat']"),
        (b"le chat", "expected a list of texts, not of type bytes: give a list of str"),
        (None, "expected a list of texts, not None: give a list of str"),
        (3, "expected a list of texts, not of type int: give a list of str"),
        (iter(GOOD), "expected a list of texts, not of type list_iterator: give a list of str"),
        ({"a": "b"}, "expected a list of texts, not of type dict: give a list of str"),
        ([None], "texts[0] is None, not a text: give a str at each of the 1 positions"),
        (["a", 3], "texts[1] is of type int, not a text: give a str at each of the 2 positions"),
        (("a", "b", ["c"]), "texts[2] is of type list, not a text: give a str at each of the 3 positions"),
    ],
)
def test_the_message(given: Any, message: str) -> None:
    for family in (InputTypeError, RegardError, TypeError):
        with pytest.raises(family) as raised:
            check_texts(given)
        assert str(raised.value) == message


def test_what_is_a_list_of_texts() -> None:
    import numpy as np

    for texts in ([], (), GOOD, tuple(GOOD), np.array(GOOD)):
        check_texts(texts)
    check_text("")
    with pytest.raises(InputTypeError, match="expected one prompt, not None: give a str"):
        check_text(None, "prompt")  # type: ignore[arg-type]


def calls(served: Any) -> dict[str, Callable[[Any], object]]:
    """The calls of a served model that take texts."""
    found: dict[str, Callable[[Any], object]] = {}
    if hasattr(served, "translate"):
        found |= {
            "texts": served.translate,
            "sources": lambda given: served.score(given, GOOD),
            "targets": lambda given: served.align(GOOD, given),
        }
    if hasattr(served, "generate"):
        found |= {"prompts": served.generate, "texts": served.score}
    if hasattr(served, "classify"):
        found |= {"texts": served.classify}
    return found


@pytest.mark.parametrize("name", ["translate-transformer", "generate-markov", "classify-bag", "tag-recurrent"])
def test_every_call_of_the_api(name: str) -> None:
    from pathlib import Path

    import regard

    served = regard.load(Path(__file__).parent.parent / "format1" / name)
    assert calls(served)
    for what, call in calls(served).items():
        for given, words in (
            ("le chat", "not one"),
            ([None], rf"{what}\[0\] is None"),
            ([GOOD[0], 3], rf"{what}\[1\]"),
        ):
            with pytest.raises(InputTypeError, match=words):
                call(given)
