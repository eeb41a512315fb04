"""Every score function: numbers worked out by hand, slow loops over pairs, and the equalities between them."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard.ops import scores
from regard.ops.attention import attend, attention_weights

QUERY = torch.tensor([[1.0, 2.0]])
KEYS = torch.tensor([[3.0, -1.0], [0.0, 1.0]])


def by_hand(found: Tensor, *expected: float) -> None:
    torch.testing.assert_close(found, torch.tensor([expected]))


def test_products_by_hand() -> None:
    by_hand(scores.dot(QUERY, KEYS), 1.0, 2.0)
    by_hand(scores.scaled_dot(QUERY, KEYS), 1.0 / math.sqrt(2.0), 2.0 / math.sqrt(2.0))
    # q^T W = (1, 2) W = (1 * 2 + 2 * 1, 1 * 0 + 2 * -1) = (4, -2)
    weight = torch.tensor([[2.0, 0.0], [1.0, -1.0]])
    by_hand(scores.general(QUERY, KEYS, weight), 4.0 * 3.0 + 2.0, -2.0)
    # A q = 1 + 2 = 3 and B k = k_1 - k_2: 4 and -1
    by_hand(scores.latent(QUERY, KEYS, torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0, -1.0]])), 12.0, -3.0)


def test_cosine_by_hand() -> None:
    by_hand(scores.cosine(QUERY, KEYS), 1.0 / math.sqrt(5.0 * 10.0), 2.0 / math.sqrt(5.0))
    by_hand(scores.cosine(7.0 * QUERY, 0.1 * KEYS, strength=3.0), 3.0 / math.sqrt(50.0), 6.0 / math.sqrt(5.0))


def test_additive_by_hand() -> None:
    # W q = (1, 2) and U k = (k_2, k_1): sums (0, 5) and (2, 2)
    query_weight, key_weight = torch.eye(2), torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    vector = torch.tensor([10.0, 1.0])
    by_hand(
        scores.additive(QUERY, KEYS, query_weight, key_weight, vector),
        math.tanh(5.0),
        11.0 * math.tanh(2.0),
    )


def test_location_by_hand() -> None:
    # three positions, of which two are asked for: (1, 2) . (1, 0), (1, 2) . (1, 1)
    weight = torch.tensor([[1.0, 0.0], [1.0, 1.0], [9.0, 9.0]])
    by_hand(scores.location(QUERY, KEYS, weight), 1.0, 3.0)
    by_hand(scores.location(QUERY, -5.0 * KEYS, weight), 1.0, 3.0)
    with pytest.raises(ValueError, match="a source of 2 tokens, but location-based attention reaches 1"):
        scores.location(QUERY, KEYS, weight[:1])


def test_distances_by_hand() -> None:
    # q - k = (-2, 3) and (1, 1)
    by_hand(scores.gaussian(QUERY, KEYS), -6.5, -1.0)
    by_hand(scores.gaussian(QUERY, KEYS, variance=4.0), -6.5 / 4.0, -0.25)
    # L (q - k) = (2 * -2, -2 + 3) and (2, 2)
    root = torch.tensor([[2.0, 0.0], [1.0, 1.0]])
    by_hand(scores.mahalanobis(QUERY, KEYS, root), -17.0 / 2.0, -4.0)


def test_the_gaussian_kernel_under_the_softmax() -> None:
    """Weights are exp(-|q - k|^2 / 2) over their sum: the kernel regression of Nadaraya and Watson."""
    kernel = [math.exp(-6.5), math.exp(-1.0)]
    by_hand(attention_weights(QUERY, KEYS, score=scores.gaussian), *(value / sum(kernel) for value in kernel))


def _weights() -> dict[str, Tensor]:
    torch.manual_seed(0)
    shapes = {"W": (6, 4), "U": (6, 5), "v": (6,), "M": (4, 5), "joint": (6, 9), "L": (3, 4), "P": (9, 4)}
    return {name: torch.randn(shape, dtype=torch.float64) for name, shape in shapes.items()}


WEIGHTS = _weights()
W, U, V, M, JOINT, L, P = WEIGHTS.values()

PAIRWISE: dict[str, tuple[scores.ScoreFunction, Callable[[Tensor, Tensor, int], Tensor], int]] = {
    "dot": (scores.dot, lambda q, k, s: q @ k, 4),
    "scaled_dot": (scores.scaled_dot, lambda q, k, s: q @ k / 2.0, 4),
    "general": (lambda q, k: scores.general(q, k, M), lambda q, k, s: q @ M @ k, 5),
    "concat": (
        lambda q, k: scores.concat(q, k, JOINT, V),
        lambda q, k, s: V @ torch.tanh(JOINT @ torch.cat([q, k])),
        5,
    ),
    "additive": (lambda q, k: scores.additive(q, k, W, U, V), lambda q, k, s: V @ torch.tanh(W @ q + U @ k), 5),
    "cosine": (scores.cosine, lambda q, k, s: q @ k / (q.norm() * k.norm()), 4),
    "location": (lambda q, k: scores.location(q, k, P), lambda q, k, s: P[s] @ q, 5),
    "mahalanobis": (
        lambda q, k: scores.mahalanobis(q, k, L),
        lambda q, k, s: -0.5 * (q - k) @ (L.T @ L) @ (q - k),
        4,
    ),
    "gaussian": (lambda q, k: scores.gaussian(q, k, 2.5), lambda q, k, s: -(q - k).square().sum() / 5.0, 4),
    "latent": (lambda q, k: scores.latent(q, k, W, U), lambda q, k, s: (W @ q) @ (U @ k), 5),
}


@pytest.mark.parametrize("name", PAIRWISE)
def test_against_a_loop_over_pairs(name: str) -> None:
    """Batches and heads, three queries, seven keys: each score alone, from the equation as it stands in the paper."""
    score, of_pair, key_width = PAIRWISE[name]
    torch.manual_seed(1)
    query, keys = torch.randn(2, 2, 3, 4).double(), torch.randn(2, 2, 7, key_width).double()
    values = torch.randn(2, 2, 7, 6).double()
    expected = torch.zeros(2, 2, 3, 7, dtype=torch.float64)
    for b, h, t, s in torch.cartesian_prod(*(torch.arange(size) for size in expected.shape)).tolist():
        expected[b, h, t, s] = of_pair(query[b, h, t], keys[b, h, s], s)
    torch.testing.assert_close(score(query, keys), expected)
    mask = torch.zeros(2, 1, 1, 7, dtype=torch.float64)
    mask[1, ..., 4:] = -torch.inf
    context = torch.softmax(expected + mask, dim=-1) @ values
    torch.testing.assert_close(attend(query, keys, values, score=score, mask=mask), context)


def test_concat_with_split_weights_is_additive() -> None:
    torch.manual_seed(2)
    query, keys = torch.randn(3, 4).double(), torch.randn(7, 5).double()
    joined = torch.cat([W, U], dim=1)
    assert torch.equal(scores.concat(query, keys, joined, V), scores.additive(query, keys, W, U, V))


def test_latent_is_general_of_low_rank() -> None:
    torch.manual_seed(2)
    query, keys = torch.randn(3, 4).double(), torch.randn(7, 5).double()
    a, b = W[:2], U[:2]
    assert torch.linalg.matrix_rank(a.T @ b) == 2
    torch.testing.assert_close(scores.latent(query, keys, a, b), scores.general(query, keys, a.T @ b))
