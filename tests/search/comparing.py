"""What it means that a search found what an oracle found."""

import pytest

from regard.search.hypothesis import Hypothesis
from search.oracles import Found


def assert_same(found: list[Hypothesis], expected: list[Found]) -> None:
    assert [(one.tokens, one.finished) for one in found] == [(one[0], one[3]) for one in expected]
    assert [one.logprob for one in found] == pytest.approx([one[1] for one in expected], abs=1e-9)
    assert [one.score for one in found] == pytest.approx([one[2] for one in expected], abs=1e-9)


def plain(found: list[Hypothesis]) -> list[Found]:
    return [(one.tokens, one.logprob, one.score, one.finished) for one in found]
