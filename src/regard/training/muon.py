"""Muon: momentum whose update is the nearest orthogonal matrix (Jordan et al. 2024), scaled like AdamW's update (Liu et al. 2025).

Gradients, momentum and weights are in float32. The iterations are in `products`: float32, or bfloat16 in a run whose matrix products are in
bfloat16 (torch's own Muon always uses bfloat16, which many CPUs emulate). Matrices of the same shape are computed a few at a time: those of
a group stay in the cache of a core through all iterations.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the quintic whose slope at zero is steepest (Jordan et al. 2024)
ITERATIONS = 5
GROUP = 4
"""Matrices that are computed at a time."""


def orthogonalised(matrices: Tensor, products: torch.dtype = torch.float32) -> Tensor:
    """[n, rows, columns] -> about U V^T of each matrix U S V^T, by Newton-Schulz; singular values end within 0.7 to 1.2.

    The type of the result is `products`.
    """
    tall = matrices.shape[1] > matrices.shape[2]
    results = []
    for group in torch.split(matrices, GROUP):
        x: Tensor = group.transpose(1, 2) if tall else group
        x = iterations((x / (torch.linalg.matrix_norm(x, keepdim=True) + 1e-7)).to(products))
        results.append(x.transpose(1, 2) if tall else x)
    return torch.cat(results)


def iterations(x: Tensor) -> Tensor:
    """X <- (a I + b G + c G^2) X with G = X X^T, five times.

    Iterating on G alone would be faster for long matrices, but in float32 it loses small singular values.
    """
    a, b, c = COEFFICIENTS
    for _ in range(ITERATIONS):
        gram = x @ x.transpose(1, 2)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


class Muon(torch.optim.Optimizer):
    """The Muon optimiser, for matrices only: vectors and embeddings need another optimiser."""

    def __init__(self, parameters: Iterable[Tensor], lr: float, momentum: float, weight_decay: float) -> None:
        super().__init__(list(parameters), {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.products = torch.float32
        """The type of the products in `orthogonalised`."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        assert closure is None
        for group in self.param_groups:
            shapes: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    shapes[parameter.shape].append(parameter)
            for shape, parameters in shapes.items():
                rate = group["lr"] * 0.2 * max(shape) ** 0.5  # the size of AdamW's step, whatever the shape
                smoothed = torch.stack([self._nesterov(p, group["momentum"]) for p in parameters])
                updates = orthogonalised(smoothed, self.products).to(smoothed.dtype)
                if group["weight_decay"]:
                    torch._foreach_mul_(parameters, 1.0 - group["lr"] * group["weight_decay"])
                torch._foreach_add_(parameters, list(updates.unbind()), alpha=-rate)

    def _nesterov(self, parameter: Tensor, momentum: float) -> Tensor:
        assert parameter.grad is not None
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        velocity: Tensor = state["momentum"].mul_(momentum).add_(parameter.grad)
        return parameter.grad + momentum * velocity
