"""The fused loss against `F.cross_entropy`, value and gradients, whatever the chunking."""

import pytest
import torch
import torch.nn.functional as F

from regard.ops import loss as module
from regard.ops.loss import consistent_cross_entropy, smoothed_cross_entropy


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
