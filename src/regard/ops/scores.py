"""Score functions: how well a query fits a key. Each returns the unnormalised scores of every query with every key.

Those that take weights are the whole equation. Those of the type `Score` compare a query with a key as they are; `layers.scores` makes the
first of the second, so that what concerns the keys alone is computed once.

Shapes: T queries, S keys, d their width, q and k where they differ, a inner width; leading dimensions (batch, heads) are carried along.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

Score = Callable[[Tensor, Tensor], Tensor]
"""(query [..., T, d], keys [..., S, d]) -> scores [..., T, S]"""


def dot(query: Tensor, keys: Tensor) -> Tensor:
    """q . k (Luong et al. 2015, "dot"). Of the states themselves it is the lectures' score without parameters."""
    return torch.einsum("...td,...sd->...ts", query, keys)


def scaled_dot(query: Tensor, keys: Tensor) -> Tensor:
    """q . k / sqrt(d) (Vaswani et al. 2017, eq. 1): the variance of q . k grows with d, this keeps it at one."""
    return dot(query, keys) / math.sqrt(query.shape[-1])


def general(query: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    """q^T W k with W [q, k] (Luong et al. 2015, "general")."""
    return dot(query @ weight, keys)


def concat(query: Tensor, keys: Tensor, weight: Tensor, vector: Tensor) -> Tensor:
    """v . tanh(W [q; k]) with W [a, q + k] and v [a] (Luong et al. 2015, "concat"). Split into W = [W_q | W_k] it is `additive`."""
    width = query.shape[-1]
    return additive(query, keys, weight[:, :width], weight[:, width:], vector)


def additive(query: Tensor, keys: Tensor, query_weight: Tensor, key_weight: Tensor, vector: Tensor) -> Tensor:
    """v . tanh(W q + U k) with W [a, q], U [a, k] and v [a] (Bahdanau et al. 2015, section A.1.2)."""
    return tanh_sum(F.linear(query, query_weight), F.linear(keys, key_weight), vector)


def tanh_sum(query: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """v . tanh(q + k): what `additive` does when both are mapped already; the only score that holds [..., T, S, a] numbers."""
    return torch.tanh(query[..., :, None, :] + keys[..., None, :, :]) @ vector


def cosine(query: Tensor, keys: Tensor, strength: Tensor | float = 1.0) -> Tensor:
    """b cos(q, k) (Graves et al. 2014, eqs. 5 and 6): content alone, whatever the lengths; b sharpens."""
    return dot(strength * F.normalize(query, dim=-1), F.normalize(keys, dim=-1))


def location(query: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    """(W q)_s with W [positions, q] (Luong et al. 2015, eq. 8): the query alone tells where to look; of the keys, their number counts."""
    return by_position(F.linear(query, weight), keys)


def by_position(query: Tensor, keys: Tensor) -> Tensor:
    """The first S of a query's numbers [..., T, positions]: one for each key."""
    if keys.shape[-2] > query.shape[-1]:
        raise ValueError(
            f"a source of {keys.shape[-2]} tokens, but location-based attention reaches {query.shape[-1]}; "
            "shorten it, or train with a larger model.max_positions"
        )
    return query[..., : keys.shape[-2]]


def mahalanobis(query: Tensor, keys: Tensor, root: Tensor) -> Tensor:
    """-1/2 (q - k)^T M (q - k) with M = L^T L and L [a, d]: the nearer by this measure, the higher."""
    return near(F.linear(query, root), F.linear(keys, root))


def gaussian(query: Tensor, keys: Tensor, variance: Tensor | float = 1.0) -> Tensor:
    """-|q - k|^2 / (2 s^2): under the softmax the Gaussian kernel's weights (Nadaraya 1964, Watson 1964)."""
    return near(query, keys) / variance


def near(query: Tensor, keys: Tensor) -> Tensor:
    """-1/2 |q - k|^2 = q . k - 1/2 |q|^2 - 1/2 |k|^2"""
    lengths = query.square().sum(dim=-1)[..., :, None] + keys.square().sum(dim=-1)[..., None, :]
    return dot(query, keys) - lengths / 2.0


def latent(query: Tensor, keys: Tensor, query_weight: Tensor, key_weight: Tensor) -> Tensor:
    """(A q) . (B k) with A [a, q] and B [a, k], a small: `general` through a space of few dimensions, W = A^T B of rank a."""
    return dot(F.linear(query, query_weight), F.linear(keys, key_weight))
