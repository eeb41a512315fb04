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
from regard.layers.recurrent import GATES, PARTS, Cell, RecurrentStack, State
from regard.layers.scores import SCORES, ScoreShape
from regard.models.config import RecurrentConfig
from regard.models.network import EncoderDecoder, StepRecord
from regard.models.state import RecurrentState
from regard.models.tables import embedded, reset
from regard.ops.masks import additive, real_tokens
from regard.ops.probe import Probe, within


class Recurrent(EncoderDecoder):
    """Encoder, bridge, decoder and the projection to the vocabulary."""

    def __init__(self, config: RecurrentConfig, source_vocabulary: int, target_vocabulary: int, joint: bool) -> None:
        super().__init__(source_vocabulary, target_vocabulary, config.embedding_width, joint=joint, tie=config.tie)
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
        dropped: Tensor = self.dropout(embedded(embedding, ids, probe=probe))
        return dropped if probe is None else probe.see("embedding", dropped)


def reset_parameters(network: nn.Module, cell: str) -> None:
    """All initialisation of a recurrent network but that of its tables, in one place."""
    gates = GATES[cell]

    def others(name: str, parameter: nn.Parameter) -> None:
        if parameter.dim() > 1:
            for gate in parameter.chunk(gates) if _is_gated(name) else [parameter]:
                nn.init.xavier_uniform_(gate)
        else:
            nn.init.zeros_(parameter)
            if gates == 4 and (".bias_ih" in name or name.endswith("hidden.bias")):
                parameter.chunk(4)[1].fill_(1.0)  # remember, to begin with (Jozefowicz et al. 2015)

    reset(network, others)


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
    attention, embedding, width, layers = _attention(config), config.embedding_width, config.width, config.depth[1]
    if config.input_feeding:
        shapes = [(embedding, embedding), *((0, width) for _ in range(layers - 1))]
        cells = [Cell(cell=config.cell, inputs=inputs, beside=beside, width=width) for inputs, beside in shapes]
        return FeedingDecoder(attention=attention, cells=cells, readout=_readout(config), dropout=config.dropout)
    cell = Cell(cell=config.cell, inputs=embedding, beside=config.source_width, width=width)
    above = None
    if layers > 1:
        above = RecurrentStack(cell=config.cell, inputs=width, width=width, layers=layers - 1, dropout=config.dropout)
    return AttentiveDecoder(
        attention=attention, cell=cell, above=above, readout=_readout(config), dropout=config.dropout
    )


def _readout(config: RecurrentConfig) -> nn.Linear:
    """From a state and what it found in the source to what is turned into logits."""
    return nn.Linear(config.width + config.source_width, config.embedding_width)


def _attention(config: RecurrentConfig) -> StateAttention:
    inner = config.score_width or (max(1, config.width // 4) if config.score == "latent" else config.width)
    score = SCORES[config.score]
    query, key = (inner, inner) if score.projected else (config.width, config.source_width)
    shape = ScoreShape(query=query, key=key, inner=inner, positions=config.max_positions)
    return StateAttention(score=score(shape), query=config.width, key=config.source_width, inner=inner)
