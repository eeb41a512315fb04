"""The value of a classifier of pictures. Plain values."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PictureClassification:
    """A picture and its label."""

    picture: str
    """The path, or `array 0` for the first array."""
    label: str
    """The most probable label."""
    probabilities: dict[str, float]
    """The probability of every label."""
    resized: tuple[int, int] | None = None
    """(width, height) of a picture that had another size than the network reads; None: it had that size."""
