"""The gated delta rule in chunks against the recurrence, and the recurrence against its meaning."""

from collections.abc import Sequence

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.ops.delta import chunked_delta_rule, delta_rule


def inputs(length: int, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(2, 3, length, 4, generator=generator, dtype=torch.float64) for _ in range(3))
    log_decay = -torch.rand(2, 3, length, generator=generator, dtype=torch.float64)
    strength = torch.rand(2, 3, length, generator=generator, dtype=torch.float64)
    memory = torch.randn(2, 3, 4, 4, generator=generator, dtype=torch.float64)
    return [F.normalize(q, dim=-1), F.normalize(k, dim=-1), v, log_decay, strength, memory]


@pytest.mark.parametrize("length", [1, 4, 9, 16])
def test_chunks_equal_the_recurrence(length: int) -> None:
    values = inputs(length)
    for found, expected in zip(chunked_delta_rule(*values, chunk=4), delta_rule(*values), strict=True):
        torch.testing.assert_close(found, expected)


def test_the_recurrence_is_the_equation() -> None:
    """S_t = a_t (I - b_t k_t k_t^T) S_(t-1) + b_t k_t v_t^T, written with matrices."""
    q, k, v, log_decay, strength, memory = (x[0, 0] for x in inputs(5))
    found, last = delta_rule(*(x[None, None] for x in (q, k, v, log_decay, strength, memory)))
    for t in range(5):
        change = torch.eye(4) - strength[t] * torch.outer(k[t], k[t])
        memory = log_decay[t].exp() * change @ memory + strength[t] * torch.outer(k[t], v[t])
        torch.testing.assert_close(found[0, 0, t], memory.T @ q[t])
    torch.testing.assert_close(last[0, 0], memory)


def test_a_value_written_at_full_strength_is_read_back() -> None:
    _, k, v, _, strength, memory = inputs(1)
    found, _ = delta_rule(k, k, v, torch.zeros_like(strength), torch.ones_like(strength), memory)
    torch.testing.assert_close(found, v)


def test_gradients_are_those_of_the_recurrence_and_of_double_precision() -> None:
    def gradients(rule, values: Sequence[Tensor]) -> list[Tensor]:  # type: ignore[no-untyped-def]
        leaves = [x.clone().requires_grad_() for x in values]
        y, memory = rule(*leaves)
        (y.square().sum() + memory.sum()).backward()
        return [x.grad for x in leaves if x.grad is not None]

    values = inputs(7)
    expected = gradients(delta_rule, values)
    for found, other in zip(gradients(lambda *x: chunked_delta_rule(*x, chunk=3), values), expected, strict=True):
        torch.testing.assert_close(found, other)
    single = gradients(chunked_delta_rule, [x.float() for x in values])
    for found, other in zip(single, expected, strict=True):
        assert (found - other).norm() <= 1e-5 * other.norm()
