"""`Mixer`: the interface of the layer in a block that moves information between positions, such as self-attention.

`layers.mixers` has the table of mixers. A `CausalMixer` never looks ahead and can be run step by step, with a state such as a KV cache that
a search keeps and reorders.

Shapes: B batch, R rows (the hypotheses of all sentences), T positions, D width, H heads, S keys.
"""

from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

from regard.ops.probe import Probe

MixerState = tuple[Tensor, ...]
"""The state of a causal mixer, such as a KV cache. The first axis of every tensor is the rows."""


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


def reordered(state: MixerState, rows: Int[Tensor, " R"]) -> MixerState:
    """The state of the given rows, for any mixer. Rows may be dropped, repeated and permuted."""
    # not part[rows]: it takes twice as long on a CPU
    return tuple(part.index_select(0, rows) for part in state)
