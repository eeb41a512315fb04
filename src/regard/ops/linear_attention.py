"""Attention by a kernel: exp(q . k) becomes f(q) . f(k), so that the sum over the keys is taken once for all queries.

y_i = sum over j of (f(q_i) . f(k_j)) v_j / sum over j of f(q_i) . f(k_j) (Katharopoulos et al. 2020). The causal sum runs in chunks:
inside a chunk all pairs are compared, and what came before is one matrix. Time is O(T C), and memory O(T), for chunks of C positions.

Shapes: B batch, H heads, T queries, S keys, d head width, f features, v value width, v1 = v + 1, N chunks, C positions of a chunk.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

CHUNK = 64
SMALLEST = 1e-20
"""The least denominator. A sum of products of positive features is far above it."""


def elu_features(x: Float[Tensor, "*lead d"]) -> Float[Tensor, "*lead d"]:
    """elu(x) + 1: positive, and as wide as x (Katharopoulos et al. 2020)."""
    return F.elu(x) + 1.0


def orthogonal_directions(count: int, width: int) -> Float[Tensor, "f d"]:
    """Gaussian directions in orthogonal groups of `width`, with the lengths of Gaussian vectors (Choromanski et al. 2021)."""
    groups = [torch.linalg.qr(torch.randn(width, width))[0] for _ in range(-(-count // width))]
    lengths: Tensor = torch.linalg.vector_norm(torch.randn(count, width), dim=1, keepdim=True)
    return torch.cat(groups)[:count] * lengths


def log_positive_features(x: Float[Tensor, "*lead d"], directions: Float[Tensor, "f d"]) -> Float[Tensor, "*lead f"]:
    """log of exp(w . x - |x|^2 / 2) / sqrt(f): the expectation of f(x) . f(y) over Gaussian w is exp(x . y) (Choromanski et al. 2021)."""
    logs: Tensor = x @ directions.T - x.square().sum(dim=-1, keepdim=True) / 2 - math.log(len(directions)) / 2
    return logs


def kernel_attention(
    query: Float[Tensor, "B H T f"], keys: Float[Tensor, "B H S f"], values: Float[Tensor, "B H S v"]
) -> Float[Tensor, "B H T v"]:
    """Every query with every key, by one sum over the keys."""
    return normalised(query @ (keys.transpose(2, 3) @ with_ones(values)))


def causal_kernel_attention(
    query: Float[Tensor, "B H T f"],
    keys: Float[Tensor, "B H T f"],
    values: Float[Tensor, "B H T v"],
    sums: Float[Tensor, "B H f v1"],  # of the keys and values before the first position, with a column of their count
    chunk: int = CHUNK,
) -> tuple[Float[Tensor, "B H T v"], Float[Tensor, "B H f v1"]]:
    """Query i with keys j <= i and all keys of `sums`. Returns the output and the sums after the last position."""
    length = query.shape[2]
    size = min(chunk, length)
    q, k, v = (in_chunks(x, size) for x in (query, keys, with_ones(values)))  # [B, H, N, C, ..]
    own = k.transpose(3, 4) @ v  # [B, H, N, f, v1]
    until = torch.cat([sums[:, :, None], own], dim=2).cumsum(dim=2)
    inside = torch.tril(q @ k.transpose(3, 4)) @ v
    y = torch.baddbmm(inside.flatten(0, 2), q.flatten(0, 2), until[:, :, :-1].flatten(0, 2)).view(inside.shape)
    return normalised(y.flatten(2, 3)[:, :, :length]), until[:, :, -1]


def with_ones(values: Float[Tensor, "B H S v"]) -> Float[Tensor, "B H S v1"]:
    """The values with a column of ones, whose weighted sum is the denominator."""
    return F.pad(values, (0, 1), value=1.0)


def normalised(sums: Float[Tensor, "B H T v1"]) -> Float[Tensor, "B H T v"]:
    """The weighted sums of values, divided by that of the ones."""
    return sums[..., :-1] / sums[..., -1:].clamp_min(SMALLEST)


def in_chunks(x: Float[Tensor, "B H T _"], size: int) -> Float[Tensor, "B H N C _"]:
    """x in chunks, the last filled up with zeros: they add nothing to a sum, decay nothing and write nothing."""
    fill = -x.shape[2] % size
    return torch.unflatten(F.pad(x, (0, 0, 0, fill)) if fill else x, 2, (-1, size))
