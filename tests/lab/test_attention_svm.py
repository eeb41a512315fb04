"""Attention as a support vector machine: gradients against autograd, solutions by hand, and the claim itself on a few runs."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.errors import RegardError
from regard.lab.attention_svm import attention_as_svm, draw_attention_svm, layers_as_svms, selection_svm
from regard.lab.token_selection import (
    TokenProblem,
    TwoLayers,
    attention_logits,
    draw_problem,
    gains_of,
    logit_gradient,
    train_weight,
    weight_gradient,
)


def loss(problem: TokenProblem, tokens: Tensor, weight: Tensor) -> Tensor:
    attention = attention_logits(tokens, weight, problem.queries).softmax(-1)
    return F.softplus(-(attention * gains_of(problem, tokens)).sum(-1)).sum()


def assert_same_direction(ours: Tensor, theirs: Tensor) -> None:
    for one, other in zip(ours.flatten(1), theirs.flatten(1), strict=True):
        assert torch.allclose(one / one.norm(), other / other.norm(), atol=1e-10)


@pytest.fixture(scope="module")
def problem() -> TokenProblem:
    return draw_problem(runs=3, samples=4, length=5, width=6, seed=2)


def random_weights(count: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(3, 6, 6, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(count)]


def test_the_gradient_of_one_layer_is_autograds(problem: TokenProblem) -> None:
    [weight] = random_weights(1)
    [theirs] = torch.autograd.grad(loss(problem, problem.tokens, weight), weight)
    assert_same_direction(weight_gradient(problem, weight.detach()), theirs)


def test_the_gradients_of_two_layers_are_autograds(problem: TokenProblem) -> None:
    weights = random_weights(2)
    theirs = torch.autograd.grad(loss(problem, TwoLayers(*weights).hidden(problem), weights[1]), weights)
    ours = TwoLayers(*(weight.detach() for weight in weights)).gradients(problem)
    for one, other in zip(ours, theirs, strict=True):
        assert_same_direction(one, other)


def test_the_direction_survives_where_probabilities_underflow() -> None:
    """p = (1, e^-1000, e^-2000): the gradient is that of the first two tokens, -1 and 1 up to its factor."""
    logits = torch.tensor([[1000.0, 0.0, -1000.0]], dtype=torch.float64)
    gradient = logit_gradient(logits, torch.tensor([[-2.0, -1.0, 5.0]], dtype=torch.float64))
    assert gradient.tolist() == [[-1.0, 1.0, 0.0]]


@pytest.mark.parametrize("norm", ["frobenius", "nuclear"])
def test_two_tokens_are_solved_by_hand(norm: str) -> None:
    """One constraint (a - b) W z >= 1: in both norms W = (a - b) z^T / (|a - b|^2 |z|^2)."""
    a, b, z = np.array([1.0, 2.0, 0.0]), np.array([0.0, 1.0, 1.0]), np.array([0.5, 0.0, 1.0])
    solution = selection_svm(
        torch.from_numpy(np.stack([b, a])[None]), torch.from_numpy(z[None]), torch.tensor([1]), norm
    )
    expected = np.outer(a - b, z) / (((a - b) ** 2).sum() * (z**2).sum())
    assert np.allclose(solution.weight, expected, atol=1e-5)
    assert (solution.support, solution.constraints) == (1, 1)


def test_each_solution_is_least_in_its_own_norm(problem: TokenProblem) -> None:
    selected = problem.gains.argmax(-1)
    frobenius, nuclear = (
        selection_svm(problem.tokens[0], problem.queries[0], selected[0], norm).weight
        for norm in ("frobenius", "nuclear")
    )
    assert np.linalg.norm(frobenius) < np.linalg.norm(nuclear)
    assert np.linalg.norm(nuclear, "nuc") < np.linalg.norm(frobenius, "nuc")
    for weight in (frobenius, nuclear):
        logits = attention_logits(problem.tokens[:1], torch.from_numpy(weight)[None], problem.queries[:1])[0]
        top = logits.gather(1, selected[0][:, None])
        assert ((top - logits) > 1 - 1e-6).sum() == logits.numel() - len(logits)


def test_tokens_that_no_weight_selects_are_named() -> None:
    tokens, queries = torch.eye(3, dtype=torch.float64)[None].repeat(2, 1, 1), torch.ones(2, 3, dtype=torch.float64)
    with pytest.raises(RegardError, match="no weight selects these tokens"):
        selection_svm(tokens, queries, torch.tensor([0, 1]))


def test_a_trained_layer_is_the_machine_of_its_parametrisation(tmp_path: Path) -> None:
    result = attention_as_svm(runs=3, steps=600)
    assert min(result.direct.to_frobenius[-1]) > 0.99
    assert min(f - n for f, n in zip(result.direct.to_frobenius[-1], result.direct.to_nuclear[-1], strict=True)) > 0.05
    assert min(n - f for f, n in zip(result.factored.to_frobenius[-1], result.factored.to_nuclear[-1], strict=True)) > 0
    assert result.direct.norms[-1] > 100 * result.direct.norms[0]
    assert result.factored.singular_values[3] < result.direct.singular_values[3]
    draw_attention_svm(result, tmp_path / "svm.svg")
    assert (tmp_path / "svm.svg").read_bytes().startswith(b"<?xml")


def test_two_layers_are_two_machines() -> None:
    result = layers_as_svms(runs=3, steps=600)
    for own, other in ((result.first, result.first_shuffled), (result.second, result.second_shuffled)):
        assert sum(own) / 3 > 0.8
        assert max(map(abs, other)) < min(own)


def test_training_goes_on_from_step_to_step(problem: TokenProblem) -> None:
    early, late = train_weight(problem, [5, 10], 0.5)
    assert torch.equal(early, train_weight(problem, [5], 0.5)[0])
    assert not torch.equal(early, late)
