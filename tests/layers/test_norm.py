"""Norms against their equations."""

import torch

from regard.layers.norm import NORMS


def test_norms_are_their_equations() -> None:
    torch.manual_seed(0)
    x, gain, bias = torch.randn(2, 3, 8).double(), torch.randn(8).double(), torch.randn(8).double()
    layer, rms = NORMS["layer"](8).double(), NORMS["rms"](8).double()
    layer.load_state_dict({"weight": gain, "bias": bias})
    rms.load_state_dict({"weight": gain})
    centred = x - x.mean(dim=-1, keepdim=True)
    torch.testing.assert_close(
        layer(x), centred / (centred.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt() * gain + bias
    )
    torch.testing.assert_close(rms(x), x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt() * gain)
