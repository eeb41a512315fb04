"""The decoder-only Transformer: a language model of causal blocks (Liu et al. 2018, Radford et al. 2018).

It is trained on contexts of a fixed length, each beginning with the start token. Generation continues past that length: when the context is
full, its first half is dropped and the second half is prefilled again.

Shapes: B batch, T tokens, P prefix, D width, V outputs (the vocabulary without pad), k hypotheses, R = B k rows, t tokens so far.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.layers.embedding import TokenEmbedding
from regard.models.blocks import (
    begin_decoder,
    causal_mask,
    decoder_blocks,
    last_norm,
    relative_bias,
    rotary_positions,
    run_causal,
    step_decoder,
    token_front,
)
from regard.models.config import LanguageTransformerConfig
from regard.models.network import LanguageModel, StepRecord, sentences_of
from regard.models.prepared import SharedState
from regard.models.state import CausalState, DecoderState
from regard.ops.probe import Probe, within


class DecoderOnly(LanguageModel):
    """Front, causal blocks and the projection to the vocabulary."""

    context: int

    def __init__(self, config: LanguageTransformerConfig, vocabulary: int, context: int) -> None:
        # pad, the start token, has a nonzero vector too: each norm would multiply the gradient of a zero vector by 300
        super().__init__(token_front(config, TokenEmbedding(vocabulary, config.width)), tie=config.tie)
        self.context = context
        self.decoder_bias = relative_bias(config, bidirectional=False)
        self.decoder = decoder_blocks(config, rotary_positions(config), cross=False)
        self.decoder_norm = last_norm(config)

    def hidden(
        self, source: Int[Tensor, "B S"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Float[Tensor, "B T D"]:
        """The last hidden states, which `project` maps to logits."""
        x = self.target.embed(target_in, probe=within(probe, "decoder"))
        result: Tensor = self.decoder_norm(run_causal(self.decoder, x, self.decoder_bias, within(probe, "decoder")))
        return result

    def start(self, source: Int[Tensor, "B S"] | None, prefix: Int[Tensor, "B P"] | None = None) -> CausalState:
        """Prefill the prefix in one forward pass; only its end, if it is longer than a context."""
        device = self.target.embedding.weight.device
        nothing = torch.zeros(sentences_of(source, prefix), 0, dtype=torch.long, device=device)
        return self._prefill(nothing if prefix is None else self._fitting(prefix), 1)

    def step(
        self, tokens: Int[Tensor, "B k"], state: CausalState, record: bool = False
    ) -> tuple[Float[Tensor, "B k V"], CausalState, StepRecord | None]:
        """Feed one token per hypothesis. Returns the logits of the next and the new state."""
        if state.tokens.shape[1] >= self.context:
            state = self._prefill(self._fitting(state.tokens), state.decoder.hypotheses)
        decoder, rows = state.decoder, tokens.reshape(-1, 1)
        if isinstance(decoder, SharedState):
            x = self.target.embed(rows, state.tokens.shape[1])[:, 0]
            x, longer = decoder.prepared.step(x, decoder)
            logits = self.project_step(x, decoder.prepared).view(*tokens.shape, -1)
            return logits, CausalState(longer, torch.cat([state.tokens, rows], dim=1)), None
        x, new = self._extend(rows, state, tokens.shape[1])
        return self.project(self.decoder_norm(x)).view(*tokens.shape, -1), new, None

    def _fitting(self, tokens: Int[Tensor, "R t"]) -> Int[Tensor, "R T"]:
        """The tokens, if one more fits the context; else the start token and the last half context."""
        if tokens.shape[1] < self.context:
            return tokens
        begin = torch.full_like(tokens[:, :1], self.start_token)
        return torch.cat([begin, tokens[:, tokens.shape[1] - self.context // 2 :]], dim=1)[:, : self.context - 1]

    def _prefill(self, tokens: Int[Tensor, "R t"], hypotheses: int) -> CausalState:
        """The state after the tokens."""
        state = CausalState(begin_decoder(self.decoder, len(tokens), hypotheses=hypotheses), tokens[:, :0])
        if tokens.shape[1]:
            state = self._extend(tokens, state, hypotheses)[1]
        prepared = (
            self.prepared(self.decoder, self.decoder_norm) if hypotheses == 1 and self.decoder_bias is None else None
        )
        assert isinstance(state.decoder, DecoderState)
        return state if prepared is None else CausalState(prepared.begin(state.decoder.mixers), tokens)

    def _extend(
        self, tokens: Int[Tensor, "R T"], state: CausalState, hypotheses: int
    ) -> tuple[Float[Tensor, "R T D"], CausalState]:
        """Feed more tokens after those of the state. Returns their hidden states and the new state."""
        earlier = state.tokens.shape[1]
        x = self.target.embed(tokens, earlier)
        mask = causal_mask(self.decoder_bias, x, earlier)
        assert isinstance(state.decoder, DecoderState)
        x, decoder = step_decoder(self.decoder, x, state.decoder, hypotheses, mask=mask)
        return x, CausalState(decoder, torch.cat([state.tokens, tokens], dim=1))
