"""Mixed precision: the copy of a network whose matrix products run in bfloat16, beside the weights in float32.

Autocast casts activations at every product. Here the weights of linear maps are cast once a step and kept for its forward and backward
pass, and hidden states are in bfloat16 from the embedding to the loss, so that elementwise work moves half the bytes. What adds up many
numbers stays in float32: the weights that the optimiser moves, embeddings, norms, the softmax of attention and the loss.
"""

from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy

import torch
from torch import Tensor, nn

from regard.layers.embedding import TokenEmbedding
from regard.layers.fronts import TokenFront
from regard.layers.linear import Linear
from regard.layers.linear_attention import KernelAttention
from regard.layers.linformer import Linformer
from regard.layers.local_attention import BlockSparseAttention, WindowAttention
from regard.layers.norm import NORMS
from regard.layers.patches import PatchFront
from regard.layers.positions import LearnedPositions, RelativeBias
from regard.layers.roles import parameter_roles
from regard.training.freezing import trained_parameters
from regard.training.lora import LowRank

IN_FLOAT32 = (TokenEmbedding, LearnedPositions, RelativeBias, *NORMS.values())
"""Modules whose weights the copy has in float32."""

UNTRIED = (WindowAttention, BlockSparseAttention, Linformer, KernelAttention, PatchFront)
"""Modules with linear maps that have not been tried in bfloat16. The sums of mixers over many positions are in the type of the maps."""


def can_copy(network: nn.Module) -> bool:
    """Whether every weight is in a module that has been tried in bfloat16: the Transformers of any task, with dot products as scores."""
    roles = parameter_roles(network)
    known = [module for module in network.modules() if isinstance(module, (Linear, *IN_FLOAT32))]
    own = {id(parameter) for module in known for parameter in module.parameters()}
    linear = any(isinstance(module, Linear) for module in network.modules())
    tried = not any(isinstance(module, UNTRIED) for module in network.modules())
    return (
        tried
        and linear
        and all(id(weight) in own or roles[name] == "table" for name, weight in network.named_parameters())
    )


def bfloat16_copy(network: nn.Module) -> nn.Module:
    """A copy of the network that computes in bfloat16. It has its own weights, in the same order."""
    copy = deepcopy(network)
    for module in copy.modules():
        if isinstance(module, Linear):
            module.to(torch.bfloat16)
        elif isinstance(module, TokenFront):
            module.dtype = torch.bfloat16
    return copy


class ComputedNetwork:
    """The network that computes a step: the network itself in float32; in bfloat16 its copy, or itself under autocast if it has none.

    The copy is made when it is first used, in the process that uses it.
    """

    def __init__(self, network: nn.Module, precision: str, low_rank: LowRank | None = None) -> None:
        """low_rank: the weights that are trained in place of the network's own."""
        self._network, self._low, self._low_rank = network, precision == "bfloat16", low_rank
        self._copied = self._low and can_copy(network)
        self._computed: nn.Module | None = None if self._copied else network

    def refreshed(self) -> nn.Module:
        """The network, with the weights as they are now."""
        if self._low_rank is not None:
            self._low_rank.merge()
        if self._computed is None:
            self._computed = bfloat16_copy(self._network)
        elif self._copied:
            with torch.no_grad():
                torch._foreach_copy_(list(self._computed.parameters()), list(self._network.parameters()))
        return self._computed

    def casting(self) -> AbstractContextManager[object]:
        """The context of a forward pass: autocast for a network in bfloat16 without a copy."""
        if not self._low or self._copied:
            return nullcontext()
        return torch.autocast(next(self._network.parameters()).device.type, dtype=torch.bfloat16)

    def gradients(self, loss: Tensor) -> list[Tensor]:
        """The gradient of the loss in every trained weight of the network that computed it: in bfloat16 where its weights are.

        With LoRA: the gradient in every weight of the low-rank additions.
        """
        assert self._computed is not None, "a gradient before the forward pass"
        if self._low_rank is None:
            parameters = list(trained_parameters(self._computed).values())
        else:
            parameters = self._low_rank.changed(list(self._computed.parameters()))
        gradients = list(torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True))
        return gradients if self._low_rank is None else self._low_rank.gradients(gradients)
