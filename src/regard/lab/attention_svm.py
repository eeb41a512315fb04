"""Attention as a support vector machine (Tarzanagh et al. 2023): the direction that gradient descent finds is a maximum margin.

The machine of selected tokens: minimise |W| such that (x_selected - x_t) W z >= 1 for every sample and every other token t. If W is
trained directly, its direction is the solution of least Frobenius norm; if it is a product K Q^T, of least nuclear norm, a sum of
singular values, so its rank is lower. `attention_as_svm` trains both and compares them with both solutions, which cvxpy finds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import RegardError
from regard.extras import missing
from regard.lab.token_selection import (
    TokenProblem,
    attention_logits,
    draw_problem,
    train_factors,
    train_two_layers,
    train_weight,
)

if TYPE_CHECKING:
    import numpy as np

Norm = Literal["frobenius", "nuclear"]
SUPPORT = 1e-3  # a token is a support token if its margin is above 1 by at most this
MOMENTS = 12  # at which a training is looked at, evenly in the logarithm of the step


@dataclass(frozen=True)
class Solution:
    """The machine of least norm that selects given tokens."""

    weight: "np.ndarray[tuple[int, int], np.dtype[np.float64]]"
    support: int  # tokens on the margin
    constraints: int


@dataclass(frozen=True)
class Parametrisation:
    """A hundred trainings of one form of W, compared with the machines of both norms. One entry a run where nothing else is said."""

    steps: list[int]
    norms: list[float]  # mean |W| after each of `steps`
    to_frobenius: list[
        list[float]
    ]  # after each of `steps`: the correlation of W with the solution of least Frobenius norm
    to_nuclear: list[list[float]]
    between: list[float]  # the correlation of the two solutions with each other
    best_selected: list[bool]  # whether every sample selects its token of most gain
    support: list[float]  # the share of the other tokens that are on the margin of the Frobenius solution
    singular_values: list[float]  # mean over runs, of the largest


@dataclass(frozen=True)
class AttentionSvm:
    """The result of `attention_as_svm`: W trained directly, and W = K Q^T."""

    direct: Parametrisation
    factored: Parametrisation


@dataclass(frozen=True)
class LayeredSvm:
    """The result of `layers_as_svms`: each layer's weight against the machine of the tokens that it selects, one entry a run."""

    first: list[float]
    second: list[float]
    first_shuffled: list[float]  # against the machine of another run, which shows what chance gives
    second_shuffled: list[float]


def attention_as_svm(
    *, runs: int = 100, samples: int = 6, length: int = 8, width: int = 10, steps: int = 3000, seed: int = 1
) -> AttentionSvm:
    """Train one layer of attention on random problems, and compare its weights with support vector machines.

    The rate is 1 for W and 0.1 for K and Q, whose product grows with the square of the step.
    """
    problem = draw_problem(runs, samples, length, width, seed)
    moments = sorted({round(10 ** (math.log10(steps) * number / (MOMENTS - 1))) for number in range(MOMENTS)})
    return AttentionSvm(
        _compared(problem, moments, train_weight(problem, moments, 1.0)),
        _compared(problem, moments, train_factors(problem, moments, 0.1, seed)),
    )


def layers_as_svms(
    *, runs: int = 20, samples: int = 6, length: int = 8, width: int = 10, steps: int = 3000, seed: int = 1
) -> LayeredSvm:
    """Train two layers of attention together, and compare the weight of each with a machine of its own.

    The second machine separates what the first layer wrote. The first machine has one sample for each token that the second selected:
    that token is its query.
    """
    problem = draw_problem(runs, samples, length, width, seed)
    model = train_two_layers(problem, steps, 1.0)
    hidden = model.hidden(problem)
    read = attention_logits(hidden, model.second, problem.queries).argmax(-1)
    row = read[..., None, None].expand(-1, -1, 1, length)
    looked = model.first_logits(problem).gather(2, row).squeeze(2).argmax(-1)
    readers = problem.tokens.gather(2, read[..., None, None].expand(-1, -1, 1, width)).squeeze(2)
    first = [selection_svm(*sample) for sample in zip(problem.tokens, readers, looked, strict=True)]
    second = [selection_svm(*sample) for sample in zip(hidden, problem.queries, read, strict=True)]
    return LayeredSvm(
        _correlations(model.first, first),
        _correlations(model.second, second),
        _correlations(model.first, first[1:] + first[:1]),
        _correlations(model.second, second[1:] + second[:1]),
    )


