"""Recurrent cells: against torch's, values and gradients, and by hand. And the map that a loop repeats, against `F.linear`."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.ops import recurrent as ops
from regard.ops.repeated import RepeatedLinear


def test_one_step_by_hand() -> None:
    one, zero = torch.ones(1), torch.zeros(1)
    torch.testing.assert_close(ops.rnn(2.0 * one), torch.tensor([math.tanh(2.0)]))
    # i = f = o = 1/2, g = tanh(1): c' = 3/2 + tanh(1)/2
    hidden, memory = ops.lstm(torch.tensor([0.0, 0.0, 1.0, 0.0]), 3.0 * one)
    torch.testing.assert_close(memory, torch.tensor([1.5 + math.tanh(1.0) / 2.0]))
    torch.testing.assert_close(hidden, torch.tanh(memory) / 2.0)
    # r = z = 1/2, n = tanh(1 + 4/2): h' = n/2 + 5/2
    found = ops.gru(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0.0, 0.0, 4.0]), 5.0 * one)
    torch.testing.assert_close(found, torch.tensor([math.tanh(3.0) / 2.0 + 2.5]))
    # a gate that is open lets all through: the memory survives any number of steps
    kept = 7.0 * one
    for _ in range(100):
        _, kept = ops.lstm(torch.tensor([-50.0, 50.0, 1.0, 0.0]), kept)
    assert torch.equal(kept, 7.0 * one)
    assert torch.equal(ops.gru(torch.tensor([0.0, 50.0, 1.0]), torch.zeros(3), zero), zero)


def our_step(cell: nn.RNNCellBase, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    inputs = F.linear(x, cell.weight_ih, cell.bias_ih)
    recurrent = F.linear(state[0], cell.weight_hh, cell.bias_hh)
    if isinstance(cell, nn.LSTMCell):
        return ops.lstm(inputs + recurrent, state[1])
    if isinstance(cell, nn.GRUCell):
        return (ops.gru(inputs, recurrent, state[0]),)
    return (ops.rnn(inputs + recurrent),)


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_cells_are_torchs(kind: type[nn.RNNCell] | type[nn.GRUCell] | type[nn.LSTMCell]) -> None:
    torch.manual_seed(0)
    cell = kind(5, 4).double()
    x = torch.randn(3, 5).double().requires_grad_()
    state = tuple(torch.randn(3, 4).double().requires_grad_() for _ in range(2 if kind is nn.LSTMCell else 1))
    theirs = cell(x, state if len(state) == 2 else state[0])
    theirs = theirs if isinstance(theirs, tuple) else (theirs,)
    ours = our_step(cell, x, state)
    torch.testing.assert_close(ours, theirs)
    wanted = [x, *state, *cell.parameters()]
    pulls = [torch.randn_like(part) for part in theirs]
    for mine, its in zip(
        torch.autograd.grad(ours, wanted, pulls), torch.autograd.grad(theirs, wanted, pulls), strict=True
    ):
        torch.testing.assert_close(mine, its)


def looped(x: Tensor, weight: Tensor, bias: Tensor, repeated: bool) -> Tensor:
    """A recurrence of four steps, and a use whose result nobody needs."""
    linear = RepeatedLinear(weight, bias) if repeated else lambda row: F.linear(row, weight, bias)
    hidden = x.new_zeros(x.shape[0], weight.shape[0])
    for step in range(4):
        hidden = torch.tanh(linear(torch.cat([x[:, step], hidden], dim=1)))
        linear(torch.cat([x[:, step], hidden], dim=1))
    return hidden


def test_a_repeated_map_is_the_map() -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 4, 5).double().requires_grad_()
    weight, bias = torch.randn(6, 11).double().requires_grad_(), torch.randn(6).double().requires_grad_()
    pull = torch.randn(3, 6).double()
    results = [looped(x, weight, bias, repeated) for repeated in (True, False)]
    torch.testing.assert_close(*results)
    gradients = [torch.autograd.grad(result, [x, weight, bias], pull, retain_graph=True) for result in results]
    torch.testing.assert_close(*gradients)
    again = torch.autograd.grad(results[0], [x, weight, bias], pull)
    torch.testing.assert_close(again, gradients[0])
    with torch.no_grad():
        torch.testing.assert_close(looped(x, weight, bias, True), results[1])
