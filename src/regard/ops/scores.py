"""Attention score functions. Each returns the unnormalised scores of every query with every key.

Functions that take weights are the whole equation. A `ScoreFunction` takes prepared queries and keys, without weights. `layers.scores`
composes both, so that the keys are projected once.

Shapes: T queries, S keys, d their width, q and k where they differ, a inner width, w = q + k, P positions; leading
dimensions (batch, heads) are carried along.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

ScoreFunction = Callable[[Tensor, Tensor], Tensor]
"""(query [..., T, d], keys [..., S, d]) -> scores [..., T, S]"""


def dot(query: Float[Tensor, "... T d"], keys: Float[Tensor, "... S d"]) -> Float[Tensor, "... T S"]:
    """q . k (Luong et al. 2015, "dot"). Of the states themselves it is the lectures' score without parameters."""
    return torch.einsum("...td,...sd->...ts", query, keys)


def scaled_dot(query: Float[Tensor, "... T d"], keys: Float[Tensor, "... S d"]) -> Float[Tensor, "... T S"]:
    """q . k / sqrt(d) (Vaswani et al. 2017, eq. 1): the variance of q . k grows with d, this keeps it at one."""
    return dot(query, keys) / math.sqrt(query.shape[-1])


def general(
    query: Float[Tensor, "... T q"], keys: Float[Tensor, "... S k"], weight: Float[Tensor, "q k"]
) -> Float[Tensor, "... T S"]:
    """q^T W k with W [q, k] (Luong et al. 2015, "general")."""
    return dot(query @ weight, keys)


def concat(
    query: Float[Tensor, "... T q"],
    keys: Float[Tensor, "... S k"],
    weight: Float[Tensor, "a w"],
    vector: Float[Tensor, " a"],
) -> Float[Tensor, "... T S"]:
    """v . tanh(W [q; k]) with W [a, q + k] and v [a] (Luong et al. 2015, "concat"). Split into W = [W_q | W_k] it is `additive`."""
    width = query.shape[-1]
    return additive(query, keys, weight[:, :width], weight[:, width:], vector)


def additive(
    query: Float[Tensor, "... T q"],
    keys: Float[Tensor, "... S k"],
    query_weight: Float[Tensor, "a q"],
    key_weight: Float[Tensor, "a k"],
    vector: Float[Tensor, " a"],
) -> Float[Tensor, "... T S"]:
    """v . tanh(W q + U k) with W [a, q], U [a, k] and v [a] (Bahdanau et al. 2015, section A.1.2)."""
    return tanh_sum(F.linear(query, query_weight), F.linear(keys, key_weight), vector)


def tanh_sum(
    query: Float[Tensor, "... T a"], keys: Float[Tensor, "... S a"], vector: Float[Tensor, " a"]
) -> Float[Tensor, "... T S"]:
    """v . tanh(q + k): `additive` of projected queries and keys. It is the only score that needs [..., T, S, a] numbers in memory."""
    return torch.tanh(query[..., :, None, :] + keys[..., None, :, :]) @ vector


def cosine(
    query: Float[Tensor, "... T d"], keys: Float[Tensor, "... S d"], strength: Float[Tensor, "#one"] | float = 1.0
) -> Float[Tensor, "... T S"]:
    """b cos(q, k) (Graves et al. 2014, eqs. 5 and 6): independent of the norms; b sharpens the softmax."""
    return dot(strength * F.normalize(query, dim=-1), F.normalize(keys, dim=-1))


def location(
    query: Float[Tensor, "... T q"], keys: Float[Tensor, "... S k"], weight: Float[Tensor, "P q"]
) -> Float[Tensor, "... T S"]:
    """(W q)_s with W [positions, q] (Luong et al. 2015, eq. 8): depends only on the query and on the number of keys."""
    return by_position(F.linear(query, weight), keys)


def by_position(query: Float[Tensor, "... T P"], keys: Float[Tensor, "... S k"]) -> Float[Tensor, "... T S"]:
    """The first S of a query's P numbers, one for each key."""
    if keys.shape[-2] > query.shape[-1]:
        raise ValueError(
            f"a source of {keys.shape[-2]} tokens, but location-based attention reaches {query.shape[-1]}; "
            "shorten it, or train with a larger model.max_positions"
        )
    return query[..., : keys.shape[-2]]


def mahalanobis(
    query: Float[Tensor, "... T d"], keys: Float[Tensor, "... S d"], root: Float[Tensor, "a d"]
) -> Float[Tensor, "... T S"]:
    """-1/2 (q - k)^T M (q - k) with M = L^T L and L [a, d]: the nearer by this measure, the higher."""
    return near(F.linear(query, root), F.linear(keys, root))


def gaussian(
    query: Float[Tensor, "... T d"], keys: Float[Tensor, "... S d"], variance: Float[Tensor, "#one"] | float = 1.0
) -> Float[Tensor, "... T S"]:
    """-|q - k|^2 / (2 s^2): under the softmax the Gaussian kernel's weights (Nadaraya 1964, Watson 1964)."""
    return near(query, keys) / variance


def near(query: Float[Tensor, "... T d"], keys: Float[Tensor, "... S d"]) -> Float[Tensor, "... T S"]:
    """-1/2 |q - k|^2 = q . k - 1/2 |q|^2 - 1/2 |k|^2"""
    lengths = query.square().sum(dim=-1)[..., :, None] + keys.square().sum(dim=-1)[..., None, :]
    return dot(query, keys) - lengths / 2.0


def latent(
    query: Float[Tensor, "... T q"],
    keys: Float[Tensor, "... S k"],
    query_weight: Float[Tensor, "a q"],
    key_weight: Float[Tensor, "a k"],
) -> Float[Tensor, "... T S"]:
    """(A q) . (B k) with A [a, q] and B [a, k], a small: `general` through a space of few dimensions, W = A^T B of rank a."""
    return dot(F.linear(query, query_weight), F.linear(keys, key_weight))
