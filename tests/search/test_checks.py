"""Options out of range: one line that names the option, its value and the range, before the model is asked anything."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from regard.errors import SearchError
from regard.search.beam import beam
from regard.search.exhaustive import exhaustive
from regard.search.greedy import greedy
from regard.search.sampling import sample
from regard.search.scoring import score


class Untouchable:
    """A model that fails the test if it is asked anything."""

    def __getattr__(self, name: str) -> Any:
        pytest.fail(f"the model was asked for {name} before the options were checked")


SOURCE = torch.zeros((2, 3), dtype=torch.long)


@pytest.mark.parametrize(
    ("search", "options", "message"),
    [
        (beam, {"width": 0}, "beam = 0: must be a whole number of at least 1"),
        (beam, {"width": -3}, "beam = -3"),
        (beam, {"width": 2.5}, r"beam = 2\.5"),
        (beam, {"width": True}, "beam = True"),
        (beam, {"alpha": -0.1}, r"alpha = -0\.1: must be between 0"),
        (beam, {"alpha": math.nan}, "alpha = nan"),
        (beam, {"alpha": 1e9}, r"alpha = 1000000000\.0"),
        (beam, {"nbest": 0}, "nbest = 0"),
        (beam, {"width": 4, "nbest": 5}, "nbest = 5: a beam of 4 .* raise it to 5"),
        (beam, {"width": 4, "stop_after": 2, "nbest": 3}, "nbest = 3: stop_after = 2"),
        (beam, {"stop_after": 0}, "stop_after = 0"),
        (beam, {"max_length": 0}, "max_length = 0"),
        (beam, {"max_length": torch.tensor([3, 0])}, "max_length = 0"),
        (beam, {"max_length": torch.tensor([3])}, r"max_length has shape \[1\]"),
        (greedy, {"max_length": -1}, "max_length = -1"),
        (greedy, {"alpha": math.inf}, "alpha = inf"),
        (exhaustive, {"max_length": 0}, "max_length = 0"),
        (exhaustive, {"nbest": 0}, "nbest = 0"),
        (exhaustive, {"alpha": -1.0}, "alpha"),
        (sample, {"seed": 1, "temperature": 0.0}, r"temperature = 0\.0: must be above 0; .* greedy"),
        (sample, {"seed": 1, "temperature": math.nan}, "temperature = nan"),
        (sample, {"seed": 1, "temperature": math.inf}, "temperature = inf"),
        (sample, {"seed": 1, "top_k": -1}, "top_k = -1: must be a whole number of at least 0"),
        (sample, {"seed": 1, "top_p": 0.0}, r"top_p = 0\.0: must be above 0 and at most 1"),
        (sample, {"seed": 1, "top_p": 1.01}, r"top_p = 1\.01"),
        (sample, {"seed": 1, "samples": 0}, "samples = 0"),
        (sample, {"seed": -1}, "seed = -1"),
        (sample, {"seed": 2**64}, "seed = 18446744073709551616"),
        (sample, {"seed": 1, "sentences": [4]}, "sentences has 1 numbers for 2 sources"),
    ],
)
def test_options_out_of_range_are_refused(search: Callable[..., Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(SearchError, match=message) as refused:
        search(Untouchable(), SOURCE, **{"max_length": 5, **options})
    assert "\n" not in str(refused.value)


def test_scoring_refuses_a_negative_alpha() -> None:
    with pytest.raises(SearchError, match="alpha"):
        score(Untouchable(), SOURCE, [[1], [2]], alpha=-1.0)  # type: ignore[arg-type]
