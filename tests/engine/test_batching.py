"""Batches hold every sequence once, within the budget, those of like length together."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.engine.batching import length_batches, padded
from regard.errors import SearchError


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(1, 120))
def test_every_index_once_and_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = list(length_batches(lengths, budget))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        area = len(batch) * (max(lengths[index] for index in batch) + 1)
        assert area <= budget or len(batch) == 1
    in_order = [lengths[index] for batch in batches for index in batch]
    assert in_order == sorted(lengths, reverse=True)
    for batch in batches[:-1]:  # none could have taken one more
        assert (len(batch) + 1) * (lengths[batch[0]] + 1) > budget


def test_by_hand() -> None:
    assert list(length_batches([2, 5, 1, 2], 8)) == [[1], [0, 3], [2]]
    assert list(length_batches([2, 2, 2], 9)) == [[0, 1, 2]]  # equal lengths stay in order
    assert list(length_batches([], 9)) == []


def test_a_budget_below_one() -> None:
    with pytest.raises(SearchError, match="batch_tokens = 0: must be a whole number of at least 1"):
        list(length_batches([1], 0))


def test_padding() -> None:
    table = padded([[4, 0], [5, 6, 0], [0]], 9, torch.device("cpu"))
    assert table.tolist() == [[4, 0, 9], [5, 6, 0], [0, 9, 9]]
    assert table.dtype == torch.long
