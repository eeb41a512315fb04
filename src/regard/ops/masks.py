"""Masks as boolean tensors: True where a query may attend to a key.

Shapes: B batch, S keys, T queries.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def real_tokens(ids: Int[Tensor, "B S"], pad: int) -> Bool[Tensor, "B S"]:
    """True where there is a token, False on padding."""
    return ids != pad


def causal(queries: int, keys: int, device: torch.device | None = None) -> Bool[Tensor, "T S"]:
    """True where query i sees key j <= i; the last query is aligned with the last key.

    The lectures' mask M (0 where j <= i, minus infinity elsewhere) before it is added to the scores.
    """
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(diagonal=keys - queries)


def additive(allowed: Bool[Tensor, "*shape"], dtype: torch.dtype = torch.float32) -> Float[Tensor, "*shape"]:
    """A boolean mask as the M that is added to scores: 0 where allowed, minus infinity elsewhere."""
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill_(~allowed, float("-inf"))
