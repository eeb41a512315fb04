"""Score functions: how well a query fits a key. Each returns the unnormalised scores of every query with every key.

Shapes: T queries, S keys, d their width; leading dimensions (batch, heads) are carried along.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

Score = Callable[[Tensor, Tensor], Tensor]
"""(query [..., T, d], keys [..., S, d]) -> scores [..., T, S]"""


def dot(query: Tensor, keys: Tensor) -> Tensor:
    """q . k (Luong et al. 2015, "dot")."""
    return torch.einsum("...td,...sd->...ts", query, keys)


def scaled_dot(query: Tensor, keys: Tensor) -> Tensor:
    """q . k / sqrt(d) (Vaswani et al. 2017, eq. 1): the variance of q . k grows with d, this keeps it at one."""
    return dot(query, keys) / math.sqrt(query.shape[-1])
