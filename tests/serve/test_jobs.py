"""The effort of a batch: how long its search may take, beside an ordinary one."""

from typing import Any

import pytest

from regard.search.options import SearchOptions
from regard.serve.jobs import effort


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"beam": 1}, 40.0),
        ({"beam": 5}, 40.0),
        ({"beam": 10}, 80.0),
        ({"beam": 1, "min_length": 1000}, 6000.0),  # 2 texts of 1000 tokens, each as long as 3 characters take
        ({"beam": 10, "min_length": 1000}, 12000.0),
        ({"sample": True, "nbest": 100}, 800.0),
        ({"mbr": 50}, 400.0),
        ({"exact": True}, float("inf")),
        ({"exhaustive": True, "max_length": 3}, float("inf")),
    ],
)
def test_the_options_count_in_the_effort_of_a_batch(options: Any, expected: float) -> None:
    assert effort(40, 2, SearchOptions(**options)) == expected
