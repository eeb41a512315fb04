"""The prefix language model that translates: one stack for source and target (Dong et al. 2019, UniLM; Raffel et al. 2020).

The sequence is [source </s> target]. Its mask lets the source see all of the source, and the target all of the source and its own past:

    O = softmax(Q K^T / sqrt(d) + M) V,    M_ij = 0 where j is a source token, or a target token not after i, if i is of the target.

No source position depends on the target. So the source is read alone, bidirectionally, and then the target with the keys and values of
the source in front of its own: the numbers of one sequence, without the part of the mask that is closed. Positions of the target begin
again at 0. Words that translate each other are then at about the same position, whatever the length of the source, and padding between
the two moves nothing. A vector for each segment tells them apart.

Shapes: B batch, S source, R rows, T target, D width, H heads.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Num
from torch import Tensor

from regard.layers.attention import KeyValueCache
from regard.layers.copying import CopiedSource, CopyHead
from regard.layers.fronts import TokenFront
from regard.models.blocks import blocks_of, last_norm, prefix_blocks, relative_bias, rotary_positions
from regard.models.config import PrefixConfig
from regard.models.source_decoder import SourceDecoder
from regard.ops.masks import additive, causal
from regard.ops.probe import Probe, within


class PrefixTransformer(SourceDecoder):
    """Fronts that share their embeddings, one stack, and the projection to the vocabulary."""

    def __init__(self, config: PrefixConfig, source: TokenFront, target: TokenFront) -> None:
        super().__init__(source, target, tie=config.tie)
        self.decoder_bias = relative_bias(config, bidirectional=True)
        self.decoder = prefix_blocks(config, rotary_positions(config))
        self.decoder_norm = last_norm(config)
        if config.copies:
            self.copying = CopyHead(width=config.width, source=config.width)

    def read(
        self, source: Num[Tensor, "B *source"], probe: Probe | None = None
    ) -> tuple[Sequence[KeyValueCache], Float[Tensor, "B 1 1 S"], CopiedSource | None]:
        """Read the source, every position of which sees all of them, into keys and values."""
        x, real = self.source(source, within(probe, "encoder"))
        padding = additive(real[:, None, None, :], x.dtype)
        mask = padding if self.decoder_bias is None else padding + self.decoder_bias(x.shape[1], x.shape[1])
        caches = []
        for number, block in enumerate(blocks_of(self.decoder)):
            x, cache = block.read(x, mask=mask, probe=within(probe, f"encoder.{number}"))
            caches.append(cache)
        copied = None if self.copying is None else self.copied_source(source, self.decoder_norm(x), padding)
        return caches, padding, copied

    def target_mask(
        self, x: Float[Tensor, "R T D"], earlier: int, source_mask: Float[Tensor, "B 1 1 S"]
    ) -> Float[Tensor, "R _ T _"]:
        """The target's rows of the mask: the columns of the source, then its own."""
        rows, new = x.shape[:2]
        past = additive(causal(new, earlier + new, x.device), x.dtype)
        both = [source_mask.repeat_interleave(rows // len(source_mask), dim=0), past]
        if self.decoder_bias is not None:
            widths = [source_mask.shape[-1], earlier + new]
            both = [
                part + self.decoder_bias.between(earlier, new, width) for part, width in zip(both, widths, strict=True)
            ]
        heads = both[0].shape[1]
        return torch.cat([part.expand(rows, heads, new, -1) for part in both], dim=3)

    def attention_of(self, weights: Float[Tensor, "R H 1 S"], rows: tuple[int, ...]) -> Float[Tensor, "B k S"]:
        """The attention to the source that a step records: its share of the weights, scaled to sum to 1."""
        share = super().attention_of(weights, rows)
        return share / share.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(share.dtype).tiny)
