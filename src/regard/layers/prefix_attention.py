"""`PrefixAttention`: the self-attention of a prefix language model (Dong et al. 2019, UniLM; Raffel et al. 2020).

A source attends to all of itself. A target attends to all of its source and to its own past, with the same weights and under one softmax:
self-attention and cross-attention in one. So the source is read once, and its keys and values serve every step.

Shapes: B sentences, R = B k rows for k hypotheses of each, S source, T new target positions, t earlier ones, D width, H heads.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.layers.attention import SHOWN, KeyValueCache, SelfAttention
from regard.layers.mixer import MixerState
from regard.ops.attention import attend, attend_to_both
from regard.ops.probe import Probe

TOGETHER = ("joined", "output")
"""What a probe can capture of both parts together, the source and the past: `decoder.0.both.output`."""


class PrefixAttention(SelfAttention):
    """A mixer for the source (`read`, or `forward`), and for a target that looks at it (`look`)."""

    def read(
        self, x: Float[Tensor, "B S D"], mask: Float[Tensor, "*#mask #S S"] | None, probe: Probe | None = None
    ) -> tuple[Float[Tensor, "B S D"], KeyValueCache]:
        """`forward`, and the keys and values of all positions."""
        query, key, values = self.projections(x)
        keys = self.keys_of(key)
        return self.attend(query, keys, values, mask=mask, probe=probe), (keys, values)

    def look(
        self,
        x: Float[Tensor, "R T D"],
        source: KeyValueCache,
        earlier: MixerState,
        mask: Float[Tensor, "R #H T _"],
        probe: Probe | None = None,
    ) -> tuple[Float[Tensor, "R T D"], MixerState]:
        """Attention of T new positions to the source, to earlier ones and to themselves. Returns the output and the extended cache.

        mask: of the S columns of the source, then of t + T of the target. The probe is that of the block.
        """
        earlier_keys, earlier_values = earlier
        first = earlier_keys.shape[2]
        query, key, values = self.projections(x)
        query, keys = self.query_of(query, first), self.keys_of(key, first)
        if first:
            keys, values = torch.cat([earlier_keys, keys], dim=2), torch.cat([earlier_values, values], dim=2)
        own = keys, values
        if probe is not None and _wanted(probe):
            of_source, of_past, of_both = (probe.within(part) for part in ("cross", "self", "both"))
            self.show_value_norms(source[1], of_source)
            self.show_value_norms(values, of_past)
            context = attend_to_both(query, source, own, mask=mask, score=self.compare, look=of_source, past=of_past)
            return self.output_of(context, of_both), own
        if len(x) == len(source[0]):
            both = [torch.cat([theirs, ours], dim=2) for theirs, ours in zip(source, own, strict=True)]
            return self.output_of(attend(query, *both, score=self.compare, mask=mask)), own
        return self.output_of(attend_to_both(query, source, own, mask=mask, score=self.compare)), own


def _wanted(probe: Probe) -> bool:
    """Whether a probe wants something of the attention: of a part, or of what both parts make together."""
    names = [f"both.{name}" for name in TOGETHER]
    names += [f"{part}.{name}" for part in ("cross", "self") for name in SHOWN if name not in TOGETHER]
    return any(map(probe.wants, names))
