"""`PictureFormat`: what a bundle keeps of the pictures that its network reads. It reads no picture."""

from typing import Literal, Self

from pydantic import Field, model_validator

from regard.settings import Settings

PICTURE_SETTINGS = ("height", "width", "colour", "fit")
"""The settings of `data` that decide the format. Fine-tuning must share them with its base."""


class PictureFormat(Settings):
    """The form of the pictures that a network reads: every picture is brought to it."""

    height: int = Field(ge=1, le=1024)
    """Pixels from top to bottom."""
    width: int = Field(ge=1, le=1024)
    """Pixels from left to right."""
    channels: Literal[1, 3]
    """1: grey; 3: red, green and blue."""
    fit: Literal["crop", "pad", "stretch"] = "crop"
    """How a picture of another shape is brought to the size: cut at the sides, bordered with black, or stretched."""
    mean: tuple[float, ...]
    """The mean of each channel of the training pictures, black 0 and white 1. It is subtracted."""
    deviation: tuple[float, ...]
    """The standard deviation of each channel. The rest is divided by it."""

    @model_validator(mode="after")
    def _check_channels(self) -> Self:
        if not len(self.mean) == len(self.deviation) == self.channels:
            raise ValueError(f"pictures of {self.channels} channels need so many means and deviations")
        if min(self.deviation) <= 0.0:
            raise ValueError(f"pictures.deviation {min(self.deviation)}: must be above 0")
        return self
