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

COEFFICIENTS = (  # a, b, c of each iteration: the last four of a series of five for singular values up to 1 (Boissin et al. 2025)
    (3.9505, -6.3029, 2.6377),
    (3.7418, -5.5913, 2.3037),
    (2.8769, -3.1427, 1.2046),
    (2.8366, -3.0525, 1.2012),
)
FORM = "four iterations after the Schatten-8 norm"
"""The name of what `orthogonalised` computes, in checkpoints: change it with the computation."""
FIRST_FORM = "five iterations after the Frobenius norm"
"""The form of checkpoints that do not name one (Jordan et al. 2024)."""
GROUP = 4
"""Matrices that are computed at a time."""
LONG = 2
"""A matrix whose longer side is so many times its shorter one is iterated by its Gram matrix, which is smaller."""


def orthogonalised(matrices: Tensor, products: torch.dtype = torch.float32) -> Tensor:
    """[n, rows, columns] -> about U V^T of each matrix U S V^T, by four Newton-Schulz iterations.

    Singular values end within 0.9 to 1.15, but for those that are less than a hundredth of the largest. The type of the result is
    `products`.
    """
    tall = matrices.shape[1] > matrices.shape[2]
    long = max(matrices.shape[1:]) >= LONG * min(matrices.shape[1:]) and products == torch.float32
    iterate = gram_iterations if long else iterations
    results = []
    for group in torch.split(matrices, GROUP):
        x: Tensor = group.transpose(1, 2) if tall else group
        x = iterate((x / (torch.linalg.matrix_norm(x, keepdim=True) + 1e-7)).to(products))
        results.append(x.transpose(1, 2) if tall else x)
    return torch.cat(results)


def iterations(x: Tensor) -> Tensor:
    """X <- (a I + b G + c G^2) X with G = X X^T, four times, after X is divided by its Schatten-8 norm."""
    x, gram, square = _divided(x)
    (a, b, c), *more = COEFFICIENTS
    x = torch.baddbmm(x, (b * gram).add_(square, alpha=c), x, beta=a)
    for a, b, c in more:
        gram = x @ x.transpose(1, 2)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


def gram_iterations(x: Tensor) -> Tensor:
    """The same as `iterations` up to rounding: P = a I + b G + c G^2 and G <- P G P; at the end the product of all P times X.

    Rounding errors of G grow with each iteration: where singular values reach down to a thousandth of the largest, the result differs by
    1e-4 of its norm in float32. bfloat16 is too coarse for it.
    """
    x, gram, square = _divided(x)
    (a, b, c), *more = COEFFICIENTS
    last = (b * gram).add_(square, alpha=c)
    last.diagonal(dim1=1, dim2=2).add_(a)
    total = last
    for a, b, c in more:
        gram = last @ gram @ last
        last = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        last.diagonal(dim1=1, dim2=2).add_(a)
        total = total @ last
    return total @ x


def _divided(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """X, G = X X^T and G^2, for X divided by its Schatten-8 norm s = (sum of sigma^8)^(1/8) = |G^2|^(1/4).

    No singular value is above s, as none is above the Frobenius norm that Jordan et al. divide by; but s is nearer to the largest, which
    saves one iteration. It costs nothing: the first iteration needs G and G^2 anyway.
    """
    gram = x @ x.transpose(1, 2)
    square = gram @ gram
    s = (torch.linalg.matrix_norm(square, keepdim=True, dtype=torch.float32) ** 0.25).clamp(
        min=1e-6
    )  # zeros stay zeros
    s = s.to(x.dtype)
    return x / s, gram / s**2, square / s**4


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
