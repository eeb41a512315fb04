"""The encoder-decoder Transformer (Vaswani et al. 2017; the lectures' main subject), teacher-forced and step by step.

It takes ids and returns logits, as `models.network` says.

Shapes: B batch, S source, T target, D width, H heads, V outputs (the target vocabulary without pad), k hypotheses.
"""

from torch import Tensor, nn

from regard.layers.attention import Memory, MultiHeadAttention, remember
from regard.layers.dropout import Dropout
from regard.layers.feed_forward import FeedForward
from regard.layers.positions import AddedPositions, LearnedPositions, RelativeBias, RotaryPositions, SinusoidalPositions
from regard.layers.scores import SCORES, Score, ScoreShape
from regard.layers.transformer import DecoderBlock, EncoderBlock
from regard.models.config import TransformerConfig
from regard.models.network import EncoderDecoder, StepRecord
from regard.models.state import TransformerState
from regard.models.tables import embedded, reset
from regard.ops.masks import additive, causal, real_tokens
from regard.ops.probe import Probe, within


class Transformer(EncoderDecoder):
    """Encoder, decoder and the projection to the vocabulary."""

    def __init__(self, config: TransformerConfig, source_vocabulary: int, target_vocabulary: int, joint: bool) -> None:
        super().__init__(source_vocabulary, target_vocabulary, config.width, joint=joint, tie=config.tie)
        self.source_positions, self.target_positions = added_positions(config), added_positions(config)
        self.source_bias = relative_bias(config, bidirectional=True)
        self.target_bias = relative_bias(config, bidirectional=False)
        rotary = rotary_positions(config)
        encoder, decoder = config.depth
        self.encoder = nn.ModuleList(encoder_block(config, rotary) for _ in range(encoder))
        self.decoder = nn.ModuleList(_decoder_block(config, rotary) for _ in range(decoder))
        last = nn.LayerNorm if config.norm == "pre" else nn.Identity  # post-norm blocks end in a norm of their own
        self.encoder_norm, self.decoder_norm = last(config.width), last(config.width)
        self.dropout = Dropout(config.dropout)
        reset_parameters(self)

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """What the projection turns into logits, [B, T, D]."""
        memory, source_mask = self.encode(source, probe)
        x = self._embed(self.target_embedding, self.target_positions, target_in, 0, within(probe, "decoder"))
        mask = None
        if self.target_bias is not None:
            length = target_in.shape[1]
            mask = self.target_bias(length, length) + additive(causal(length, length, x.device), x.dtype)
        for number, (block, read) in enumerate(zip(self.decoder, self._read(memory), strict=True)):
            x = block(x, read, mask=mask, source_mask=source_mask, probe=within(probe, f"decoder.{number}"))
        result: Tensor = self.decoder_norm(x)
        return result

    def encode(self, source: Tensor, probe: Probe | None = None) -> tuple[Tensor, Tensor]:
        """source [B, S] -> its hidden states [B, S, D] and the mask [B, 1, 1, S] that keeps attention off the padding."""
        x = self._embed(self.source_embedding, self.source_positions, source, 0, within(probe, "encoder"))
        source_mask = additive(real_tokens(source, self.source_pad)[:, None, None, :], x.dtype)
        mask = source_mask
        if self.source_bias is not None:
            mask = source_mask + self.source_bias(source.shape[1], source.shape[1])
        for number, block in enumerate(self.encoder):
            x = block(x, mask=mask, probe=within(probe, f"encoder.{number}"))
        return self.encoder_norm(x), source_mask

    def _read(self, memory: Tensor) -> list[Memory]:
        """The keys and values that each block of the decoder makes of the source's hidden states."""
        return remember([block.cross for block in self.decoder if isinstance(block, DecoderBlock)], memory)

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> TransformerState:
        """Read the source [B, S], and the tokens [B, P] that are already said, once for all steps."""
        assert source is not None, "an encoder-decoder needs a source"
        memory, source_mask = self.encode(source)
        read = tuple(self._read(memory))
        nothing = tuple((keys[:, :, :0], values[:, :, :0]) for keys, values in read)
        state = TransformerState(read, source_mask, nothing, 1, 0)
        for column in range(0 if prefix is None else prefix.shape[1]):
            assert prefix is not None
            _, state, _ = self.step(prefix[:, column, None], state)
        return state

    def step(
        self, tokens: Tensor, state: TransformerState, record: bool = False
    ) -> tuple[Tensor, TransformerState, StepRecord | None]:
        """tokens [B, k], one for each hypothesis -> logits [B, k, V] of the next, the new state, and what was attended to."""
        probe = Probe(f"*.{len(self.decoder) - 1}.cross.weights") if record else None
        sentences, hypotheses = tokens.shape
        rows = tokens.reshape(-1, 1)  # every hypothesis stands at the same position
        x = self._embed(self.target_embedding, self.target_positions, rows, state.said, None)
        x = x.view(sentences, hypotheses, -1)
        mask = None if self.target_bias is None else self.target_bias(1, state.said + 1)
        past = []
        for number, block in enumerate(self.decoder):
            assert isinstance(block, DecoderBlock)
            x, longer = block.step(
                x,
                state.past[number],
                state.source[number],
                mask=mask,
                source_mask=state.source_mask,
                first=state.said,
                probe=within(probe, f"decoder.{number}"),
            )
            past.append(longer)
        new = TransformerState(state.source, state.source_mask, tuple(past), hypotheses, state.said + 1)
        seen = None if probe is None else StepRecord(probe[next(iter(probe))].mean(dim=1))
        return self.project(self.decoder_norm(x)), new, seen

    def _embed(
        self,
        embedding: nn.Embedding,
        positions: AddedPositions | None,
        ids: Tensor,  # [B, T]
        first: int,
        probe: Probe | None,
    ) -> Tensor:
        """Scaled embeddings plus positions, [B, T, D]."""
        dropped: Tensor = self.dropout(embedded(embedding, ids, positions, first, probe))
        return dropped if probe is None else probe.see("embedding", dropped)


