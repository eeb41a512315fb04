"""Recurrent decoders: each step reads the previous token, the state and, with attention, the source.

All take the embeddings of input tokens, many in teacher forcing or one in a search step, and return the hidden states that are projected to
logits. R rows of states are B sentences with k = R / B hypotheses each; the encoded source has B rows.

Shapes: B sentences, R rows, S source, T steps, E embedding, H width, W width of an encoder's state, L layers.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.layers.copying import CopiedSource
from regard.layers.dropout import Dropout
from regard.layers.linear import Linear
from regard.layers.recurrent import Cell, RecurrentStack, State
from regard.layers.scores import AttentionScore
from regard.ops.attention import attend, probed_attention
from regard.ops.probe import Probe, within
from regard.ops.repeated import RepeatedLinear


@dataclass(frozen=True, slots=True)
class EncodedSource:
    """Keys and values of an encoded source, computed once for all steps."""

    keys: Float[Tensor, "B 1 S a"]  # prepared for the score
    values: Float[Tensor, "B 1 S W"]
    mask: Float[Tensor, "B 1 1 S"]  # added to the scores
    copied: CopiedSource | None = None

    def keep(self, sentences: Int[Tensor, " N"]) -> "EncodedSource":
        """The encoded source of these sentences only."""
        copied = None if self.copied is None else self.copied.keep(sentences)
        return EncodedSource(self.keys[sentences], self.values[sentences], self.mask[sentences], copied)


class StateAttention(nn.Module):
    """Attention of a decoder's state to the encoder's states, which are keys and values (Bahdanau et al. 2015)."""

    def __init__(self, *, score: AttentionScore, query: int, key: int, inner: int) -> None:
        super().__init__()
        self.query = Linear(query, inner, bias=False) if score.projected else nn.Identity()
        self.key = Linear(key, inner, bias=False) if score.projected else nn.Identity()
        self.score = score

    def project_source(self, states: Float[Tensor, "B S W"], mask: Float[Tensor, "B 1 1 S"]) -> EncodedSource:
        """Keys and values of the source; the mask keeps attention off its padding."""
        return EncodedSource(self.score.prepare_keys(self.key(states))[:, None], states[:, None], mask)

    def forward(
        self, state: Float[Tensor, "R H"], source: EncodedSource, probe: Probe | None
    ) -> tuple[Float[Tensor, "R W"], Float[Tensor, "B 1 k S"] | None]:
        """The context and, with a probe, the weights."""
        query = self.score.prepare_query(self.query(state.view(len(source.keys), 1, -1, state.shape[-1])))
        if probe is None:
            context = attend(query, source.keys, source.values, score=self.score.compare, mask=source.mask)
            return context.reshape(len(state), -1), None
        if probe.wants("value_norms"):
            probe.show("value_norms", torch.linalg.vector_norm(source.values, dim=-1))
        context, weights = probed_attention(
            query, source.keys, source.values, probe, score=self.score.compare, mask=source.mask
        )
        return context.reshape(len(state), -1), weights


class PlainDecoder(nn.Module):
    """A decoder without attention: it knows the source only from its initial state (Sutskever et al. 2014)."""

    attention = None

    def __init__(self, *, cell: str, embedding: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.stack = RecurrentStack(cell=cell, inputs=embedding, width=width, layers=layers, dropout=dropout)
        self.readout = Linear(width, embedding)

    def first(self, state: State) -> State:
        """The initial state, from the bridge."""
        return state

    def forward(
        self, x: Float[Tensor, "R T E"], state: State, source: EncodedSource | None, probe: Probe | None
    ) -> tuple[Float[Tensor, "R T E"], State]:
        """The hidden states, and the state after the last step, [R, L, H]."""
        states, state = self.stack(x, state)
        return torch.tanh(self.readout(states)), state


class AttentiveDecoder(nn.Module):
    """A decoder with attention by the previous state; the context joins the next input (Bahdanau et al. 2015, section 3.1).

    c_t = attend(s_{t-1}), s_t = cell([y_{t-1}; c_t], s_{t-1}), hidden_t = tanh(W [s_t; c_t]). The lowest layer attends, as in Wu et al.
    2016, so that the layers above need no loop.
    """

    def __init__(
        self,
        *,
        attention: StateAttention,
        cell: Cell,
        above: RecurrentStack | None,
        readout: nn.Linear,
        dropout: float,
    ) -> None:
        """cell: E inputs and W for the context; above: the other layers, which read its states; readout: H + W -> E."""
        super().__init__()
        self.attention, self.cell, self.above, self.readout = attention, cell, above, readout
        self.dropout = Dropout(dropout)

    def first(self, state: State) -> State:
        """The initial state, from the bridge."""
        return state

    def forward(
        self, x: Float[Tensor, "R T E"], state: State, source: EncodedSource | None, probe: Probe | None
    ) -> tuple[Float[Tensor, "R T E"], State]:
        """The hidden states, and the state after the last step, [R, L, H]."""
        assert source is not None
        ahead, advance = self.cell.begin(x)
        lowest = tuple(part[:, 0] for part in state)
        states, contexts, looks = [], [], _Looks(probe)
        for number, inputs in enumerate(ahead):
            context, weights = self.attention(lowest[0], source, looks.at(number))
            lowest = advance(inputs, context, lowest)
            looks.keep(weights)
            states.append(lowest[0])
            contexts.append(context)
        looks.show()
        hidden, last = torch.stack(states, dim=1), tuple(part[:, None] for part in lowest)
        if self.above is not None:
            hidden, top = self.above(self.dropout(hidden), tuple(part[:, 1:] for part in state))
            last = tuple(torch.cat(parts, dim=1) for parts in zip(last, top, strict=True))
        return torch.tanh(self.readout(torch.cat([hidden, torch.stack(contexts, dim=1)], dim=2))), last


class FeedingDecoder(nn.Module):
    """A decoder with attention by the current state and with input feeding (Luong et al. 2015, sections 3 and 3.3).

    s_t = cells([y_{t-1}; hidden_{t-1}], s_{t-1}), c_t = attend(s_t), hidden_t = tanh(W [s_t; c_t]).
    """

    def __init__(self, *, attention: StateAttention, cells: Iterable[Cell], readout: nn.Linear, dropout: float) -> None:
        """cells: the first has E inputs and E for input feeding, the others only H from the layer below; readout: H + W -> E."""
        super().__init__()
        self.attention, self.cells, self.readout = attention, nn.ModuleList(cells), readout
        self.dropout = Dropout(dropout)

    def first(self, state: State) -> State:
        """The initial state: that of the bridge, and zeros for the input feeding."""
        return *state, state[0].new_zeros(len(state[0]), self.readout.out_features)

    def forward(
        self, x: Float[Tensor, "R T E"], state: State, source: EncodedSource | None, probe: Probe | None
    ) -> tuple[Float[Tensor, "R T E"], State]:
        """The hidden states and the state after the last step: [R, L, H] of the cells, and [R, E] for input feeding."""
        assert source is not None
        lowest, *above = (cell for cell in self.cells if isinstance(cell, Cell))
        ahead, advance = lowest.begin(x)
        steps = [cell.advance() for cell in above]
        readout = RepeatedLinear(self.readout.weight, self.readout.bias)
        *parts, fed = state
        layers = [tuple(part[:, layer] for part in parts) for layer in range(len(self.cells))]
        outputs, looks = [], _Looks(probe)
        for number, inputs in enumerate(ahead):
            layers[0] = advance(inputs, fed, layers[0])
            for layer, step in enumerate(steps, 1):
                layers[layer] = step(None, self.dropout(layers[layer - 1][0]), layers[layer])
            top = layers[-1][0]
            context, weights = self.attention(top, source, looks.at(number))
            looks.keep(weights)
            fed = torch.tanh(readout(torch.cat([top, context], dim=1)))
            outputs.append(fed)
        looks.show()
        last = tuple(torch.stack(parts, dim=1) for parts in zip(*layers, strict=True))
        return torch.stack(outputs, dim=1), (*last, fed)


Decoder = PlainDecoder | AttentiveDecoder | FeedingDecoder


class _Looks:
    """Shows the attention of a loop to a probe: each step by its number, `3.weights`, and all steps together, `weights` [B, 1, T, S].

    Edits act on the single steps.
    """

    def __init__(self, probe: Probe | None) -> None:
        self._probe = within(probe, "0.cross")
        self._weights: list[Tensor] = []

    def at(self, number: int) -> Probe | None:
        return within(self._probe, str(number))

    def keep(self, weights: Float[Tensor, "B 1 k S"] | None) -> None:
        if weights is not None:
            self._weights.append(weights)

    def show(self) -> None:
        if self._probe is not None:
            self._probe.show("weights", torch.cat(self._weights, dim=2))
