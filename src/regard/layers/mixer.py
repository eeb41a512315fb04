"""`Mixer`: the interface of the layer in a block that moves information between positions, such as self-attention.

`layers.mixers` has the table of mixers. A `CausalMixer` never looks ahead and can be run step by step, with a state such as a KV cache that
a search keeps and reorders.

Shapes: B batch, R rows (the hypotheses of all sentences), T positions, D width, H heads, S keys.
"""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from regard.ops.probe import Probe

MixerState = tuple[Tensor, ...]
"""The state of a causal mixer, such as a KV cache, of each hypothesis. The first axis of every tensor is the rows."""

SEGMENT = 2048
"""Positions that `by_segments` computes together."""


@runtime_checkable
class Mixer(Protocol):
    """A module that moves information between positions."""

    def __call__(
        self,
        x: Float[Tensor, "B T D"],
        mask: Float[Tensor, "*#mask T S"] | None = None,
        probe: Probe | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Mix the positions of x.

        The mask is added to scores: 0, a bias, or minus infinity on padding; it is broadcast to [B, H, T, S]. A causal mixer never looks
        ahead: without a mask it applies the causal mask itself, and a given mask must be causal.
        """


@runtime_checkable
class CausalMixer(Mixer, Protocol):
    """A mixer that can be run step by step. Contract: the steps together equal `forward`."""

    def begin(self, rows: int) -> MixerState:
        """The initial state of `rows` rows."""

    def step(
        self,
        x: Float[Tensor, "R T D"],
        state: MixerState,
        mask: Float[Tensor, "*#mask T S"] | None = None,
    ) -> tuple[Float[Tensor, "R T D"], MixerState]:
        """Mix T new positions with the earlier ones: one in decoding, many in prefill. Returns the output and the new state.

        The mask is broadcast to [R, H, T, t + T], with t earlier positions; None: only the causal mask.
        """


def by_segments(mixer: CausalMixer, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
    """`forward` of a mixer whose state does not grow, by steps of many positions: what they compute stays in the processor's cache."""
    state, outputs = mixer.begin(len(x)), []
    for segment in torch.split(x, SEGMENT, dim=1):
        output, state = mixer.step(segment, state)
        outputs.append(output)
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)


def real_positions(mask: Float[Tensor, "B 1 1 T"] | None) -> Bool[Tensor, "B T"] | None:
    """The mask of padding as True where there is a token, for mixers that compare no pairs; None: there is no padding."""
    return None if mask is None else mask[:, 0, 0] == 0


def reordered(state: MixerState, rows: Int[Tensor, " R"]) -> MixerState:
    """The state of the given rows, for any mixer. Rows may be dropped, repeated and permuted."""
    return tuple(_of_rows(part, rows) for part in state)


def shared_by_rows(value: Shaped[Tensor, "*shape"], rows: int) -> Shaped[Tensor, "R ..."]:
    """One value as the part of a state that all rows share: it has a row for each, and its memory once."""
    return value.as_strided((rows, *value.shape), (0, *value.stride()))


def _of_rows(part: Shaped[Tensor, "_ ..."], rows: Int[Tensor, " R"]) -> Shaped[Tensor, "R ..."]:
    if part.stride(0) == 0 and len(part):
        return shared_by_rows(part[0], len(rows))
    return part.index_select(0, rows)  # not part[rows]: it takes twice as long on a CPU
