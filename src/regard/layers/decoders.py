"""Recurrent decoders: what each step makes of the token before, of the state, and of the source.

All take the embeddings of tokens that are known, many of a reference or one of a search, and return the hidden states that are turned into
logits. R rows of states stand for B sentences with k = R / B hypotheses each; what comes from the source is there once a sentence.

Shapes: B sentences, R rows, S source, T steps, E embedding, H width, W width of an encoder's state, L layers.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.layers.recurrent import Cell, RecurrentStack, State
from regard.layers.scores import Score
from regard.ops.attention import attend, probed_attention
from regard.ops.probe import Probe, within
from regard.ops.repeated import RepeatedLinear


@dataclass(frozen=True, slots=True)
class SourceMemory:
    """What a decoder may look at."""

    keys: Tensor  # [B, 1, S, a], as queries are compared with them
    values: Tensor  # [B, 1, S, W]
    mask: Tensor  # [B, 1, 1, S] added to the scores

    def keep(self, sentences: Tensor) -> "SourceMemory":
        """Those sentences only."""
        return SourceMemory(self.keys[sentences], self.values[sentences], self.mask[sentences])


class StateAttention(nn.Module):
    """Attention of a decoder's state to the states of an encoder: keys and values are these (Bahdanau et al. 2015)."""

    def __init__(self, *, score: Score, query: int, key: int, inner: int) -> None:
        super().__init__()
        self.query = nn.Linear(query, inner, bias=False) if score.projected else nn.Identity()
        self.key = nn.Linear(key, inner, bias=False) if score.projected else nn.Identity()
        self.score = score

    def remember(self, states: Tensor, mask: Tensor) -> SourceMemory:
        """states [B, S, W], mask [B, 1, 1, S]: all that concerns the source alone, computed once."""
        return SourceMemory(self.score.remember(self.key(states))[:, None], states[:, None], mask)

    def forward(self, state: Tensor, memory: SourceMemory, probe: Probe | None) -> tuple[Tensor, Tensor | None]:
        """state [R, H] -> context [R, W], and for a probe the weights [B, 1, k, S]."""
        query = self.score.ask(self.query(state.view(len(memory.keys), 1, -1, state.shape[-1])))
        if probe is None:
            context = attend(query, memory.keys, memory.values, score=self.score.compare, mask=memory.mask)
            return context.reshape(len(state), -1), None
        if probe.wants("value_norms"):
            probe.see("value_norms", torch.linalg.vector_norm(memory.values, dim=-1))
        context, weights = probed_attention(
            query, memory.keys, memory.values, probe, score=self.score.compare, mask=memory.mask
        )
        return context.reshape(len(state), -1), weights


class PlainDecoder(nn.Module):
    """Without attention: what it knows of the source is the state that it starts from (Sutskever et al. 2014)."""

    attention = None

    def __init__(self, *, cell: str, embedding: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.stack = RecurrentStack(cell=cell, inputs=embedding, width=width, layers=layers, dropout=dropout)
        self.readout = nn.Linear(width, embedding)

    def first(self, state: State) -> State:
        """The state of a decoder that has said nothing, from what the bridge made of the source."""
        return state

    def forward(
        self, x: Tensor, state: State, memory: SourceMemory | None, probe: Probe | None
    ) -> tuple[Tensor, State]:
        """x [R, T, E], state [R, L, H] -> [R, T, E] and the state after the last step."""
        states, state = self.stack(x, state)
        return torch.tanh(self.readout(states)), state


class AttentiveDecoder(nn.Module):
    """Attention asked by the state before, its context joined to the next input (Bahdanau et al. 2015, section 3.1).

    c_t = attend(s_{t-1}), s_t = cell([y_{t-1}; c_t], s_{t-1}), hidden_t = tanh(W [s_t; c_t]). Of several layers the lowest asks, as in
    Wu et al. 2016, so that those above it need no loop.
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
        """cell: E inputs, W beside them; above: what reads its states, of one layer less; readout: H + W -> E."""
        super().__init__()
        self.attention, self.cell, self.above, self.readout = attention, cell, above, readout
        self.dropout = Dropout(dropout)

    def first(self, state: State) -> State:
        """The state of a decoder that has said nothing, from what the bridge made of the source."""
        return state

    def forward(
        self, x: Tensor, state: State, memory: SourceMemory | None, probe: Probe | None
    ) -> tuple[Tensor, State]:
        """x [R, T, E], state [R, L, H] -> [R, T, E] and the state after the last step."""
        assert memory is not None
        ahead, advance = self.cell.begin(x)
        lowest = tuple(part[:, 0] for part in state)
        states, contexts, looks = [], [], _Looks(probe)
        for number, inputs in enumerate(ahead):
            context, weights = self.attention(lowest[0], memory, looks.at(number))
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
    """Attention asked by the state itself; what was made of both is fed to the next step (Luong et al. 2015, sections 3 and 3.3).

    s_t = cells([y_{t-1}; hidden_{t-1}], s_{t-1}), c_t = attend(s_t), hidden_t = tanh(W [s_t; c_t]).
    """

    def __init__(self, *, attention: StateAttention, cells: Iterable[Cell], readout: nn.Linear, dropout: float) -> None:
        """cells: of E inputs and E beside them, then of no inputs and H beside them; readout: H + W -> E."""
        super().__init__()
        self.attention, self.cells, self.readout = attention, nn.ModuleList(cells), readout
        self.dropout = Dropout(dropout)

    def first(self, state: State) -> State:
        """The state of a decoder that has said nothing: nothing is fed yet."""
        return *state, state[0].new_zeros(len(state[0]), self.readout.out_features)

    def forward(
        self, x: Tensor, state: State, memory: SourceMemory | None, probe: Probe | None
    ) -> tuple[Tensor, State]:
        """x [R, T, E], state [R, L, H] and what is fed [R, E] -> [R, T, E] and the state after the last step."""
        assert memory is not None
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
            context, weights = self.attention(top, memory, looks.at(number))
            looks.keep(weights)
            fed = torch.tanh(readout(torch.cat([top, context], dim=1)))
            outputs.append(fed)
        looks.show()
        last = tuple(torch.stack(some, dim=1) for some in zip(*layers, strict=True))
        return torch.stack(outputs, dim=1), (*last, fed)


Decoder = PlainDecoder | AttentiveDecoder | FeedingDecoder


class _Looks:
    """What a probe sees of a loop: each step by its number, `3.weights`, and the weights of all steps together.

    Edits act on the steps; the whole, [B, 1, T, S], is what came of them.
    """

    def __init__(self, probe: Probe | None) -> None:
        self._probe = within(probe, "0.cross")
        self._weights: list[Tensor] = []

    def at(self, number: int) -> Probe | None:
        return within(self._probe, str(number))

    def keep(self, weights: Tensor | None) -> None:
        if weights is not None:
            self._weights.append(weights)

    def show(self) -> None:
        if self._probe is not None:
            self._probe.see("weights", torch.cat(self._weights, dim=2))
