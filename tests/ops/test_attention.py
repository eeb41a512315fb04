"""The two ways to attend are one: SDPA against the written-out equation, and numbers worked out by hand."""

import math

import pytest
import torch

from regard.ops.attention import attend, attention_weights
from regard.ops.masks import additive, causal
from regard.ops.scores import ScoreFunction, dot, scaled_dot


@pytest.fixture
def qkv() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 6)


def test_fast_path_equals_explicit_path(qkv: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    query, keys, values = qkv
    allowed = torch.rand(2, 1, 5, 7) > 0.4
    allowed[..., 0] = True
    mask = additive(allowed)
    context = attend(query, keys, values, mask=mask)
    explicit = attention_weights(query, keys, mask=mask) @ values
    torch.testing.assert_close(context, explicit, rtol=1e-5, atol=1e-6)


def test_causal_flag_equals_causal_mask() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 2, 6, 8)
    by_flag = attend(x, x, x, causal=True)
    by_mask = attend(x, x, x, mask=additive(causal(6, 6)))
    explicit = attention_weights(x, x, causal=True) @ x
    torch.testing.assert_close(by_flag, by_mask, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(by_flag, explicit, rtol=1e-5, atol=1e-6)


def test_weights_by_hand() -> None:
    # q = (2, 0), keys (1, 0) and (0, 1), d = 2: scores 2/sqrt(2) and 0
    query, keys = torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    first = math.exp(2 / math.sqrt(2)) / (math.exp(2 / math.sqrt(2)) + 1)
    torch.testing.assert_close(attention_weights(query, keys), torch.tensor([[first, 1 - first]]))
    values = torch.tensor([[10.0], [20.0]])
    torch.testing.assert_close(attend(query, keys, values), torch.tensor([[10 * first + 20 * (1 - first)]]))


def test_the_unscaled_dot_by_hand() -> None:
    query, keys = torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    values = torch.tensor([[10.0], [20.0]])
    first = math.exp(2) / (math.exp(2) + 1)
    torch.testing.assert_close(attend(query, keys, values, score=dot), torch.tensor([[10 * first + 20 * (1 - first)]]))


def test_scaling_keeps_the_variance_at_one() -> None:
    """Lectures 001 and 004: the variance of q . k is d; divided by sqrt(d) it is one."""
    torch.manual_seed(0)
    for width in (16, 256):
        query, keys = torch.randn(2000, 1, width), torch.randn(2000, 1, width)
        assert dot(query, keys).var().item() == pytest.approx(width, rel=0.15)
        assert scaled_dot(query, keys).var().item() == pytest.approx(1.0, rel=0.15)


def test_nothing_is_attended_to_behind_the_mask(qkv: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    query, keys, values = qkv
    allowed = torch.ones(1, 1, 1, 7, dtype=torch.bool)
    allowed[..., 4:] = False
    masked = attend(query, keys, values, mask=additive(allowed))
    alone = attend(query, keys[:, :, :4], values[:, :, :4])
    torch.testing.assert_close(masked, alone, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("score", [scaled_dot, dot])
@pytest.mark.parametrize("kind", ["none", "causal", "bias"])
def test_bfloat16_with_gradients_is_float32_of_the_rounded_inputs(score: ScoreFunction, kind: str) -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(2, 3, 6, 8).to(torch.bfloat16) for _ in range(3)]
    bias = torch.randn(2, 1, 6, 6) if kind == "bias" else None  # in float32, and not rounded
    low = [x.clone().requires_grad_() for x in inputs]
    wide = [x.float().requires_grad_() for x in inputs]
    result = attend(*low, score=score, mask=bias, causal=kind == "causal")
    expected = attend(*wide, score=score, mask=bias, causal=kind == "causal")
    assert torch.equal(result, expected.to(torch.bfloat16))
    weights = torch.randn(result.shape)
    (result * weights).sum().backward()
    (expected * weights.to(torch.bfloat16).float()).sum().backward()
    for mine, theirs in zip(low, wide, strict=True):
        assert mine.grad is not None
        assert theirs.grad is not None
        assert mine.grad.dtype == torch.bfloat16
        torch.testing.assert_close(mine.grad.float(), theirs.grad, rtol=2e-2, atol=2e-2)
