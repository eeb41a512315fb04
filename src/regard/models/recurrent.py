"""The recurrent encoder-decoder, with attention (Bahdanau et al. 2015, Luong et al. 2015) or through one vector (Sutskever et al. 2014).

It takes ids and returns logits, as `models.network` says.

Shapes: B batch, S source, T target, E embedding, W width of the encoder's states, H of the decoder's, L its layers, k hypotheses.
"""

import math

import torch
from torch import Tensor, nn

from regard.layers.decoders import AttentiveDecoder, Decoder, FeedingDecoder, PlainDecoder, SourceMemory, StateAttention
from regard.layers.dropout import Dropout
from regard.layers.encoders import ConvolutionalEncoder, RecurrentEncoder
from regard.layers.recurrent import GATES, PARTS, State
from regard.layers.scores import SCORES, ScoreShape
from regard.models.config import RecurrentConfig
from regard.models.network import EncoderDecoder, StepRecord
from regard.models.state import RecurrentState
from regard.ops.masks import additive, real_tokens
from regard.ops.probe import Probe, within


class Recurrent(EncoderDecoder):
    """Encoder, bridge, decoder and the projection to the vocabulary."""

    def __init__(self, config: RecurrentConfig, source_vocabulary: int, target_vocabulary: int, joint: bool) -> None:
        super().__init__()
        self.source_pad, self.target_pad = source_vocabulary - 1, target_vocabulary - 1
        self.start_token = self.target_pad
        width = config.embedding_width
        self.embedding_scale = math.sqrt(width)
        self.target_embedding = nn.Embedding(target_vocabulary, width, padding_idx=self.target_pad)
        self.source_embedding = (
            self.target_embedding
            if joint and config.tie
            else nn.Embedding(source_vocabulary, width, padding_idx=self.source_pad)
        )
        self.output = None if config.tie else nn.Parameter(torch.empty(self.target_pad, width))
        self.shape = (PARTS[config.cell], config.depth[1], config.width)  # of a state
        self.encoder = source_encoder(config)
        self.bridge = nn.Linear(config.source_width, math.prod(self.shape))
        self.decoder: Decoder = _decoder(config)
        self.dropout = Dropout(config.dropout)
        reset_parameters(self, config.cell)

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """What the projection turns into logits, [B, T, E]."""
        memory, state = self.encode(source, probe)
        x = self._embed(self.target_embedding, target_in, within(probe, "decoder"))
        hidden, _ = self.decoder(x, state, memory, within(probe, "decoder"))
        dropped: Tensor = self.dropout(hidden)
        return dropped

    def encode(self, source: Tensor, probe: Probe | None = None) -> tuple[SourceMemory | None, State]:
        """source [B, S] -> what attention may look at, where there is attention, and the state that the decoder starts from."""
        real = real_tokens(source, self.source_pad)
        states, summary = self.encoder(self._embed(self.source_embedding, source, within(probe, "encoder")), real)
        if probe is not None:
            states = probe.see("encoder.hidden", states)
        hidden, *memories = self.bridge(summary).view(len(source), *self.shape).unbind(1)
        state = self.decoder.first((torch.tanh(hidden), *memories))
        if self.decoder.attention is None:
            return None, state
        return self.decoder.attention.remember(states, additive(real[:, None, None, :], states.dtype)), state

    def output_table(self) -> Tensor:
        """[W, E]: the weights of the outputs, and where the embedding is tied, its last row, pad, which is none."""
        return self.target_embedding.weight if self.output is None else self.output

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> RecurrentState:
        """Read the source [B, S], and the tokens [B, P] that are already said, once for all steps."""
        assert source is not None, "an encoder-decoder needs a source"
        memory, state = self.encode(source)
        if prefix is not None and prefix.shape[1]:
            _, state = self.decoder(self._embed(self.target_embedding, prefix, None), state, memory, None)
        return RecurrentState(memory, state, 1)

    def step(
        self, tokens: Tensor, state: RecurrentState, record: bool = False
    ) -> tuple[Tensor, RecurrentState, StepRecord | None]:
        """tokens [B, k], one for each hypothesis -> logits [B, k, V] of the next, the new state, and what was attended to."""
        probe = Probe("0.cross.weights") if record and state.source is not None else None
        x = self._embed(self.target_embedding, tokens.reshape(-1, 1), None)
        hidden, rows = self.decoder(x, state.rows, state.source, probe)
        seen = None if probe is None else StepRecord(probe["0.cross.weights"].mean(dim=1))
        return self.project(hidden.view(*tokens.shape, -1)), RecurrentState(state.source, rows, tokens.shape[1]), seen

    def _embed(self, embedding: nn.Embedding, ids: Tensor, probe: Probe | None) -> Tensor:
        """Scaled embeddings, [B, T, E]."""
        x: Tensor = embedding(ids) * self.embedding_scale
        if probe is not None:
            x = probe.see("words", x)
        dropped: Tensor = self.dropout(x)
        return dropped if probe is None else probe.see("embedding", dropped)


