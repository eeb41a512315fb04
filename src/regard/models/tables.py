"""Tables of tokens, made, read and initialised alike in every network: the embeddings, and the weights of the outputs.

Shapes: V pieces with pad, B batch, T tokens, D width.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from regard.layers.positions import AddedPositions
from regard.ops.probe import Probe


def token_embedding(vocabulary: int, width: int) -> nn.Embedding:
    """[V, D], whose last row, pad, stays zero."""
    return nn.Embedding(vocabulary, width, padding_idx=vocabulary - 1)


def embedded(
    embedding: nn.Embedding,
    ids: Tensor,  # [B, T]
    positions: AddedPositions | None = None,
    first: int = 0,
    probe: Probe | None = None,
) -> Tensor:
    """Scaled embeddings, plus their positions from `first` on where there are some to add, [B, T, D]."""
    x: Tensor = embedding(ids) * math.sqrt(embedding.embedding_dim)
    if probe is not None:
        x = probe.see("words", x)
    return x if positions is None else x + positions(first, ids.shape[1])


@torch.no_grad()
def reset(network: nn.Module, others: Callable[[str, nn.Parameter], None]) -> None:
    """Initialise a network: here what all have alike; `others` is given the rest, by name."""
    for name, parameter in network.named_parameters():
        if "embedding" in name or name == "output":
            # unit variance once scaled by sqrt(D) at the input; logits of order one at the output
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
        elif name.endswith("score.vector"):
            nn.init.normal_(parameter, std=parameter.shape[0] ** -0.5)
        else:
            others(name, parameter)
    for module in network.modules():
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            module.weight[module.padding_idx].zero_()
