"""The values of a pretrained model: a text with its gaps filled, and the pieces for a gap. Plain values."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Candidate:
    """A piece for a gap."""

    text: str
    """The piece as text."""
    piece: str
    """The piece as the vocabulary has it: `▁` stands for a space."""
    probability: float


@dataclass(frozen=True)
class Filling:
    """A text with gaps, and the text filled."""

    text: str
    """The text as it was given."""
    filled: str
    """The text with the most probable piece in each gap, or as the model writes it."""
    gaps: tuple[tuple[Candidate, ...], ...] = ()
    """Of a masked model: the most probable pieces for each gap, best first."""
    alternatives: tuple[str, ...] = ()
    """Of an encoder-decoder: the n best texts, best first; empty if only one was requested."""
    truncated: bool = False
    """Whether the text was too long and only its beginning was read."""
