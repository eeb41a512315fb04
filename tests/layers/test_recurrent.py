"""Cells in a loop against torch's fused kernels, values and gradients; and encoders that do not see padding."""

import pytest
import torch
from torch import Tensor, nn

from regard.layers.encoders import ConvolutionalEncoder, RecurrentEncoder
from regard.layers.recurrent import FUSED, PARTS, Cell, RecurrentStack

CELLS = sorted(FUSED)
LENGTHS = torch.tensor([4, 1, 6])


def cell_of(kind: str, layer: nn.RNNBase, inputs: int) -> Cell:
    """A cell with the weights of a fused layer, whose last columns of input come beside."""
    cell = Cell(cell=kind, inputs=inputs, beside=layer.input_size - inputs, width=layer.hidden_size).double()
    assert cell.inputs is not None
    with torch.no_grad():
        cell.inputs.weight.copy_(layer.weight_ih_l0[:, :inputs])
        if cell.beside is not None:
            cell.beside.weight.copy_(layer.weight_ih_l0[:, inputs:])
            cell.beside.bias.copy_(layer.bias_ih_l0)
            cell.hidden.weight.copy_(layer.weight_hh_l0)
            cell.hidden.bias.copy_(layer.bias_hh_l0)
        else:
            cell.hidden.weight.copy_(torch.cat([layer.weight_ih_l0[:, inputs:], layer.weight_hh_l0], dim=1))
            cell.hidden.bias.copy_(layer.bias_ih_l0 + layer.bias_hh_l0)
    return cell


@pytest.mark.parametrize("kind", CELLS)
def test_a_loop_of_cells_is_the_fused_layer(kind: str) -> None:
    torch.manual_seed(0)
    stack = RecurrentStack(cell=kind, inputs=5, width=4, layers=1, dropout=0.0).double()
    cell = cell_of(kind, stack.layers, inputs=3)
    x = torch.randn(3, 6, 5).double().requires_grad_()
    state = tuple(torch.randn(3, 1, 4).double().requires_grad_() for _ in range(PARTS[kind]))
    theirs, last = stack(x, state)
    ahead, advance = cell.begin(x[:, :, :3])
    now, ours = tuple(part[:, 0] for part in state), []
    for step, inputs in enumerate(ahead):
        now = advance(inputs, x[:, step, 3:], now)
        ours.append(now[0])
    torch.testing.assert_close(torch.stack(ours, dim=1), theirs)
    torch.testing.assert_close(now, tuple(part[:, 0] for part in last))
    pull = torch.randn_like(theirs)
    mine = torch.autograd.grad(torch.stack(ours, dim=1), [x, *state, *cell.parameters()], pull)
    its = torch.autograd.grad(theirs, [x, *state, *stack.parameters()], pull)
    torch.testing.assert_close(mine[: 1 + len(state)], its[: 1 + len(state)])
    names = dict(zip((name for name, _ in cell.named_parameters()), mine[1 + len(state) :], strict=True))
    fused = dict(zip((name for name, _ in stack.layers.named_parameters()), its[1 + len(state) :], strict=True))
    torch.testing.assert_close(names["inputs.weight"], fused["weight_ih_l0"][:, :3])
    torch.testing.assert_close(names["hidden.weight"][:, -4:], fused["weight_hh_l0"])
    torch.testing.assert_close(names["hidden.bias"], fused["bias_hh_l0"])


def rows_alone(encoder: RecurrentEncoder | ConvolutionalEncoder, x: Tensor) -> list[tuple[Tensor, Tensor]]:
    return [
        encoder(x[row : row + 1, :length], torch.ones(1, length, dtype=torch.bool))
        for row, length in enumerate(LENGTHS.tolist())
    ]


@pytest.mark.parametrize("kind", [*CELLS, "convolutional"])
def test_an_encoder_does_not_see_padding(kind: str) -> None:
    torch.manual_seed(0)
    encoder: RecurrentEncoder | ConvolutionalEncoder = (
        ConvolutionalEncoder(inputs=4, width=6, layers=3, kernel=3, dropout=0.0)
        if kind == "convolutional"
        else RecurrentEncoder(cell=kind, inputs=4, width=6, layers=2, dropout=0.0, bidirectional=True)
    ).double()
    x = torch.randn(3, 8, 4).double()  # what stands on padding is not zero
    states, summary = encoder(x, torch.arange(8) < LENGTHS[:, None])
    for row, (length, (alone, its_summary)) in enumerate(zip(LENGTHS.tolist(), rows_alone(encoder, x), strict=True)):
        torch.testing.assert_close(states[row, :length], alone[0])
        torch.testing.assert_close(summary[row], its_summary[0])
        assert not states[row, length:].any()


def test_only_two_directions_use_later_tokens() -> None:
    """Lecture 002: a forward network cannot use what comes later, a bidirectional one does."""
    torch.manual_seed(0)
    x, real = torch.randn(1, 5, 4), torch.ones(1, 5, dtype=torch.bool)
    other = x.clone()
    other[:, 4] += 1.0
    for both in (True, False):
        encoder = RecurrentEncoder(cell="gru", inputs=4, width=6, layers=1, dropout=0.0, bidirectional=both)
        changed = (encoder(x, real)[0] != encoder(other, real)[0]).any(dim=2)[0]
        assert changed.tolist() == ([True] * 5 if both else [False] * 4 + [True])


def test_the_reach_of_convolutions() -> None:
    """Two layers with a kernel of three: a token sees two to either side."""
    torch.manual_seed(0)
    encoder = ConvolutionalEncoder(inputs=4, width=6, layers=2, kernel=3, dropout=0.0)
    x, real = torch.randn(1, 7, 4), torch.ones(1, 7, dtype=torch.bool)
    other = x.clone()
    other[:, 3] += 1.0
    changed = (encoder(x, real)[0] != encoder(other, real)[0]).any(dim=2)[0]
    assert changed.tolist() == [False, True, True, True, True, True, False]
