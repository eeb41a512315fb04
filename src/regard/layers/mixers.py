"""The table of mixers, by their names in `model.mixer`. `models.config.MIXER_TRAITS` has the same names without torch."""

from collections.abc import Callable
from dataclasses import dataclass

from regard.layers.attention import SelfAttention
from regard.layers.delta import DeltaRule
from regard.layers.hyena import Hyena
from regard.layers.linear_attention import EluFeatures, KernelAttention, RandomFeatures
from regard.layers.linformer import Linformer
from regard.layers.local_attention import BlockSparseAttention, WindowAttention
from regard.layers.mixer import Mixer
from regard.layers.positions import RotaryPositions
from regard.layers.scores import head_score
from regard.ops.block_sparse import BlockPattern


@dataclass(frozen=True, slots=True, kw_only=True)
class MixerOptions:
    """The settings for building a mixer. A builder ignores those that its mixer does not need."""

    width: int
    heads: int
    causal: bool
    dropout: float
    max_positions: int
    rotary: RotaryPositions | None
    score: str
    score_width: int | None
    window: int = 129
    block: int = 64
    global_blocks: int = 1
    random_blocks: int = 3
    rank: int = 64
    features: int = 64
    hyena_order: int = 2
    filter_width: int = 64
    filter_shortest: int = 16


def _attention(options: MixerOptions) -> SelfAttention:
    return SelfAttention(
        width=options.width,
        heads=options.heads,
        causal=options.causal,
        rotary=options.rotary,
        score=head_score(
            options.score, options.width // options.heads, width=options.score_width, positions=options.max_positions
        ),
        projected=options.score != "parameter_free",
    )


def _window(options: MixerOptions) -> WindowAttention:
    return WindowAttention(
        width=options.width, heads=options.heads, causal=options.causal, rotary=options.rotary, window=options.window
    )


def _block_sparse(options: MixerOptions) -> BlockSparseAttention:
    pattern = BlockPattern(options.block, options.global_blocks, options.random_blocks, options.causal)
    return BlockSparseAttention(
        width=options.width, heads=options.heads, causal=options.causal, rotary=options.rotary, pattern=pattern
    )


def _linformer(options: MixerOptions) -> Linformer:
    assert not options.causal, "linformer sees later positions"
    return Linformer(
        width=options.width,
        heads=options.heads,
        rotary=options.rotary,
        rank=options.rank,
        positions=options.max_positions,
    )


def _performer(options: MixerOptions) -> KernelAttention:
    features = RandomFeatures(options.width // options.heads, options.features)
    return KernelAttention(
        width=options.width, heads=options.heads, causal=options.causal, rotary=options.rotary, features=features
    )


def _linear(options: MixerOptions) -> KernelAttention:
    features = EluFeatures(options.width // options.heads)
    return KernelAttention(
        width=options.width, heads=options.heads, causal=options.causal, rotary=None, features=features
    )


def _hyena(options: MixerOptions) -> Hyena:
    return Hyena(
        width=options.width,
        order=options.hyena_order,
        causal=options.causal,
        positions=options.max_positions,
        filter_width=options.filter_width,
        filter_shortest=options.filter_shortest,
    )


def _delta(options: MixerOptions) -> DeltaRule:
    return DeltaRule(width=options.width, heads=options.heads, causal=options.causal)


MIXERS: dict[str, Callable[[MixerOptions], Mixer]] = {
    "attention": _attention,
    "window": _window,
    "block_sparse": _block_sparse,
    "linformer": _linformer,
    "performer": _performer,
    "linear": _linear,
    "hyena": _hyena,
    "delta": _delta,
}
"""Every mixer by its name in `model.mixer`."""
