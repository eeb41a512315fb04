"""The mixture of vocabulary and copies by hand, and its loss against the same in plain autograd and double precision."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.ops import loss as module
from regard.ops.copying import copied_cross_entropy, copied_mixture, first_places, slot_pieces, slot_shares

PAD = 5  # of six pieces; five outputs


def test_the_mixture_by_hand() -> None:
    """Source 3 2 3 </s> with attention 0.1 0.2 0.3 0.4; the vocabulary says 0.5 0.1 0.1 0.2 0.1, and the gate is 0.25."""
    source = torch.tensor([[3, 2, 3, 0, PAD]])
    first = first_places(source)
    assert first.tolist() == [[0, 1, 0, 3, 4]]
    pieces = slot_pieces(source, first, PAD)
    assert pieces.tolist() == [[3, 2, PAD, 0, PAD]]
    shares = slot_shares(torch.tensor([[[0.1, 0.2, 0.3, 0.4, 0.0]]]), first)
    torch.testing.assert_close(shares, torch.tensor([[[0.4, 0.2, 0.0, 0.4, 0.0]]]))
    written = torch.tensor([[[0.5, 0.1, 0.1, 0.2, 0.1]]])
    gate = torch.tensor([[math.log(0.25 / 0.75)]])
    found = copied_mixture(written.log() + 7.0, gate, shares, pieces[:, None]).exp()
    # 0.25 x 0.5 + 0.75 x 0.4, 0.25 x 0.1, 0.25 x 0.1 + 0.75 x 0.2, 0.25 x 0.2 + 0.75 x 0.4, 0.25 x 0.1
    torch.testing.assert_close(found, torch.tensor([[[0.425, 0.025, 0.175, 0.35, 0.025]]]))


def test_what_no_number_holds_stays_finite() -> None:
    """A shut gate, and attention that rounds to nothing."""
    pieces = torch.tensor([[1, 2]])
    cases = ((200.0, [1.0, 0.0]), (-200.0, [1.0, 0.0]), (0.0, [1e-42, 1.0]), (-200.0, [1e-42, 1.0]))
    for gate, shares in cases:
        given = [torch.randn(1, 4), torch.tensor([gate]), torch.tensor([shares])]
        found = copied_mixture(*given, pieces)
        assert found.isfinite().all()
        hidden, table = torch.randn(1, 4, requires_grad=True), torch.eye(4, requires_grad=True)
        for target in range(4):
            leaves = [given[1].clone().requires_grad_(), given[2].clone().requires_grad_()]
            loss, nll = copied_cross_entropy(hidden, table, *leaves, pieces, torch.tensor([target]), 0.1)
            gradients = torch.autograd.grad(loss, [hidden, table, *leaves])
            assert loss.isfinite()
            assert nll.isfinite()
            assert all(gradient.isfinite().all() for gradient in gradients)


def problem(rows: int, dtype: torch.dtype) -> tuple[list[Tensor], Tensor, Tensor]:
    """Leaves (hidden, table, gate, attention scores), the source of each row, and targets of which half are in it."""
    torch.manual_seed(rows)
    source = torch.randint(0, 50, (rows, 7))
    source[:, 3] = source[:, 1]
    source[:, 6] = 50  # padding
    targets = torch.where(torch.rand(rows) < 0.5, source[:, 1], torch.randint(0, 50, (rows,)))
    leaves = [torch.randn(rows, 16), torch.randn(51, 16), 2.0 * torch.randn(rows), torch.randn(rows, 7)]
    return [leaf.to(dtype).requires_grad_() for leaf in leaves], source, targets


def slots(scores: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
    first = first_places(source)
    weights = scores.masked_fill(source == 50, -torch.inf).softmax(dim=-1)
    return slot_shares(weights[:, None], first)[:, 0], slot_pieces(source, first, 50)


def plain_loss(leaves: list[Tensor], source: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Probabilities as the formula has them, place by place."""
    hidden, table, gate, scores = leaves
    weights = scores.masked_fill(source == 50, -torch.inf).softmax(dim=-1)
    copied = torch.einsum("ns,nsv->nv", weights, F.one_hot(source, 51).to(weights.dtype))[:, :50]
    g = gate.sigmoid()[:, None]
    log_p = (g * (hidden @ table[:50].T).softmax(dim=-1) + (1.0 - g) * copied).log()
    nll = -log_p.gather(1, targets[:, None])[:, 0]
    return ((1.0 - smoothing) * nll - smoothing * log_p.mean(dim=-1)).sum(), nll.sum()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [1, 40, 300])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-4)])
def test_the_loss_against_probabilities(
    smoothing: float, rows: int, dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK_ELEMENTS", 50 * 64)  # several chunks, the last one short
    leaves, source, targets = problem(rows, dtype)
    expected, expected_nll = plain_loss(leaves, source, targets, smoothing)
    theirs = torch.autograd.grad(expected / 7, leaves)
    hidden, table, gate, scores = leaves
    shares, pieces = slots(scores, source)
    loss, nll = copied_cross_entropy(hidden, table, gate, shares, pieces, targets, smoothing, outputs=50)
    torch.testing.assert_close(loss, expected, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(nll, expected_nll, rtol=tolerance, atol=tolerance)
    for mine, other in zip(torch.autograd.grad(loss / 7, leaves), theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=tolerance, atol=tolerance)


def test_gradients_of_the_loss_and_of_the_mixture_by_finite_differences() -> None:
    leaves, source, targets = problem(3, torch.float64)

    def loss(hidden: Tensor, table: Tensor, gate: Tensor, scores: Tensor) -> Tensor:
        return copied_cross_entropy(hidden, table, gate, *slots(scores, source), targets, 0.1, outputs=50)[0]

    def mixture(hidden: Tensor, table: Tensor, gate: Tensor, scores: Tensor) -> Tensor:
        return copied_mixture(hidden @ table[:50].T, gate, *slots(scores, source))

    assert torch.autograd.gradcheck(loss, leaves)
    assert torch.autograd.gradcheck(mixture, leaves)


def test_mixed_precision_is_near() -> None:
    leaves, source, targets = problem(200, torch.float32)
    hidden, table, gate, scores = leaves
    shares, pieces = slots(scores, source)
    low = (hidden / 4).bfloat16()
    loss, _ = copied_cross_entropy(low, table, gate, shares, pieces, targets, 0.1, outputs=50)
    expected, _ = plain_loss([low.float(), table.bfloat16().float(), gate, scores], source, targets, 0.1)
    torch.testing.assert_close(loss, expected, rtol=3e-3, atol=1e-3)
    theirs, mine = (
        torch.autograd.grad(expected, [table, gate, scores]),
        torch.autograd.grad(loss, [table, gate, scores]),
    )
    for one, other in zip(mine, theirs, strict=True):
        assert (one - other).norm() < 0.02 * other.norm()