@torch.no_grad()
def reset_parameters(network: nn.Module, cell: str) -> None:
    """All initialisation of a recurrent network, in one place."""
    gates = GATES[cell]
    for name, parameter in network.named_parameters():
        if "embedding" in name or name == "output":
            # unit variance once scaled by sqrt(E) at the input; logits of order one at the output
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
        elif name.endswith("score.vector"):
            nn.init.normal_(parameter, std=parameter.shape[0] ** -0.5)
        elif parameter.dim() > 1:
            for gate in parameter.chunk(gates) if _is_gated(name) else [parameter]:
                nn.init.xavier_uniform_(gate)
        else:
            nn.init.zeros_(parameter)
            if gates == 4 and (".bias_ih" in name or name.endswith("hidden.bias")):
                parameter.chunk(4)[1].fill_(1.0)  # remember, to begin with (Jozefowicz et al. 2015)
    for module in network.modules():
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            module.weight[module.padding_idx].zero_()


def _is_gated(name: str) -> bool:
    """A matrix that holds one map a gate."""
    return ".weight_" in name or any(part in name for part in ("cell.", "cells."))


def source_encoder(config: RecurrentConfig) -> RecurrentEncoder | ConvolutionalEncoder:
    if config.encoder == "convolutional":
        return ConvolutionalEncoder(
            inputs=config.embedding_width,
            width=config.source_width,
            layers=config.depth[0],
            kernel=config.kernel,
            dropout=config.dropout,
        )
    return RecurrentEncoder(
        cell=config.cell,
        inputs=config.embedding_width,
        width=config.source_width,
        layers=config.depth[0],
        dropout=config.dropout,
        bidirectional=config.bidirectional,
    )


def plain_decoder(config: RecurrentConfig) -> PlainDecoder:
    return PlainDecoder(
        cell=config.cell,
        embedding=config.embedding_width,
        width=config.width,
        layers=config.depth[1],
        dropout=config.dropout,
    )


def _decoder(config: RecurrentConfig) -> Decoder:
    if not config.attention:
        return plain_decoder(config)
    build = FeedingDecoder if config.input_feeding else AttentiveDecoder
    return build(
        attention=_attention(config),
        cell=config.cell,
        embedding=config.embedding_width,
        source=config.source_width,
        width=config.width,
        layers=config.depth[1],
        dropout=config.dropout,
    )


def _attention(config: RecurrentConfig) -> StateAttention:
    inner = config.score_width or (max(1, config.width // 4) if config.score == "latent" else config.width)
    score = SCORES[config.score]
    query, key = (inner, inner) if score.projected else (config.width, config.source_width)
    shape = ScoreShape(query=query, key=key, inner=inner, positions=config.max_positions)
    return StateAttention(score=score(shape), query=config.width, key=config.source_width, inner=inner)
