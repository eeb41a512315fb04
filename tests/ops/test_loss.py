"""The fused loss against `F.cross_entropy`, value and gradients, whatever the chunking; the loss of an alignment by hand."""

import math

import pytest
import torch
import torch.nn.functional as F

from regard.ops import loss as module
from regard.ops.loss import alignment_cross_entropy, consistent_cross_entropy, smoothed_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [1, 40, 700])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_parity_with_torch(
    smoothing: float, rows: int, dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK_ELEMENTS", 50 * 64)  # 64 rows at a time: several chunks, the last one short
    torch.manual_seed(rows)
    hidden = torch.randn(rows, 16, dtype=dtype, requires_grad=True)
    weight = torch.randn(50, 16, dtype=dtype, requires_grad=True)
    targets = torch.randint(0, 50, (rows,))
    loss, nll = smoothed_cross_entropy(hidden, weight, targets, smoothing)
    (loss / 7).backward()
    mine = hidden.grad, weight.grad
    hidden.grad = weight.grad = None
    theirs = F.cross_entropy(hidden @ weight.T, targets, label_smoothing=smoothing, reduction="sum")
    (theirs / 7).backward()
    torch.testing.assert_close(loss, theirs, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(
        nll, F.cross_entropy(hidden @ weight.T, targets, reduction="sum"), rtol=tolerance, atol=0
    )
    torch.testing.assert_close(mine[0], hidden.grad, rtol=0, atol=tolerance)
    torch.testing.assert_close(mine[1], weight.grad, rtol=0, atol=tolerance * rows)


@pytest.mark.parametrize("width", [511, 512])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_chunks_of_a_wide_network_are_larger_and_give_the_same(
    width: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK_ELEMENTS", 50 * 64)
    monkeypatch.setattr(module, "WIDE_CHUNK_ELEMENTS", 50 * 640)
    assert module.chunk_rows(50, width, False) == (640 if width == 512 else 64)
    torch.manual_seed(0)
    hidden, weight = torch.randn(700, width).to(dtype), torch.randn(50, width) / 8
    targets = torch.randint(0, 50, (700,))
    loss, _ = smoothed_cross_entropy(hidden, weight, targets, 0.1)
    rounded = weight.to(dtype).float()
    theirs = F.cross_entropy(hidden.float() @ rounded.T, targets, label_smoothing=0.1, reduction="sum")
    torch.testing.assert_close(loss, theirs, rtol=1e-5 if dtype == torch.float32 else 3e-3, atol=1e-3)


@pytest.mark.parametrize("consistency", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("rows", [1, 40, 700])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 2e-5)])
def test_two_readings_against_torch(
    consistency: float, rows: int, dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK_ELEMENTS", 50 * 64)
    torch.manual_seed(rows)
    hidden = torch.randn(2, rows, 16, dtype=dtype, requires_grad=True)
    table = torch.randn(52, 16, dtype=dtype, requires_grad=True)
    targets = torch.randint(0, 50, (rows,))
    loss, nll = consistent_cross_entropy(hidden, table, targets, 0.1, consistency, outputs=50)
    (loss / 7).backward()
    mine = hidden.grad, table.grad
    hidden.grad = table.grad = None
    one, two = (reading @ table[:50].T for reading in hidden)
    own = sum(F.cross_entropy(logits, targets, label_smoothing=0.1, reduction="sum") for logits in (one, two))
    p, q = one.log_softmax(dim=1), two.log_softmax(dim=1)
    apart = F.kl_div(p, q, log_target=True, reduction="sum") + F.kl_div(q, p, log_target=True, reduction="sum")
    theirs = own / 2 + consistency / 4 * apart
    (theirs / 7).backward()
    torch.testing.assert_close(loss, theirs, rtol=tolerance, atol=tolerance)
    plain = sum(F.cross_entropy(logits, targets, reduction="sum") for logits in (one, two)) / 2
    torch.testing.assert_close(nll, plain, rtol=tolerance, atol=0)
    torch.testing.assert_close(mine[0], hidden.grad, rtol=0, atol=tolerance)
    torch.testing.assert_close(mine[1], table.grad, rtol=0, atol=tolerance * rows)


def test_by_hand() -> None:
    # logits (ln 3, 0): p = (3/4, 1/4); target 0, smoothing 0.2: 0.8 * -ln(3/4) + 0.2 * (-ln(3/4) - ln(1/4)) / 2
    three = torch.tensor(3.0).log()
    loss, nll = smoothed_cross_entropy(
        torch.tensor([[1.0]]), torch.stack([three, three * 0])[:, None], torch.tensor([0]), 0.2
    )
    assert nll.item() == pytest.approx(0.287682, abs=1e-6)
    assert loss.item() == pytest.approx(0.8 * 0.287682 + 0.1 * (0.287682 + 1.386294), abs=1e-5)


def test_alignment_by_hand() -> None:
    """One link, two of equal weight, none, and one to what is not looked at at all."""
    weights = torch.tensor([[0.5, 0.25, 0.25], [0.2, 0.8, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], requires_grad=True)
    wanted = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    loss = alignment_cross_entropy(weights[None], wanted[None])
    vanished = math.log(torch.finfo(torch.float32).tiny)
    assert loss.item() == pytest.approx(math.log(2) - 0.5 * math.log(0.2) - 0.5 * math.log(0.8) - vanished)
    (gradient,) = torch.autograd.grad(loss, weights)
    expected = [[-2.0, 0.0, 0.0], [-2.5, -0.625, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    torch.testing.assert_close(gradient, torch.tensor(expected))


def test_an_alignment_pulls_the_scores_towards_it() -> None:
    """Through the softmax the gradient is A - G where there are links, padding included."""
    scores = torch.tensor([[1.0, -60.0, 0.5, float("-inf")], [0.3, 0.2, 0.1, float("-inf")]], requires_grad=True)
    wanted = torch.tensor([[0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0]])
    weights = torch.softmax(scores, dim=-1)
    (gradient,) = torch.autograd.grad(alignment_cross_entropy(weights, wanted), scores)
    torch.testing.assert_close(gradient, torch.stack([weights[0] - wanted[0], torch.zeros(4)]).detach())
