"""Recurrent layers: a stack for whole sequences, with torch's fused kernels, and a cell for loops.

The stack is for inputs that are known in advance: encoders, decoders without attention, the upper layers of decoders with attention. The
cell is for inputs that depend on the previous state: the context of attention, or input feeding. A parity test compares the two.

Shapes: R rows (a batch, or the hypotheses of all its sentences), T steps, D input, H width, L layers, G = 1, 3 or 4 gates.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.layers.linear import Linear
from regard.ops import recurrent as ops
from regard.ops.repeated import RepeatedLinear

State = tuple[Tensor, ...]
"""The hidden state, and the cell state of an LSTM: [R, H] of one layer, [R, L, H] of several."""

Advance = Callable[[Tensor | None, Tensor, State], State]
"""(gate inputs known in advance [R, GH], input of this step [R, K], state) -> the next state"""

FUSED: dict[str, type[nn.RNN] | type[nn.GRU] | type[nn.LSTM]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
PARTS = {"rnn": 1, "gru": 1, "lstm": 2}
"""The number of tensors in a state."""


def reset_gates(weight: Float[Tensor, "G D"], gates: int) -> None:
    """Initialise each gate's map in a stacked matrix from Xavier's uniform distribution."""
    for gate in weight.chunk(gates):
        nn.init.xavier_uniform_(gate)


def reset_gate_bias(bias: Float[Tensor, " G"], gates: int) -> None:
    """Initialise biases with 0, and with 1 for the forget gate of an LSTM (Jozefowicz et al. 2015)."""
    nn.init.zeros_(bias)
    if gates == 4:
        nn.init.ones_(bias.chunk(4)[1])


class RecurrentStack(nn.Module):
    """L layers, each reading the states of the one below, with dropout between them (Zaremba et al. 2014)."""

    def __init__(
        self, *, cell: str, inputs: int, width: int, layers: int, dropout: float, bidirectional: bool = False
    ) -> None:
        super().__init__()
        self.parts, self.gates = PARTS[cell], GATES[cell]
        self.layers = FUSED[cell](
            inputs,
            width,
            layers,
            batch_first=True,
            dropout=dropout if layers > 1 else 0.0,  # there is nothing between one layer and itself
            bidirectional=bidirectional,
        )
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Initialise the weights gate by gate (Xavier), and the biases with 0, or 1 for the forget gate of an LSTM."""
        for weights in self.layers.all_weights:
            input_weight, hidden_weight, input_bias, hidden_bias = weights
            reset_gates(input_weight, self.gates)
            reset_gates(hidden_weight, self.gates)
            reset_gate_bias(input_bias, self.gates)
            nn.init.zeros_(hidden_bias)

    def forward(self, x: Float[Tensor, "R T D"], state: State | None = None) -> tuple[Float[Tensor, "R T H"], State]:
        """The states of the last layer, and the last state of all layers, [R, L, H]."""
        states, last = self.layers(x, None if state is None else self._stacked(state))
        return states, self._rows(last)

    def read(self, x: Float[Tensor, "R T D"], lengths: Int[Tensor, " R"]) -> tuple[Float[Tensor, "R T H"], State]:
        """`forward` for rows of different lengths, from a zero state. The states of padding are zero."""
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
    """One layer that a loop runs step by step. Some inputs are known in advance; the others (`beside`) come with each step."""

    def __init__(self, *, cell: str, inputs: int, beside: int, width: int) -> None:
        """inputs: the width of those known in advance, may be 0; beside: the width of those of each step."""
        super().__init__()
        gates = GATES[cell] * width
        self.cell = cell
        self.inputs = Linear(inputs, gates, bias=False) if inputs else None
        # the GRU's reset gate acts between the two products; the other cells use one product for both
        self.beside = Linear(beside, gates) if cell == "gru" else None
        self.hidden = Linear(width if cell == "gru" else beside + width, gates)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Initialise the weights gate by gate (Xavier), and the biases with 0, or 1 for the forget gate of an LSTM."""
        for linear in (self.inputs, self.beside, self.hidden):
            if linear is not None:
                reset_gates(linear.weight, GATES[self.cell])
        reset_gate_bias(self.hidden.bias, GATES[self.cell])

    def begin(self, x: Float[Tensor, "R T D"]) -> tuple[Sequence[Float[Tensor, "R G"]], Advance]:
        """The contribution of the known inputs to the gates of each step, and the step function."""
        assert self.inputs is not None
        return self.inputs(x.transpose(0, 1)).unbind(), self.advance()

    def advance(self) -> Advance:
        """The step function of one loop."""
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
