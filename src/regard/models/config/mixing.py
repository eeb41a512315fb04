"""The settings of mixers: which block has which, and the sizes of each kind. No torch: `layers/` has the classes."""

from typing import Any

from pydantic import Field

from regard.models.config.base import SizedConfig
from regard.models.config.traits import MIXER_TRAITS

WIDEST_HEAD = 128
"""Units of a head up to which random features stay within float32."""


class MixerSettings(SizedConfig):
    """The sizes of the mixers. A mixer reads its own and ignores the others."""

    window: int = Field(default=129, ge=1, le=65537)
    """Positions that one of mixer window sees: half of them on either side, in a decoder all before it; odd."""
    block: int = Field(default=64, ge=1, le=4096)
    """Positions of a block of mixer block_sparse, which sees three neighbouring blocks."""
    global_blocks: int = Field(default=1, ge=0, le=64)
    """First blocks that every block of mixer block_sparse sees."""
    random_blocks: int = Field(default=3, ge=0, le=64)
    """Further blocks that each block of mixer block_sparse sees, drawn at random but always the same."""
    rank: int = Field(default=64, ge=1, le=4096)
    """Mixtures of positions that mixer linformer compares with; at most max_positions."""
    features: int = Field(default=64, ge=1, le=4096)
    """Random features of mixer performer: more estimate softmax better."""
    hyena_order: int = Field(default=2, ge=1, le=8)
    """Gates and long convolutions of mixer hyena."""
    filter_width: int = Field(default=64, ge=1, le=1024)
    """Inner width of the network that gives the filters of mixer hyena."""
    filter_shortest: int = Field(default=16, ge=1, le=65536)
    """Lags after which the shortest filter of mixer hyena has fallen to a hundredth. Recall of what stands far back needs more of them."""


def listed(names: Any) -> tuple[Any, ...]:
    """The names of a setting that is one name, several or none; of a wrong type none."""
    if isinstance(names, list | tuple):
        return tuple(name for name in names if isinstance(name, str))
    return (names,) if isinstance(names, str) else ()


def by_layer(names: str | tuple[str, ...], depth: int) -> tuple[str, ...]:
    """The mixer of each of `depth` blocks. A list has one for each; of no blocks there is none."""
    return names[:depth] if isinstance(names, tuple) else (names,) * depth


def check_mixer(config: MixerSettings, name: str, setting: str, *, causal: bool, sizes: tuple[int, int, int]) -> None:
    """Refuse a mixer whose settings cannot be: a `ValueError` has the reason. sizes: most positions, width and heads."""
    positions, width, heads = sizes
    if causal:
        _check_causal(name, setting)
    if name == "window" and config.window % 2 == 0:
        raise ValueError(
            f"model.window {config.window} is even, but a window has one position in its middle; use {config.window + 1}"
        )
    if name == "linformer" and config.rank > positions:
        raise ValueError(
            f"model.rank {config.rank} is above model.max_positions {positions}: linformer mixes so many positions into "
            "fewer; lower the one or raise the other"
        )
    if name == "performer" and width // heads > WIDEST_HEAD:
        raise ValueError(
            f"model.{setting} 'performer' with heads of {width // heads} units: its random features overflow above "
            f"{WIDEST_HEAD}; raise model.heads"
        )
    if name == "delta" and not causal and heads % 2:
        raise ValueError(
            f"model.{setting} 'delta' in an encoder needs an even number of heads, because half of them read from the end; "
            f"model.heads is {heads}"
        )


def _check_causal(mixer: str, setting: str) -> None:
    """Refuse a mixer that sees later tokens, in a decoder."""
    traits = MIXER_TRAITS[mixer]
    if traits.causal:
        return
    able = " or ".join(repr(name) for name, other in MIXER_TRAITS.items() if other.causal)
    if traits.looks_ahead is not None:
        raise ValueError(
            f"model.{setting} {mixer!r} {traits.looks_ahead}, so it sees later tokens, which a decoder must not; "
            f"set it to {able}; a classifier may have it, and a translator as model.encoder_mixer"
        )
    raise ValueError(
        f"model.{setting} {mixer!r} sees later tokens, which a decoder must not; set it to {able}, or if it can be "
        "built without them, say so in its extension: causal = True (docs/extensions.md)"
    )
