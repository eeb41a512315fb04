"""Masks, as small tables written out."""

import torch

from regard.ops.masks import additive, causal, real_tokens


def test_causal_is_lower_triangular() -> None:
    assert causal(3, 3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_last_query_stands_at_the_last_key() -> None:
    assert causal(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]


def test_padding_and_additive_form() -> None:
    allowed = real_tokens(torch.tensor([[5, 0, 9], [4, 9, 9]]), pad=9)
    assert allowed.tolist() == [[True, True, False], [True, False, False]]
    assert additive(allowed).tolist() == [[0.0, 0.0, float("-inf")], [0.0, float("-inf"), float("-inf")]]