def reset_parameters(network: nn.Module) -> None:
    """All initialisation of a Transformer but that of its tables, in one place."""
    reset(network, _reset_parameter)


def _reset_parameter(name: str, parameter: nn.Parameter) -> None:
    if name.endswith("positions.table"):
        nn.init.normal_(parameter, std=0.02)
    elif name.endswith("bias.table"):
        nn.init.zeros_(parameter)  # no preference of distance to begin with
    elif parameter.dim() == 2:
        nn.init.xavier_uniform_(parameter)
    elif name.endswith("norm.weight"):
        nn.init.ones_(parameter)
    else:
        nn.init.zeros_(parameter)


def added_positions(config: TransformerConfig) -> AddedPositions | None:
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.width)
    if config.positions == "learned":
        return LearnedPositions(config.width, config.max_positions)
    return None


def relative_bias(config: TransformerConfig, *, bidirectional: bool) -> RelativeBias | None:
    """One table for all blocks of a stack, as in T5."""
    return RelativeBias(config.heads, bidirectional=bidirectional) if config.positions == "relative" else None


def rotary_positions(config: TransformerConfig) -> RotaryPositions | None:
    """One table for all attentions of a network."""
    return RotaryPositions(config.width // config.heads) if config.positions == "rotary" else None


def feed_forward(config: TransformerConfig) -> FeedForward:
    return FeedForward(
        width=config.width, inner=config.feed_forward, activation=config.activation, dropout=config.dropout
    )


def attention(config: TransformerConfig, rotary: RotaryPositions | None) -> MultiHeadAttention:
    return MultiHeadAttention(
        width=config.width,
        heads=config.heads,
        rotary=rotary,
        score=_score(config),
        projected=config.score != "parameter_free",
    )


def _score(config: TransformerConfig) -> Score | None:
    """Of one attention; None: the scaled dot product."""
    if config.score == "scaled_dot":
        return None
    head = config.width // config.heads
    inner = config.score_width or (max(1, head // 4) if config.score == "latent" else head)
    return SCORES[config.score](ScoreShape(query=head, key=head, inner=inner, positions=config.max_positions))


def encoder_block(config: TransformerConfig, rotary: RotaryPositions | None) -> EncoderBlock:
    return EncoderBlock(
        attention=attention(config, rotary),
        feed_forward=feed_forward(config),
        width=config.width,
        dropout=config.dropout,
        pre_norm=config.norm == "pre",
    )


def _decoder_block(config: TransformerConfig, rotary: RotaryPositions | None) -> DecoderBlock:
    return DecoderBlock(
        attention=attention(config, rotary),
        cross=attention(config, None),
        feed_forward=feed_forward(config),
        width=config.width,
        dropout=config.dropout,
        pre_norm=config.norm == "pre",
    )
