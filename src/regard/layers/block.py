"""The block of a Transformer: a mixer, optional cross-attention, and the feed-forward network.

One class serves encoder, decoder, decoder-only and the prefix language model. `models.blocks` builds the parts.

Shapes: B sentences, R = B k rows for k hypotheses of each, S source, T positions, D width, H heads, d head width.
"""

from typing import cast

from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.attention import CrossAttention, KeyValueCache
from regard.layers.feed_forward import FeedForward
from regard.layers.mixer import CausalMixer, Mixer, MixerState
from regard.layers.prefix_attention import PrefixAttention
from regard.layers.residual import Residual
from regard.ops.probe import Probe, within


class Block(nn.Module):
    """Mixer, optional cross-attention and feed-forward network, each inside a residual connection with its norm."""

    def __init__(
        self,
        *,
        mixer: Mixer,
        feed_forward: FeedForward,
        around_mixer: Residual,
        around_feed_forward: Residual,
        cross: CrossAttention | None = None,
        around_cross: Residual | None = None,
    ) -> None:
        super().__init__()
        assert isinstance(mixer, nn.Module)
        assert (cross is None) == (around_cross is None), "cross-attention and its residual connection go together"
        # the order of registration is the order in which the gradient norm adds up, which decides its last bit
        self.mixer: Mixer = mixer
        self.cross = cross
        self.feed_forward = feed_forward
        self.around_mixer = around_mixer
        self.around_cross = around_cross
        self.around_feed_forward = around_feed_forward

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        *,
        mask: Float[Tensor, "*#mask #T _"] | None = None,  # of the mixer
        source: KeyValueCache | None = None,  # of cross-attention, else of a `PrefixAttention`
        source_mask: Float[Tensor, "*#mask #T S"] | None = None,
        probe: Probe | None = None,
    ) -> Float[Tensor, "B T D"]:
        """The block for all positions at once."""
        entered = self.around_mixer.enter(x)
        if isinstance(self.mixer, PrefixAttention) and source is not None:
            assert mask is not None, "the mask of a target hides what is padding and what comes later"
            mixed, _ = self.mixer.look(entered, source, self.mixer.begin(len(x)), mask, probe)
        else:
            mixed = self.mixer(entered, mask, within(probe, "self"))
        x = self.around_mixer.join(x, mixed)
        if self.cross is not None:
            x = self._look(x, source, source_mask, within(probe, "cross"))
        x = self._feed(x)
        return x if probe is None else probe.see("hidden", x)

    def read(
        self, x: Float[Tensor, "B S D"], *, mask: Float[Tensor, "*#mask #S S"] | None, probe: Probe | None = None
    ) -> tuple[Float[Tensor, "B S D"], KeyValueCache]:
        """`forward` for the source of a `PrefixAttention`, and its keys and values."""
        assert isinstance(self.mixer, PrefixAttention), "only this mixer reads a source"
        mixed, cache = self.mixer.read(self.around_mixer.enter(x), mask, within(probe, "self"))
        x = self._feed(self.around_mixer.join(x, mixed))
        return x if probe is None else probe.see("hidden", x), cache

    def step(
        self,
        x: Float[Tensor, "R T D"],
        state: MixerState,
        *,
        mask: Float[Tensor, "*#mask T _"] | None = None,  # of the mixer
        source: KeyValueCache | None = None,
        source_mask: Float[Tensor, "*#mask #T S"] | None = None,
        probe: Probe | None = None,
    ) -> tuple[Float[Tensor, "R T D"], MixerState]:
        """The block for new positions only: one per row in decoding, many in prefill. Returns the output and the mixer's new state."""
        entered = self.around_mixer.enter(x)
        if isinstance(self.mixer, PrefixAttention) and source is not None:
            assert mask is not None, "the mask of a target hides what is padding and what comes later"
            mixed, state = self.mixer.look(entered, source, state, mask, probe)
        else:
            mixed, state = cast(CausalMixer, self.mixer).step(entered, state, mask)
        x = self.around_mixer.join(x, mixed)
        if self.cross is not None:
            x = self._look(x, source, source_mask, within(probe, "cross"))
        return self._feed(x), state

    def _look(
        self,
        x: Float[Tensor, "R T D"],
        source: KeyValueCache | None,
        mask: Float[Tensor, "*#mask #T S"] | None,
        probe: Probe | None,
    ) -> Float[Tensor, "R T D"]:
        """Cross-attention. A sentence has its source once; its k hypotheses are k queries."""
        assert self.cross is not None
        assert self.around_cross is not None
        assert source is not None, "cross-attention needs a source"
        entered = self.around_cross.enter(x)
        sentences = len(source[0])
        if len(x) != sentences:
            entered = entered.reshape(sentences, -1, x.shape[2])
        attended: Tensor = self.cross(entered, source, mask, probe)
        return self.around_cross.join(x, attended.view(x.shape))

    def _feed(self, x: Float[Tensor, "R T D"]) -> Float[Tensor, "R T D"]:
        return self.around_feed_forward.join(x, self.feed_forward(self.around_feed_forward.enter(x)))
