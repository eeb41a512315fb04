"""Recurrent layers: a stack that reads a whole sequence by torch's fused kernels, and a cell that a loop steps.

The stack serves wherever nothing but the sequence goes in: encoders, decoders without attention, the upper layers of those with it. The
cell is for what depends on the state before: attention's context, or what is fed back. A parity test binds the two.

Shapes: R rows (a batch, or the hypotheses of all its sentences), T steps, D input, H width, L layers, G = 1, 3 or 4 gates.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.ops import recurrent as ops
from regard.ops.repeated import RepeatedLinear

State = tuple[Tensor, ...]
"""The hidden state, and the memory of an LSTM: [R, H] of one layer, [R, L, H] of several."""

Advance = Callable[[Tensor | None, Tensor, State], State]
"""(what the inputs add [R, GH], what comes beside [R, K], state) -> the next state"""

FUSED: dict[str, type[nn.RNN] | type[nn.GRU] | type[nn.LSTM]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
PARTS = {"rnn": 1, "gru": 1, "lstm": 2}
"""Tensors in a state."""


class RecurrentStack(nn.Module):
    """L layers, each reading the states of the one below, with dropout between them (Zaremba et al. 2014)."""

    def __init__(
        self, *, cell: str, inputs: int, width: int, layers: int, dropout: float, bidirectional: bool = False
    ) -> None:
        super().__init__()
        self.parts = PARTS[cell]
        self.layers = FUSED[cell](
            inputs,
            width,
            layers,
            batch_first=True,
            dropout=dropout if layers > 1 else 0.0,  # there is nothing between one layer and itself
            bidirectional=bidirectional,
        )

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """x [R, T, D] -> the states of the last layer [R, T, H] and the last state of all, [R, L, H]."""
        states, last = self.layers(x, None if state is None else self._stacked(state))
        return states, self._rows(last)

    def read(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
        """The same for rows of different lengths [R], from a state of zeros; past its end a row's states are zero."""
        if bool((lengths == x.shape[1]).all()):  # nothing to leave out, and packing would cost
            return self.forward(x)
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, last = self.layers(packed)
        padded, _ = pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])
        return padded, self._rows(last)

    def _stacked(self, state: State) -> Tensor | State:
        stacked = tuple(part.transpose(0, 1).contiguous() for part in state)
        return stacked if self.parts == 2 else stacked[0]

    def _rows(self, last: Tensor | State) -> State:
        return tuple(part.transpose(0, 1) for part in ((last,) if isinstance(last, Tensor) else last))


class Cell(nn.Module):
    """One layer, one step at a time. Of its inputs some are known for all steps at once, the others come beside, step by step."""

    def __init__(self, *, cell: str, inputs: int, beside: int, width: int) -> None:
        """`inputs` may be 0: all comes beside."""
        super().__init__()
        gates = GATES[cell] * width
        self.cell = cell
        self.inputs = nn.Linear(inputs, gates, bias=False) if inputs else None
        # the GRU's reset gate acts between the two products; the others take one of both
        self.beside = nn.Linear(beside, gates) if cell == "gru" else None
        self.hidden = nn.Linear(width if cell == "gru" else beside + width, gates)

    def begin(self, x: Tensor) -> tuple[Sequence[Tensor], Advance]:
        """x [R, T, D] -> what it adds to the gates of each step, and what makes a step."""
        assert self.inputs is not None
        return self.inputs(x.transpose(0, 1)).unbind(), self.advance()

    def advance(self) -> Advance:
        """What makes the steps of one loop."""
        hidden = RepeatedLinear(self.hidden.weight, self.hidden.bias)
        if self.beside is None:
            return self._joint(hidden)
        return self._reset(RepeatedLinear(self.beside.weight, self.beside.bias), hidden)

    def _joint(self, both: RepeatedLinear) -> Advance:
        def advance(ahead: Tensor | None, beside: Tensor, state: State) -> State:
            gates = both(torch.cat([beside, state[0]], dim=1))
            gates = gates if ahead is None else gates + ahead
            return ops.lstm(gates, state[1]) if self.cell == "lstm" else (ops.rnn(gates),)

        return advance

    def _reset(self, beside_map: RepeatedLinear, hidden: RepeatedLinear) -> Advance:
        def advance(ahead: Tensor | None, beside: Tensor, state: State) -> State:
            inputs = beside_map(beside)
            inputs = inputs if ahead is None else inputs + ahead
            return (ops.gru(inputs, hidden(state[0]), state[0]),)

        return advance
