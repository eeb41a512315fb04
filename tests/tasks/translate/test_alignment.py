"""Word alignments from attention, on matrices small enough to add up by hand."""

import pytest
import torch

from regard.tasks.translate.alignment import best_links, token_weights, word_weights


def test_the_mean_over_heads_of_one_layer_or_of_all() -> None:
    # two layers, two heads, T 1, S 2
    stack = torch.tensor([[[[1.0, 0.0]], [[0.5, 0.5]]], [[[0.0, 1.0]], [[0.1, 0.9]]]])
    assert token_weights(stack, 0).tolist() == [[0.75, 0.25]]
    assert token_weights(stack, 1).tolist() == [[pytest.approx(0.05), pytest.approx(0.95)]]
    assert token_weights(stack).tolist() == [[pytest.approx(0.4), pytest.approx(0.6)]]


def test_subwords_are_summed_over_the_source_and_averaged_over_the_target() -> None:
    # source "ab|c d" -> tokens ab c d </s> of words 0 0 1; target "x y|z" -> tokens x y z </s> of words 0 1 1
    weights = torch.tensor(
        [
            [0.1, 0.2, 0.5, 0.2],
            [0.6, 0.1, 0.1, 0.2],
            [0.1, 0.3, 0.5, 0.1],
            [0.0, 0.0, 0.0, 1.0],  # the end mark's row, which counts for nothing
        ]
    )
    found = word_weights(weights, [0, 0, 1], [0, 1, 1], 2, 2)
    # word x: (0.1 + 0.2, 0.5) / 0.8; word yz: ((0.7 + 0.4) / 2, (0.1 + 0.5) / 2) = (0.55, 0.3) / 0.85
    assert found.tolist() == [
        [pytest.approx(0.375), pytest.approx(0.625)],
        [pytest.approx(0.55 / 0.85), pytest.approx(0.3 / 0.85)],
    ]
    assert best_links(found) == [(1, 0), (0, 1)]


def test_a_word_that_looks_only_at_the_end_mark_has_no_link() -> None:
    found = word_weights(torch.tensor([[0.0, 0.0, 1.0], [0.5, 0.5, 0.0]]), [0, 1], [0, 1], 2, 2)
    assert found.tolist() == [[0.0, 0.0], [0.5, 0.5]]
    assert best_links(found) == [(0, 1)]  # of equals the first


def test_words_past_the_tokens_have_rows_of_zeros() -> None:
    found = word_weights(torch.tensor([[1.0]]), [0], [0], 2, 3)
    assert found.tolist() == [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert best_links(found) == [(0, 0)]


@pytest.mark.parametrize(("source_count", "target_count"), [(0, 0), (0, 2), (2, 0)])
def test_nothing_to_align(source_count: int, target_count: int) -> None:
    found = word_weights(torch.ones(3, 3), list(range(source_count)), [0] * target_count, source_count, target_count)
    assert found.shape == (target_count, source_count)
    assert best_links(found) == []


def test_chosen_heads_and_the_row_after_reading() -> None:
    stack = torch.arange(24.0).view(2, 2, 3, 2)  # two layers, two heads, T 2 and the end mark, S 2
    heads = token_weights(stack, heads=[(0, 1), (1, 0)])
    assert heads.tolist() == ((stack[0, 1] + stack[1, 0]) / 2).tolist()
    assert token_weights(stack, heads=[(0, 1)], shift=True).tolist() == [[8.0, 9.0], [10.0, 11.0], [10.0, 11.0]]


def test_links_by_both_sides() -> None:
    weights = torch.tensor([[0.6, 0.4, 0.0], [0.9, 0.1, 0.0], [0.3, 0.3, 0.4]])
    assert best_links(weights) == [(0, 0), (0, 1), (2, 2)]
    # scaled by columns: source 0 fits target 1 best (0.9), source 1 target 0 (0.4), source 2 target 2
    assert best_links(weights, "both") == [(0, 1), (2, 2)]
    assert best_links(weights, "either") == [(0, 0), (1, 0), (0, 1), (2, 2)]
    assert best_links(weights, least=0.5) == [(0, 0), (0, 1)]
