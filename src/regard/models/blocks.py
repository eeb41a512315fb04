"""Builds the parts of a Transformer from its config, and has the loops that encoder and decoder share.

Shapes: B batch, S source, T target, D width, H heads, R rows: the hypotheses of all sentences.
"""

from collections.abc import Sequence
from typing import cast

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.layers.attention import CrossAttention, KeyValueCache
from regard.layers.block import Block
from regard.layers.dropout import Dropout
from regard.layers.feed_forward import FeedForward
from regard.layers.fronts import TokenFront
from regard.layers.mixer import CausalMixer, Mixer
from regard.layers.mixers import MIXERS, MixerOptions
from regard.layers.norm import NORMS
from regard.layers.patches import ConvolutionalTokenizer, PatchFront, PatchPositions, PatchProjection, PatchTokenizer
from regard.layers.positions import AddedPositions, LearnedPositions, RelativeBias, RotaryPositions, SinusoidalPositions
from regard.layers.prefix_attention import PrefixAttention
from regard.layers.residual import Residual
from regard.layers.scores import head_score
from regard.models.config import CaptionerConfig, TransformerBase, VisionConfig
from regard.models.state import DecoderState
from regard.ops.masks import additive, causal
from regard.ops.probe import Probe, within


def token_front(
    config: TransformerBase, embedding: nn.Embedding, unread: int | None = None, *, segment: bool = False
) -> TokenFront:
    """unread: an id that is masked like padding; segment: whether its embeddings have a vector of their own sequence."""
    norm = _norm(config) if config.embedding_norm else None
    return TokenFront(
        embedding=embedding,
        positions=added_positions(config),
        dropout=Dropout(config.dropout),
        norm=norm,
        scaled=config.scale_embedding,
        unread=unread,
        segment=segment,
    )


def patch_front(
    config: VisionConfig | CaptionerConfig,
    height: int,
    width: int,
    channels: int,
    *,
    positions: PatchPositions,
    class_token: bool = False,
) -> PatchFront:
    """The front of a network that reads pictures of this size."""
    tokenizer: PatchTokenizer
    if config.tokenizer == "patches":
        tokenizer = PatchProjection(channels=channels, patch=config.patch, width=config.width)
    else:
        tokenizer = ConvolutionalTokenizer(
            channels=channels,
            inner=config.convolution_width,
            width=config.width,
            layers=config.convolutions,
            kernel=config.kernel,
        )
    return PatchFront(
        tokenizer=tokenizer,
        height=height,
        width=width,
        hidden=config.width,
        positions=positions,
        dropout=Dropout(config.dropout),
        class_token=class_token,
    )


def added_positions(config: TransformerBase) -> AddedPositions | None:
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.width)
    if config.positions == "learned":
        return LearnedPositions(config.width, config.max_positions)
    return None


def relative_bias(config: TransformerBase, *, bidirectional: bool) -> RelativeBias | None:
    """One table for all blocks of a stack, as in T5."""
    return RelativeBias(config.heads, bidirectional=bidirectional) if config.positions == "relative" else None


