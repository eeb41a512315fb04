"""The encoder-decoder Transformer (Vaswani et al. 2017; the lectures' main subject). How it decodes: `models.source_decoder`.

Its source may be words or a picture: the front decides. It returns logits, as `models.network` says.

Shapes: B batch, S source, R rows, T target, D width.
"""

from collections.abc import Sequence

from jaxtyping import Float, Num
from torch import Tensor

from regard.layers.attention import KeyValueCache, project_source
from regard.layers.copying import CopiedSource, CopyHead
from regard.layers.fronts import TokenFront
from regard.layers.patches import PatchFront
from regard.models.blocks import (
    attention_layers,
    causal_mask,
    decoder_blocks,
    encoder_blocks,
    last_norm,
    relative_bias,
    rotary_positions,
    run_encoder,
)
from regard.models.config import TransformerConfig
from regard.models.source_decoder import SourceDecoder
from regard.ops.probe import Probe, within


class Transformer(SourceDecoder):
    """Fronts, encoder, decoder and the projection to the vocabulary."""

    def __init__(self, config: TransformerConfig, source: TokenFront | PatchFront, target: TokenFront) -> None:
        """source: of ids or of pixels. A front of pixels tells the places of its patches itself: the encoder has no other positions."""
        super().__init__(source, target, tie=config.tie, output_bias=config.output_bias)
        words = isinstance(source, TokenFront)
        self.encoder_bias = relative_bias(config, bidirectional=True) if words else None
        self.decoder_bias = relative_bias(config, bidirectional=False)
        rotary = rotary_positions(config)
        self.encoder = encoder_blocks(config, rotary if words else None)
        self.decoder = decoder_blocks(config, rotary, cross=True)
        self.encoder_norm, self.decoder_norm = last_norm(config), last_norm(config)
        if config.copies:
            self.copying = CopyHead(width=config.width, source=config.width)

    def read(
        self, source: Num[Tensor, "B *source"], probe: Probe | None = None
    ) -> tuple[Sequence[KeyValueCache], Float[Tensor, "B 1 1 S"], CopiedSource | None]:
        """Encode the source, and project its hidden states for the cross-attention of each block and for copies."""
        states, mask = self.encode(source, probe)
        return project_source(attention_layers(self.decoder), states), mask, self.copied_source(source, states, mask)

    def target_mask(
        self, x: Float[Tensor, "R T D"], earlier: int, source_mask: Float[Tensor, "B 1 1 S"]
    ) -> Float[Tensor, "*mask T _"] | None:
        """The causal mask, with the bias of relative positions."""
        return causal_mask(self.decoder_bias, x, earlier)

    def encode(
        self, source: Num[Tensor, "B *source"], probe: Probe | None = None
    ) -> tuple[Float[Tensor, "B S D"], Float[Tensor, "B 1 1 S"]]:
        """The hidden states of the source, and its padding mask."""
        x, real = self.source(source, within(probe, "encoder"))
        x, mask = run_encoder(self.encoder, x, real, self.encoder_bias, probe)
        return self.encoder_norm(x), mask
