"""`CopyHead`: an attention of its own that points to the pieces of the source, and the gate between them and the vocabulary.

With h a hidden state that is projected to logits and x_s the encoder's states, the head has the weights, the context and the gate

    a = softmax(W_q h (W_k x)^T / sqrt(D)),    c = sum_s a_s W_k x_s,    u = w [h; c] + b,    g = sigmoid(u)

(See et al. 2017, section 2.2; `ops.copying` has the mixture). See et al. point with the attention of their one decoder layer, and Enarvi et
al. 2020 with one head of a Transformer. A head of its own above the decoder, as OpenNMT has it, is the same for every kind of network.

`CopyHead.rows` puts all that the mixture needs beside the hidden state, [h; u; c of the slots; pieces of the slots]. So a row of hidden
states still determines its distribution, whatever is selected, joined or reordered. The row has the type of the output table: a piece of
a vocabulary below 2^24 is exact in float32.

Shapes: B sentences, S source places, T target positions or hypotheses, D width of h, W of the encoder's states, R = D + 1 + 2 S.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.layers.linear import Linear
from regard.ops.attention import attention_weights
from regard.ops.copying import first_places, slot_pieces, slot_shares
from regard.ops.probe import Probe


@dataclass(frozen=True, slots=True)
class CopiedSource:
    """The source that is pointed at, computed once for all steps."""

    keys: Float[Tensor, "B S D"]
    mask: Float[Tensor, "B 1 S"]  # added to the scores
    first: Int[Tensor, "B S"]  # the first place of the same piece
    pieces: Int[Tensor, "B S"]  # of the slots; pad where there is none

    def keep(self, sentences: Int[Tensor, " N"]) -> "CopiedSource":
        """These sentences only."""
        if len(sentences) == len(self.keys):
            return self
        parts = (part.index_select(0, sentences) for part in (self.keys, self.mask, self.first, self.pieces))
        return CopiedSource(*parts)


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """The parts of packed rows."""

    hidden: Float[Tensor, "*rows D"]
    gate: Float[Tensor, "*rows"]
    shares: Float[Tensor, "*rows S"]
    pieces: Int[Tensor, "*rows S"]


class CopyHead(nn.Module):
    """The attention to the source's pieces, and the gate."""

    def __init__(self, *, width: int, source: int) -> None:
        """width: of the states that are projected; source: of the encoder's."""
        super().__init__()
        self.width = width
        self.query = Linear(width, width)
        self.key = Linear(source, width, bias=False)
        self.gate = Linear(2 * width, 1)

    def source(
        self, states: Float[Tensor, "B S W"], ids: Int[Tensor, "B S"], mask: Float[Tensor, "B 1 1 S"], pad: int
    ) -> CopiedSource:
        """The keys and pieces of a source. mask: keeps the head off padding."""
        first = first_places(ids)
        return CopiedSource(self.key(states), mask[:, 0], first, slot_pieces(ids, first, pad))

    def rows(
        self, hidden: Float[Tensor, "B T D"], source: CopiedSource, dtype: torch.dtype, probe: Probe | None = None
    ) -> Float[Tensor, "B T R"]:
        """Hidden states with all that the mixture needs, in one tensor of this type."""
        if probe is not None:
            hidden = probe.see("hidden", hidden)
        weights = attention_weights(self.query(hidden), source.keys, mask=source.mask.to(hidden.dtype))
        if probe is not None:
            weights = probe.see("weights", weights)
        context = weights.to(source.keys.dtype) @ source.keys
        gate = self.gate(torch.cat([hidden, context], dim=-1))
        if probe is not None:
            gate = probe.see("gate", gate)
        shares = slot_shares(weights.to(dtype), source.first)
        pieces = source.pieces[:, None].expand_as(shares).to(dtype)
        return torch.cat([hidden.to(dtype), gate.to(dtype), shares, pieces], dim=-1)

    def parts(self, rows: Float[Tensor, "*rows R"]) -> CopiedRows:
        """The parts that `rows` joined."""
        width = self.width
        shares, pieces = rows[..., width + 1 :].chunk(2, dim=-1)
        return CopiedRows(rows[..., :width], rows[..., width], shares, pieces.long())
