"""The longest output is learned where training outputs are long, kept in the bundle, and used by searches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from regard.models.config import TransformerConfig
from regard.search.options import SearchOptions
from regard.tasks.translate.output_length import OutputLength, learned_length, max_output_length
from regard.tasks.translate.settings import TranslateBundle
from regard.tasks.translate.translator import Translator

LENGTHS = {"languages": {}, "vocabulary": {"source": 300, "target": 300, "joint": True}}


def lengths(*pairs: tuple[int, int, int]) -> tuple[Any, Any]:
    """(how often, source tokens, target tokens) as two arrays."""
    rows = [(source, target) for times, source, target in pairs for _ in range(times)]
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(1000, 4, 18)], None),  # 2 x 4 + 10
        ([(999, 4, 18), (1, 4, 19)], None),  # one in a thousand is an exception
        ([(900, 4, 8), (100, 4, 24)], (5, 30)),  # ceil(1.25 x (24 - 10) / 4), 1.25 x 24
        ([(500, 3, 30), (500, 10, 20)], (9, 38)),  # ceil(1.25 x (30 - 10) / 3), ceil(1.25 x 30)
        ([(9990, 4, 24), (5, 1, 1000)], (5, 1250)),  # the longest are no measure of the factor
        ([(1500, 10, 10), (5, 1, 60)], (63, 75)),
        (
            [(99, 10, 10), (1, 10, 40)],
            None,
        ),  # of few pairs the longest are above the quantile: never below the usual limit
        ([(100, 1, 5000)], (1000, 6250)),  # the largest factor that a bundle may have
        ([], None),
    ],
)
def test_learned_length(pairs: list[tuple[int, int, int]], expected: tuple[int, int] | None) -> None:
    assert learned_length(*lengths(*pairs)) == (None if expected is None else OutputLength(*expected))


def test_a_few_long_outputs_do_not_lengthen_all_others() -> None:
    found = learned_length(*lengths((1500, 10, 10), (5, 1, 60)))
    assert found is not None
    assert [found.of(source) for source in (1, 10, 30, 200)] == [73, 75, 75, 410]  # 1.25 x 60, or 2 x 200 + 10
    assert max_output_length(30, SearchOptions(), 0, None, found) == 75


def test_the_bundle_keeps_it_only_where_it_is_needed() -> None:
    usual, long = (
        TranslateBundle(model=TransformerConfig(), **{**LENGTHS, **more})  # type: ignore[arg-type]
        for more in ({}, {"output_per_source": 8})
    )
    assert "output_per_source" not in usual.model_dump()
    assert long.model_dump()["output_per_source"] == 8
    assert usual.inherited(long).output_per_source == 8
    assert long.inherited(usual).output_per_source == 8
    assert usual.inherited(usual).output_per_source is None
    assert usual.longest_output is None
    assert long.longest_output == OutputLength(8), "a bundle without the limit in tokens has none"
    assert "output_most" not in long.model_dump()
    limited = long.model_copy(update={"output_most": 90})
    assert TranslateBundle(**limited.model_dump()).longest_output == OutputLength(8, 90)
    assert usual.inherited(limited).longest_output == OutputLength(8, 90)
    assert long.inherited(limited).longest_output == OutputLength(8)
    assert limited.inherited(long.model_copy(update={"output_per_source": 9, "output_most": 70})).longest_output == (
        OutputLength(9, 90)
    )


def test_a_search_may_write_so_much(random_model: Callable[..., Translator]) -> None:
    options = SearchOptions()
    assert [max_output_length(9, options, 0, None, OutputLength(times)) for times in (2, 8)] == [28, 82]
    assert max_output_length(9, SearchOptions(max_length=5), 0, None, OutputLength(8)) == 5
    assert max_output_length(9, options, 0, 50, OutputLength(8)) == 49
    plain = random_model()
    longer = Translator(plain.network, plain.tokenizers, longest=OutputLength(8))
    tokens = len(plain.read(["le chat"])[0].ids)
    short, long = (model.translate(["le chat"], beam=1)[0] for model in (plain, longer))
    assert len(short.tokens) == 2 * tokens + 10  # weights without training do not end it
    assert len(long.tokens) == 8 * tokens + 10
