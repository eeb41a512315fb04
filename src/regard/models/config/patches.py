"""The settings of a front that turns a picture into patches, for every network that reads pictures."""

from typing import Literal

from pydantic import Field

from regard.models.config.base import SizedConfig

MOST_PATCHES = 4096
"""Patches of a picture: attention compares each pair of them."""

PlacesOfPatches = Literal["learned", "sinusoidal", "none"]


class PatchSettings(SizedConfig):
    """How a picture becomes tokens. The networks have defaults of their own for `convolutions` and `patch`."""

    tokenizer: Literal["convolution", "patches"] = "convolution"
    """How a picture becomes tokens: convolutions, each with a maximum that halves the sides; or a linear map of each square patch."""
    convolutions: int = Field(ge=1, le=6)
    """With tokenizer convolution: how many there are, so how often height and width are halved."""
    convolution_width: int = Field(default=32, ge=1, le=1024)
    """With tokenizer convolution: channels between the convolutions."""
    kernel: Literal[1, 3, 5, 7] = 3
    """With tokenizer convolution: pixels on a side that each convolution sees."""
    patch: int = Field(ge=1, le=256)
    """With tokenizer patches: pixels on a side of a patch."""

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of patches of a picture."""
        if self.tokenizer == "patches":
            return height // self.patch, width // self.patch
        for _ in range(self.convolutions):
            height, width = (height + 1) // 2, (width + 1) // 2
        return height, width

    def check_grid(self, height: int, width: int, extra: int = 0) -> None:
        """Refuse pictures that are smaller than a patch, or have too many patches. extra: tokens beside the patches."""
        rows, columns = self.grid(height, width)
        if not rows * columns:
            raise ValueError(
                f"model.patch {self.patch} is larger than the pictures, {width} x {height}; make it smaller"
            )
        if rows * columns + extra > MOST_PATCHES:
            larger = "model.patch" if self.tokenizer == "patches" else "model.convolutions"
            raise ValueError(
                f"pictures of {width} x {height} have {rows * columns + extra:,} patches, more than {MOST_PATCHES:,}; raise {larger}"
            )


def check_places(setting: str, positions: PlacesOfPatches, width: int) -> None:
    """Refuse sinusoids of rows and columns in a width that has no four equal parts."""
    if positions == "sinusoidal" and width % 4:
        raise ValueError(f"model.width {width} with sinusoidal {setting} must be a multiple of 4")
