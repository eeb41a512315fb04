"""The decoder-only Transformer: a language model of causal self-attention (Liu et al. 2018, Radford et al. 2018).

It was trained on contexts of a certain length, each beginning with the start token. Step by step it goes on past that length: when a
context is full, the older half is forgotten and the younger is read anew as a context of its own.

Shapes: B batch, T tokens, D width, H heads, V outputs (the vocabulary without pad), k hypotheses.
"""

import torch
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.layers.transformer import CausalBlock
from regard.models.config import TransformerConfig
from regard.models.network import LanguageModel, StepRecord, sentences_of
from regard.models.state import CausalState
from regard.models.tables import embedded
from regard.models.transformer import (
    added_positions,
    attention,
    feed_forward,
    relative_bias,
    reset_parameters,
    rotary_positions,
)
from regard.ops.masks import additive, causal
from regard.ops.probe import Probe, within


class DecoderOnly(LanguageModel):
    """Embeddings, causal blocks and the projection to the vocabulary."""

    context: int

    def __init__(self, config: TransformerConfig, vocabulary: int, context: int) -> None:
        super().__init__(vocabulary, config.width, tie=config.tie)
        self.context = context
        self.heads = config.heads
        self.target_positions = added_positions(config)
        self.target_bias = relative_bias(config, bidirectional=False)
        rotary = rotary_positions(config)
        self.decoder = nn.ModuleList(
            CausalBlock(
                attention=attention(config, rotary),
                feed_forward=feed_forward(config),
                width=config.width,
                dropout=config.dropout,
                pre_norm=config.norm == "pre",
            )
            for _ in range(config.depth[1])
        )
        self.decoder_norm = nn.LayerNorm(config.width) if config.norm == "pre" else nn.Identity()
        self.dropout = Dropout(config.dropout)
        reset_parameters(self)

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """[B, T, D]"""
        x: Tensor = self.dropout(embedded(self.target_embedding, target_in, self.target_positions))
        if probe is not None:
            x = probe.see("decoder.embedding", x)
        mask = None if self.target_bias is None else self._mask(target_in.shape[1], 0)
        for number, block in enumerate(self.decoder):
            x = block(x, mask=mask, probe=within(probe, f"decoder.{number}"))
        result: Tensor = self.decoder_norm(x)
        return result

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> CausalState:
        """The tokens [B, P] that are already said are read in one pass; of more than a context, the last."""
        table = self.target_embedding.weight
        nothing = torch.zeros(sentences_of(source, prefix), 0, dtype=torch.long, device=table.device)
        return self._read(nothing if prefix is None else self._fitting(prefix), 1)

    def step(
        self, tokens: Tensor, state: CausalState, record: bool = False
    ) -> tuple[Tensor, CausalState, StepRecord | None]:
        """tokens [B, k], one for each hypothesis -> logits [B, k, V] of the next, and the new state."""
        if state.tokens.shape[1] >= self.context:
            state = self._read(self._fitting(state.tokens), state.hypotheses)
        x, new = self._extend(tokens.reshape(-1, 1), state, tokens.shape[1])
        return self.project(self.decoder_norm(x)).view(*tokens.shape, -1), new, None

    def _fitting(self, tokens: Tensor) -> Tensor:
        """tokens [B, t] as they are where another one has room, else a start token and the last of them, half a context."""
        if tokens.shape[1] < self.context:
            return tokens
        begin = torch.full_like(tokens[:, :1], self.start_token)
        return torch.cat([begin, tokens[:, tokens.shape[1] - self.context // 2 :]], dim=1)[:, : self.context - 1]

    def _read(self, tokens: Tensor, hypotheses: int) -> CausalState:
        """tokens [R, t] -> the state behind them."""
        table = self.target_embedding.weight
        empty = table.new_zeros(len(tokens), self.heads, 0, table.shape[1] // self.heads)
        state = CausalState(tuple((empty, empty) for _ in self.decoder), tokens[:, :0], hypotheses)
        return self._extend(tokens, state, hypotheses)[1] if tokens.shape[1] else state

    def _extend(self, tokens: Tensor, state: CausalState, hypotheses: int) -> tuple[Tensor, CausalState]:
        """More tokens [R, T] behind those of the state -> [R, T, D] and the new state."""
        said = state.tokens.shape[1]
        x = self.dropout(embedded(self.target_embedding, tokens, self.target_positions, said))
        mask = None if self.target_bias is None and tokens.shape[1] == 1 else self._mask(tokens.shape[1], said)
        past = []
        for block, memory in zip(self.decoder, state.past, strict=True):
            assert isinstance(block, CausalBlock)
            x, longer = block.extend(x, memory, mask=mask, first=said)
            past.append(longer)
        return x, CausalState(tuple(past), torch.cat([state.tokens, tokens], dim=1), hypotheses)

    def _mask(self, new: int, said: int) -> Tensor:
        """[H or 1, T, t + T], added to the scores: nobody sees what comes later, and distances have their bias."""
        table = self.target_embedding.weight
        mask = additive(causal(new, said + new, table.device), table.dtype)[None]
        return mask if self.target_bias is None else mask + self.target_bias(new, said + new)