def rotary_positions(config: TransformerBase) -> RotaryPositions | None:
    """One table for all attentions of a network."""
    return RotaryPositions(config.width // config.heads) if config.positions == "rotary" else None


def encoder_blocks(config: TransformerBase, rotary: RotaryPositions | None, *, causal: bool = False) -> nn.ModuleList:
    """Blocks that read a text: in both directions, or if `causal` from the left."""
    return nn.ModuleList(_block(config, _mixer(config, name, rotary, causal=causal)) for name in config.mixers[0])


def decoder_blocks(config: TransformerBase, rotary: RotaryPositions | None, *, cross: bool) -> nn.ModuleList:
    """Causal blocks, with cross-attention where there is a source."""
    return nn.ModuleList(
        _block(config, _mixer(config, name, rotary, causal=True), _cross(config) if cross else None)
        for name in config.mixers[1]
    )


def prefix_blocks(config: TransformerBase, rotary: RotaryPositions | None) -> nn.ModuleList:
    """Blocks that read a source, and then a target that looks at it in the same attention."""
    head = config.width // config.heads
    return nn.ModuleList(
        _block(
            config,
            PrefixAttention(
                width=config.width,
                heads=config.heads,
                rotary=rotary,
                score=head_score(config.score, head, width=config.score_width, positions=config.max_positions),
                projected=config.score != "parameter_free",
            ),
        )
        for _ in range(config.depth[1])
    )


def last_norm(config: TransformerBase) -> nn.Module:
    """The final norm of a stack of pre-norm blocks. Post-norm blocks need none."""
    return _norm(config) if config.norm == "pre" else nn.Identity()


def _block(config: TransformerBase, mixer: Mixer, cross: CrossAttention | None = None) -> Block:
    feed_forward = FeedForward(
        width=config.width, inner=config.feed_forward, activation=config.activation, dropout=config.dropout
    )
    return Block(
        mixer=mixer,
        cross=cross,
        feed_forward=feed_forward,
        around_mixer=_residual(config),
        around_cross=None if cross is None else _residual(config),
        around_feed_forward=_residual(config),
    )


def _norm(config: TransformerBase) -> nn.Module:
    return NORMS[config.norm_kind](config.width, config.norm_epsilon)


def _residual(config: TransformerBase) -> Residual:
    return Residual(norm=_norm(config), dropout=config.dropout, pre_norm=config.norm == "pre")


def _mixer(config: TransformerBase, name: str, rotary: RotaryPositions | None, *, causal: bool) -> Mixer:
    options = MixerOptions(
        width=config.width,
        heads=config.heads,
        causal=causal,
        dropout=config.dropout,
        max_positions=config.max_positions,
        rotary=rotary,
        score=config.score,
        score_width=config.score_width,
        window=config.window,
        block=config.block,
        global_blocks=config.global_blocks,
        random_blocks=config.random_blocks,
        rank=config.rank,
        features=config.features,
        hyena_order=config.hyena_order,
        filter_width=config.filter_width,
        filter_shortest=config.filter_shortest,
    )
    return MIXERS[name](options)


def _cross(config: TransformerBase) -> CrossAttention:
    head = config.width // config.heads
    return CrossAttention(
        width=config.width,
        heads=config.heads,
        score=head_score(config.score, head, width=config.score_width, positions=config.max_positions),
        projected=config.score != "parameter_free",
    )


def blocks_of(stack: nn.ModuleList) -> list[Block]:
    """The blocks of a stack, typed."""
    return [cast(Block, block) for block in stack]


def run_encoder(
    stack: nn.ModuleList,
    x: Float[Tensor, "B S D"],
    real: Bool[Tensor, "B S"],
    bias: RelativeBias | None,
    probe: Probe | None,
) -> tuple[Float[Tensor, "B S D"], Float[Tensor, "B 1 1 S"]]:
    """The hidden states after all blocks, and the padding mask."""
    padding = additive(real[:, None, None, :], x.dtype)
    mask = padding if bias is None else padding + bias(x.shape[1], x.shape[1])
    for number, block in enumerate(stack):
        x = block(x, mask=mask, probe=within(probe, f"encoder.{number}"))
    return x, padding


def run_causal(
    stack: nn.ModuleList, x: Float[Tensor, "B T D"], bias: RelativeBias | None, probe: Probe | None
) -> Float[Tensor, "B T D"]:
    """The hidden states after all causal blocks without a source."""
    mask = causal_mask(bias, x)
    for number, block in enumerate(stack):
        x = block(x, mask=mask, probe=within(probe, str(number)))
    return x


def causal_mask(
    bias: RelativeBias | None, x: Float[Tensor, "B T D"], earlier: int = 0
) -> Float[Tensor, "H T S"] | None:
    """The causal mask of T new positions after earlier ones, with the bias of relative positions.

    None: only the causal mask is needed, which a causal mixer applies by itself.
    """
    if bias is None:
        return None
    new = x.shape[1]
    mask: Tensor = bias(new, earlier + new)
    return mask if new == 1 else mask + additive(causal(new, earlier + new, x.device), x.dtype)


def begin_decoder(stack: nn.ModuleList, rows: int, *, hypotheses: int = 1) -> DecoderState:
    """The state of every block's mixer before the first position."""
    mixers = tuple(cast(CausalMixer, block.mixer).begin(rows) for block in blocks_of(stack))
    return DecoderState(mixers, hypotheses)


def step_decoder(
    stack: nn.ModuleList,
    x: Float[Tensor, "R T D"],
    state: DecoderState,
    hypotheses: int,
    *,
    mask: Float[Tensor, "H T K"] | None,
    source: Sequence[KeyValueCache] | None = None,
    source_mask: Float[Tensor, "B 1 1 S"] | None = None,
    probe: Probe | None = None,
) -> tuple[Float[Tensor, "R T D"], DecoderState]:
    """All blocks for new positions: one per hypothesis in decoding, many in prefill. Returns the output and the new state."""
    mixers = []
    for number, (block, mixer) in enumerate(zip(blocks_of(stack), state.mixers, strict=True)):
        x, longer = block.step(
            x,
            mixer,
            mask=mask,
            source=None if source is None else source[number],
            source_mask=source_mask,
            probe=within(probe, f"decoder.{number}"),
        )
        mixers.append(longer)
    return x, DecoderState(tuple(mixers), hypotheses)


def attention_layers(stack: nn.ModuleList) -> Sequence[CrossAttention]:
    """The cross-attention of every block."""
    return [block.cross for block in blocks_of(stack) if block.cross is not None]