def selection_svm(
    tokens: Float[Tensor, "n T d"], queries: Float[Tensor, "n d"], selected: Tensor, norm: Norm = "frobenius"
) -> Solution:
    """The W of least norm that gives each sample's selected token a logit at least 1 above every other of its tokens."""
    try:
        import cvxpy
    except ImportError:
        raise missing("a support vector machine", "cvxpy") from None
    import numpy as np

    solver: Any = cvxpy  # its types do not list its functions
    width = tokens.shape[-1]
    chosen = tokens.gather(1, selected[:, None, None].expand(-1, 1, width))
    others = torch.ones(tokens.shape[:2], dtype=torch.bool).scatter(1, selected[:, None], False)
    differences = (chosen - tokens)[others].numpy()
    sample = others.nonzero()[:, 0].numpy()
    # (x_selected - x_t) W z is linear in W: one row of products for each constraint
    rows = np.einsum("cd,ce->cde", differences, queries.numpy()[sample]).reshape(len(sample), -1)
    weight = solver.Variable((width, width))
    margins = rows @ solver.vec(weight, order="C")
    size = solver.sum_squares(weight) if norm == "frobenius" else solver.normNuc(weight)
    problem = solver.Problem(solver.Minimize(size), [margins >= 1])
    problem.solve(solver=solver.CLARABEL)
    if weight.value is None:
        raise RegardError(f"no weight selects these tokens ({problem.status}): use fewer samples or a larger width")
    return Solution(weight.value, int((rows @ weight.value.reshape(-1) < 1 + SUPPORT).sum()), len(sample))


def draw_attention_svm(result: AttentionSvm, path: Path) -> None:
    """Draw the correlations and the norm by step, and the singular values, of both parametrisations."""
    from regard.explain.figures import COLOURS, drawn_figure

    forms = {"W": result.direct, "W = K Qᵀ": result.factored}
    with drawn_figure(path, width=10.5, height=3.2) as figure:
        frames = figure.subplots(1, 4)
        for frame, (label, form) in zip(frames, forms.items(), strict=False):
            for name, colour, correlations in (
                ("Frobenius", COLOURS[0], form.to_frobenius),
                ("nuclear", COLOURS[1], form.to_nuclear),
            ):
                frame.plot(form.steps, [_mean(values) for values in correlations], color=colour, marker="o", label=name)
                low, high = zip(*((min(values), max(values)) for values in correlations), strict=True)
                frame.fill_between(form.steps, low, high, color=colour, alpha=0.15, linewidth=0)
            frame.set(title=f"{label} trained", xlabel="step", xscale="log", ylim=(-0.05, 1.05))
        frames[0].set_ylabel("correlation with the solution of least norm")
        frames[0].legend(frameon=False, loc="lower right")
        for number, (label, form) in enumerate(forms.items()):
            colour = COLOURS[2 + number]
            frames[2].plot(form.steps, form.norms, color=colour, marker="o", label=label)
            order = range(1, len(form.singular_values) + 1)
            frames[3].plot(order, form.singular_values, color=colour, marker="o", label=label)
        frames[2].set(title="norm of W", xlabel="step", xscale="log", yscale="log")
        frames[3].set(title="singular values of W", xlabel="number", ylabel="of the largest", xticks=list(order))
        frames[2].legend(frameon=False)


def _compared(problem: TokenProblem, steps: list[int], weights: Sequence[Tensor]) -> Parametrisation:
    """The trained weights beside the solutions for the tokens that they select in the end."""
    selected = attention_logits(problem.tokens, weights[-1], problem.queries).argmax(-1)
    samples = list(zip(problem.tokens, problem.queries, selected, strict=True))
    frobenius = [selection_svm(*sample) for sample in samples]
    nuclear = [selection_svm(*sample, norm="nuclear") for sample in samples]
    values = torch.linalg.svdvals(weights[-1])
    return Parametrisation(
        steps=steps,
        norms=[float(weight.norm(dim=(1, 2)).mean()) for weight in weights],
        to_frobenius=[_correlations(weight, frobenius) for weight in weights],
        to_nuclear=[_correlations(weight, nuclear) for weight in weights],
        between=_correlations(torch.stack([torch.from_numpy(one.weight) for one in frobenius]), nuclear),
        best_selected=(selected == problem.gains.argmax(-1)).all(-1).tolist(),
        support=[one.support / one.constraints for one in frobenius],
        singular_values=(values / values[:, :1]).mean(0).tolist(),
    )


def _correlations(weights: Float[Tensor, "R d d"], solutions: Sequence[Solution]) -> list[float]:
    """The cosine of each weight with its solution."""
    others = torch.stack([torch.from_numpy(solution.weight) for solution in solutions])
    return torch.cosine_similarity(weights.flatten(1), others.flatten(1)).tolist()


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
