"""Who may look at whom, as boolean tensors: True where a query may attend to a key.

Shapes: B batch, S keys, T queries.
"""

import torch
from torch import Tensor


def real_tokens(ids: Tensor, pad: int) -> Tensor:
    """[B, S] -> [B, S]: True where there is a token, False on padding."""
    return ids != pad


def causal(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """[T, S]: query i sees key j <= i; the last query is aligned with the last key.

    The lectures' mask M (0 where j <= i, minus infinity elsewhere) before it is added to the scores.
    """
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(diagonal=keys - queries)


def additive(allowed: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """A boolean mask as the M that is added to scores: 0 where allowed, minus infinity elsewhere."""
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill_(~allowed, float("-inf"))
