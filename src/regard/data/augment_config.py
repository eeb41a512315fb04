"""`AugmentConfig`: the settings of the augmentation of pictures, which `augment.py` carries out. No torch."""

from pydantic import Field

from regard.settings import Settings

FIXED = 8  # random numbers of a picture beside those of its operations: shift 2, flip, crop 3, cutout 2
EACH = 2  # of an operation: which one, and how much


class AugmentConfig(Settings):
    """Random changes of training pictures. What they do to a label is yours to judge: a mirrored digit is another sign."""

    shift: int = Field(default=2, ge=0, le=64)
    """Pixels that a picture is moved at most, in each direction; what comes in is black."""
    flip: bool = False
    """Mirror every second picture, left to right."""
    crop: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of the area that is cut away at most; the rest is enlarged."""
    operations: int = Field(default=0, ge=0, le=8)
    """Random operations on each picture (RandAugment): turn, shear, move, brightness, contrast, solarize, posterize .."""
    magnitude: float = Field(default=0.5, ge=0.0, le=1.0)
    """How strong these operations are."""
    mixup: float = Field(default=0.0, ge=0.0, le=4.0)
    """Parameter of the Beta distribution that mixes each picture with another; 0: no mixing."""
    cutout: int = Field(default=0, ge=0, le=512)
    """Pixels on a side of the square that is blanked out in each picture; 0: none."""

    @property
    def draws(self) -> int:
        """Random numbers of one picture."""
        return FIXED + EACH * self.operations
