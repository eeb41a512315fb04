"""The names that `model.score` and `model.mixer` may have, with what settings are checked by. No torch: `layers/` has the classes."""

from dataclasses import dataclass
from typing import Annotated

from regard.settings import OneOf, OneOrMore


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreTraits:
    """Properties of a score that settings are checked by."""

    reads_rotary: bool = False  # rotary positions turn it into a score of distance
    equally_wide: bool = False  # it takes a query and a key as they are
    reads_keys: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MixerTraits:
    """Properties of a mixer that settings are checked by."""

    causal: bool  # it can be built so that no position sees a later one, which a decoder needs
    reads_rotary: bool = True  # rotary positions act in it, or it knows the order by itself
    reads_bias: bool = True  # it compares all pairs, so that the bias of relative positions can be added
    bounded: bool = False  # it has weights for each position, up to model.max_positions
    looks_ahead: str | None = None  # how it sees later tokens, if it is not causal


SCORE_TRAITS: dict[str, ScoreTraits] = {
    "parameter_free": ScoreTraits(equally_wide=True),
    "dot": ScoreTraits(reads_rotary=True),
    "scaled_dot": ScoreTraits(reads_rotary=True),
    "general": ScoreTraits(),
    "concat": ScoreTraits(),
    "additive": ScoreTraits(),
    "cosine": ScoreTraits(reads_rotary=True),
    "location": ScoreTraits(reads_keys=False),
    "mahalanobis": ScoreTraits(equally_wide=True),
    "gaussian": ScoreTraits(reads_rotary=True),
    "latent": ScoreTraits(),
}
"""The names that `model.score` may have. `layers.scores.SCORES` has the same; an extension adds to both."""

MIXER_TRAITS: dict[str, MixerTraits] = {
    "attention": MixerTraits(causal=True),
    "window": MixerTraits(causal=True, reads_bias=False),
    "block_sparse": MixerTraits(causal=True, reads_bias=False),
    "linformer": MixerTraits(
        causal=False, reads_bias=False, bounded=True, looks_ahead="mixes all positions into each of its keys"
    ),
    "performer": MixerTraits(causal=True, reads_bias=False),
    "linear": MixerTraits(causal=True, reads_bias=False, reads_rotary=False),
    "hyena": MixerTraits(causal=True, reads_bias=False, bounded=True),
    "delta": MixerTraits(causal=True, reads_bias=False),
}
"""The names that `model.mixer` may have. `layers.mixers.MIXERS` has the same; an extension adds to both."""


ScoreName = Annotated[str, OneOf(SCORE_TRAITS)]
MixerNames = Annotated[str | tuple[str, ...], OneOrMore(MIXER_TRAITS)]
OptionalMixerNames = Annotated[str | tuple[str, ...] | None, OneOrMore(MIXER_TRAITS)]


def scores_reading_rotary() -> list[str]:
    """The scores that rotary positions turn into scores of distance."""
    return [name for name, traits in SCORE_TRAITS.items() if traits.reads_rotary]
