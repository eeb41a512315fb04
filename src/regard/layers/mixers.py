"""The table of mixers, by their names in `model.mixer`. `models.config.MIXER_TRAITS` has the same names without torch."""

from collections.abc import Callable
from dataclasses import dataclass

from regard.layers.attention import SelfAttention
from regard.layers.mixer import Mixer
from regard.layers.positions import RotaryPositions
from regard.layers.scores import head_score


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


MIXERS: dict[str, Callable[[MixerOptions], Mixer]] = {"attention": _attention}
"""Every mixer by its name in `model.mixer`."""
