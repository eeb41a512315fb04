"""The encoder-decoder Transformer (Vaswani et al. 2017; the lectures' main subject), teacher-forced and step by step.

Its source may be words or a picture: the front decides. It returns logits, as `models.network` says.

Shapes: B batch, S source, T target, P prefix, D width, V outputs (the target vocabulary without pad), k hypotheses, R = B k rows.
"""

from jaxtyping import Float, Int, Num
from torch import Tensor

from regard.layers.attention import project_source
from regard.layers.fronts import TokenFront
from regard.layers.patches import PatchFront
from regard.models.blocks import (
    attention_layers,
    begin_decoder,
    causal_mask,
    decoder_blocks,
    encoder_blocks,
    last_norm,
    relative_bias,
    rotary_positions,
    run_encoder,
    step_decoder,
)
from regard.models.config import TransformerConfig
from regard.models.network import EncoderDecoder, StepRecord
from regard.models.prepared import SharedState
from regard.models.state import TransformerState
from regard.ops.probe import Probe, within


class Transformer(EncoderDecoder):
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

    def hidden(
        self, source: Num[Tensor, "B *source"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Float[Tensor, "B T D"]:
        """The last hidden states, which `project` maps to logits."""
        states, source_mask = self.encode(source, probe)
        x = self.target.embed(target_in, probe=within(probe, "decoder"))
        mask = causal_mask(self.decoder_bias, x)
        caches = project_source(attention_layers(self.decoder), states)
        for number, (block, cache) in enumerate(zip(self.decoder, caches, strict=True)):
            at = within(probe, f"decoder.{number}")
            x = block(x, mask=mask, source=cache, source_mask=source_mask, probe=at)
        result: Tensor = self.decoder_norm(x)
        return result

    def encode(
        self, source: Num[Tensor, "B *source"], probe: Probe | None = None
    ) -> tuple[Float[Tensor, "B S D"], Float[Tensor, "B 1 1 S"]]:
        """The hidden states of the source, and its padding mask."""
        x, real = self.source(source, within(probe, "encoder"))
        x, mask = run_encoder(self.encoder, x, real, self.encoder_bias, probe)
        return self.encoder_norm(x), mask

    def start(
        self, source: Num[Tensor, "B *source"] | None, prefix: Int[Tensor, "B P"] | None = None
    ) -> TransformerState | SharedState:
        """Encode the source and prefill the prefix, once for all steps."""
        assert source is not None, "an encoder-decoder needs a source"
        states, source_mask = self.encode(source)
        projected = project_source(attention_layers(self.decoder), states)
        caches = tuple((keys.contiguous(), values.contiguous()) for keys, values in projected)  # read at every step
        state = TransformerState(caches, source_mask, begin_decoder(self.decoder, len(source)), 0)
        if prefix is not None and prefix.shape[1]:
            state = self._extend(prefix, state, 1, None)[1]
        prepared = self.prepared(self.decoder, self.decoder_norm) if self.decoder_bias is None else None
        return state if prepared is None else prepared.begin_with_source(state.decoder.mixers, caches, source_mask)

    def step(
        self, tokens: Int[Tensor, "B k"], state: TransformerState | SharedState, record: bool = False
    ) -> tuple[Float[Tensor, "B k V"], TransformerState | SharedState, StepRecord | None]:
        """Feed one token per hypothesis. Returns the logits of the next, the new state and the attention."""
        if isinstance(state, SharedState):
            if not record:
                x = self.target.embed(tokens.reshape(-1, 1), state.caches.length)[:, 0]
                x, longer = state.prepared.step(x, state)
                return self.project_step(x, state.prepared).view(*tokens.shape, -1), longer, None
            plain = state.plain()  # it has attention weights to show
            assert isinstance(plain, TransformerState)
            state = plain
        probe = Probe(f"*.{len(self.decoder) - 1}.cross.weights") if record else None
        x, new = self._extend(tokens.reshape(-1, 1), state, tokens.shape[1], probe)
        seen = None if probe is None else StepRecord(probe[next(iter(probe))].mean(dim=1))
        return self.project(self.decoder_norm(x.view(*tokens.shape, -1))), new, seen

    def _extend(
        self, tokens: Int[Tensor, "R T"], state: TransformerState, hypotheses: int, probe: Probe | None
    ) -> tuple[Float[Tensor, "R T D"], TransformerState]:
        """Feed more tokens after those of the state. Returns their hidden states and the new state."""
        x = self.target.embed(tokens, state.length)
        x, decoder = step_decoder(
            self.decoder,
            x,
            state.decoder,
            hypotheses,
            mask=causal_mask(self.decoder_bias, x, state.length),
            source=state.source,
            source_mask=state.source_mask,
            probe=probe,
        )
        return x, TransformerState(state.source, state.source_mask, decoder, state.length + tokens.shape[1])
