"""The recurrent encoder-decoder, with attention (Bahdanau et al. 2015, Luong et al. 2015) or through one vector (Sutskever et al. 2014).

It takes ids and returns logits, as `models.network` says.

Shapes: B batch, S source, T target, E embedding, W width of the encoder's states, H of the decoder's, L its layers, k hypotheses.
"""

import math
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.layers.copying import CopyHead
from regard.layers.decoders import (
    AttentiveDecoder,
    Decoder,
    EncodedSource,
    FeedingDecoder,
    PlainDecoder,
    StateAttention,
)
from regard.layers.dropout import Dropout
from regard.layers.embedding import token_embedding
from regard.layers.encoders import ConvolutionalEncoder, RecurrentEncoder
from regard.layers.fronts import TokenFront
from regard.layers.linear import Linear
from regard.layers.recurrent import PARTS, Cell, RecurrentStack, State
from regard.layers.scores import SCORES, ScoreShape, inner_width
from regard.models.config import (
    LanguageRecurrentConfig,
    RecurrentBase,
    RecurrentConfig,
    RecurrentPairBase,
    RecurrentReaderBase,
)
from regard.models.network import EncoderDecoder, StepRecord
from regard.models.state import RecurrentState
from regard.ops.masks import additive
from regard.ops.probe import Probe, within


class Recurrent(EncoderDecoder):
    """Encoder, bridge, decoder and the projection to the vocabulary."""

    def __init__(self, config: RecurrentConfig, source_vocabulary: int, target_vocabulary: int, joint: bool) -> None:
        target = token_embedding(target_vocabulary, config.embedding_width)
        source = target if joint and config.tie else token_embedding(source_vocabulary, config.embedding_width)
        super().__init__(token_front(config, source), token_front(config, target), tie=config.tie)
        self.shape = (PARTS[config.cell], config.depth[1], config.width)  # of a state
        self.encoder = source_encoder(config)
        self.bridge = Linear(config.source_width, math.prod(self.shape))
        self.decoder: Decoder = state_decoder(config)
        self.dropout = Dropout(config.dropout)
        if config.copies:
            self.copying = CopyHead(width=config.embedding_width, source=config.source_width)

    def hidden(
        self, source: Int[Tensor, "B S"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Float[Tensor, "B T _"]:
        """The last hidden states, which `project` maps to logits."""
        memory, state = self.encode(source, probe)
        x = self.target.embed(target_in, probe=within(probe, "decoder"))
        hidden, _ = self.decoder(x, state, memory, within(probe, "decoder"))
        return self.with_copies(self.dropout(hidden), None if memory is None else memory.copied, probe)

    def encode(self, source: Int[Tensor, "B S"], probe: Probe | None = None) -> tuple[EncodedSource | None, State]:
        """Keys and values of the source, or None without attention, and the initial state of the decoder."""
        x, real = self.source(source, within(probe, "encoder"))
        states, summary = self.encoder(x, real)
        if probe is not None:
            states = probe.see("encoder.hidden", states)
        hidden, *memories = self.bridge(summary).view(len(source), *self.shape).unbind(1)
        state = self.decoder.first((torch.tanh(hidden), *memories))
        if self.decoder.attention is None:
            return None, state
        mask = additive(real[:, None, None, :], states.dtype)
        memory = self.decoder.attention.project_source(states, mask)
        return replace(memory, copied=self.copied_source(source, states, mask)), state

    def start(self, source: Int[Tensor, "B S"] | None, prefix: Int[Tensor, "B P"] | None = None) -> RecurrentState:
        """Encode the source and prefill the prefix, once for all steps."""
        assert source is not None, "an encoder-decoder needs a source"
        memory, state = self.encode(source)
        if prefix is not None and prefix.shape[1]:
            _, state = self.decoder(self.target.embed(prefix), state, memory, None)
        return RecurrentState(memory, state, 1)

    def step(
        self, tokens: Int[Tensor, "B k"], state: RecurrentState, record: bool = False
    ) -> tuple[Float[Tensor, "B k V"], RecurrentState, StepRecord | None]:
        """Feed one token per hypothesis. Returns the logits of the next, the new state and the attention."""
        probe = Probe("0.cross.weights") if record and state.source is not None else None
        x = self.target.embed(tokens.reshape(-1, 1))
        hidden, rows = self.decoder(x, state.rows, state.source, probe)
        seen = None if probe is None else StepRecord(probe["0.cross.weights"].mean(dim=1))
        copied = None if state.source is None else state.source.copied
        hidden = self.with_copies(hidden.view(*tokens.shape, -1), copied)
        return self.project(hidden), RecurrentState(state.source, rows, tokens.shape[1]), seen


def token_front(config: RecurrentBase, embedding: nn.Embedding) -> TokenFront:
    """Embeddings without positions, which a recurrent network does not need."""
    return TokenFront(embedding=embedding, dropout=Dropout(config.dropout))


def source_encoder(config: RecurrentReaderBase) -> RecurrentEncoder | ConvolutionalEncoder:
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


def plain_decoder(config: RecurrentPairBase | LanguageRecurrentConfig) -> PlainDecoder:
    return PlainDecoder(
        cell=config.cell,
        embedding=config.embedding_width,
        width=config.width,
        layers=config.depth[1],
        dropout=config.dropout,
    )


def state_decoder(config: RecurrentPairBase) -> Decoder:
    """The decoder of the settings: without attention, with it, or with input feeding too."""
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


def _readout(config: RecurrentPairBase) -> nn.Linear:
    """The map from a state and its context to the hidden state that is projected to logits."""
    return Linear(config.width + config.source_width, config.embedding_width)


def _attention(config: RecurrentPairBase) -> StateAttention:
    inner = inner_width(config.score, config.score_width, config.width)
    score = SCORES[config.score]
    query, key = (inner, inner) if score.projected else (config.width, config.source_width)
    shape = ScoreShape(query=query, key=key, inner=inner, positions=config.max_positions)
    return StateAttention(score=score(shape), query=config.width, key=config.source_width, inner=inner)
