"""Layer-wise learning rates (`train.layer_decay`): lower blocks learn more slowly (Howard and Ruder 2018, Clark et al. 2020).

    the block k from the top of its stack, the uppermost being k = 0    d^k
    embeddings and positions                                           d^n, for n blocks in the deepest stack
    heads, last norms, and what lies between two stacks                1

An output that is tied to the embedding is the embedding. Factors multiply the rate of every optimiser, so also the decay of weights that
is decoupled from the gradient.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from regard.training.freezing import block_of

LOWEST = ("source", "target", "front", "embedding", "encoder_bias", "decoder_bias")
"""The modules below every block: fronts, and the biases of relative positions, which all blocks share."""


def rate_factors(network: nn.Module, decay: float) -> dict[str, float]:
    """The factor of each weight, by its name."""
    blocks = {name: block_of(name) for name, _ in network.named_parameters()}
    depth: dict[str, int] = {}
    for stack, number in filter(None, blocks.values()):
        depth[stack] = max(depth.get(stack, 0), number + 1)
    lowest: float = decay ** max(depth.values(), default=0)
    factors = {}
    for name, block in blocks.items():
        if block is not None:
            factors[name] = decay ** (depth[block[0]] - 1 - block[1])
        else:
            factors[name] = lowest if name.partition(".")[0] in LOWEST else 1.0
    return factors


def split_by_factor(optimizer: torch.optim.Optimizer, factors: Mapping[Tensor, float]) -> None:
    """Divide the groups of an optimiser that has no state yet, so that each has one factor, under the key `factor`."""
    groups: list[dict[str, Any]] = []
    for group in optimizer.param_groups:
        by_factor: dict[float, list[Tensor]] = {}
        for parameter in group["params"]:
            by_factor.setdefault(factors[parameter], []).append(parameter)
        groups += [{**group, "params": own, "factor": factor} for factor, own in sorted(by_factor.items())]
    optimizer.param_groups = groups
