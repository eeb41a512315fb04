"""Packed products against torch's own."""

import pytest
import torch
import torch.nn.functional as F

from regard.layers import packed
from regard.layers.packed import LARGE, MANY_ROWS, PackedLinear


@pytest.mark.parametrize("vendor", ["AuthenticAMD", "GenuineIntel"])
@pytest.mark.parametrize(("outputs", "inputs"), [(LARGE // 64 + 3, 64), (5, 7)])
@pytest.mark.parametrize("biased", [True, False])
@torch.no_grad()
def test_a_packed_product_is_the_product(
    vendor: str, outputs: int, inputs: int, biased: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the processor: the other library is used where torch has it."""
    monkeypatch.setattr(packed, "processor_vendor", lambda: vendor)
    packed._packing.cache_clear()
    try:
        generator = torch.Generator().manual_seed(1)
        weight = torch.randn(outputs, inputs, generator=generator)
        bias = torch.randn(outputs, generator=generator) if biased else None
        linear = PackedLinear(weight, bias)
        assert (linear._packed is None) == (vendor == "GenuineIntel" or not torch.backends.mkldnn.is_available())
        for rows in (0, 1, 3, MANY_ROWS, MANY_ROWS + 1):
            x = torch.randn(rows, inputs, generator=generator)
            torch.testing.assert_close(linear(x), F.linear(x, weight, bias), rtol=1e-5, atol=1e-5)
    finally:
        packed._packing.cache_clear()


@torch.no_grad()
def test_double_precision_is_not_packed() -> None:
    weight, x = torch.randn(3, 4, dtype=torch.float64), torch.randn(2, 4, dtype=torch.float64)
    assert torch.equal(PackedLinear(weight, None)(x), F.linear(x, weight))
