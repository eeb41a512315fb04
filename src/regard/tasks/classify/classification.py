"""The values of a classifier and a tagger: labels of a text and of its words. Plain values."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Classification:
    """A text and its label."""

    text: str
    label: str
    """The most probable label."""
    probabilities: dict[str, float]
    """The probability of every label."""
    truncated: bool = False
    """Whether the text was too long and only its beginning was read."""


@dataclass(frozen=True)
class Tagging:
    """A text and the labels of its words."""

    text: str
    words: list[str]
    """The words of the normalised text."""
    labels: list[str]
    """The most probable label of each word."""
    probabilities: list[dict[str, float]]
    """The probability of every label, for each word."""
    parted: bool = False
    """Whether the text was too long and was tagged in parts."""
