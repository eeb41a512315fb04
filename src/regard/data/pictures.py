"""One picture: read from a PNG or JPEG file, fitted to a size, written as PNG. A picture is uint8 [H, W, C], C = 1 (grey) or 3 (colour).

| in the file | becomes |
| --- | --- |
| grey, black and white | grey |
| 16-bit grey or colour | the upper 8 bits |
| palette, CMYK, YCbCr | colour |
| transparency | laid over white |
| a turned photograph (EXIF) | upright |
| several frames | the first frame |

A file that is empty, damaged, of another format, or of more than `MOST_PIXELS` pixels is a `DataError` that names it. It knows no label.
"""

import io
import math
import struct
import warnings
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError
from regard.extras import missing
from regard.foreign import LimitError, read_bytes, refuse_exhausted

if TYPE_CHECKING:
    from PIL.Image import Image

Picture = NDArray[np.uint8]
"""[H, W, C] rows from the top, columns from the left; red, green, blue."""

Box = tuple[int, int, int, int]
"""(top, left, bottom, right) in pixels; bottom and right are the first that are outside."""

Fit = Literal["crop", "pad", "stretch"]
"""How a picture of another shape is brought to a size: cut at the sides, bordered with black, or stretched."""

MOST_PIXELS = 50_000_000
"""Pixels of a picture. A file of a few kilobytes can claim billions (a decompression bomb)."""
MOST_BYTES = 256 << 20
"""Bytes of a picture's file."""
FORMATS = ("PNG", "JPEG")
SUFFIXES = (".png", ".jpg", ".jpeg")
"""The names of picture files, in lower case."""

_WIDE_MODES = ("I", "I;16", "I;16B", "I;16L", "I;16N")  # 16 bits of grey
_COLOUR_MODES = ("RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "P", "PA", "LAB", "HSV")
_DAMAGE = (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError, struct.error, zlib.error)


def read_picture(path: str | Path) -> Picture:
    """The picture of a PNG or JPEG file."""
    return picture_of_bytes(_content(path), str(path))


def picture_shape(path: str | Path) -> tuple[int, int, int]:
    """(height, width, channels) of a picture file, from its header alone."""
    with warnings.catch_warnings(), io.BytesIO(_content(path)) as stream:
        image = _opened(stream, str(path))
        turned = _orientation(image) >= 5  # turned by a quarter
        width, height = image.size[::-1] if turned else image.size
        return height, width, 3 if image.mode in _COLOUR_MODES else 1


def picture_of_bytes(content: bytes, name: str) -> Picture:
    """The picture that the bytes of a PNG or JPEG file hold. `name` is the file in error messages."""
    with warnings.catch_warnings(), io.BytesIO(content) as stream:
        image = _opened(stream, name)
        try:
            from PIL import ImageOps

            image.load()
            if _orientation(image) != 1:
                image = ImageOps.exif_transpose(image)
            return _pixels(image)
        except MemoryError:
            raise
        except _DAMAGE as error:
            raise _damaged(name, error) from None


def picture_of_array(values: object, name: str) -> Picture:
    """The picture of an array [H, W] or [H, W, C] of bytes, or of numbers from 0 to 1."""
    pixels = bytes_of_numbers(np.asarray(values), name)
    pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3) or 0 in pixels.shape:
        raise DataError(
            f"{name}: an array of shape {list(np.shape(pixels))}; give [height, width] or [height, width, 3]"
        )
    return pixels


def bytes_of_numbers(values: NDArray[Any], name: str) -> NDArray[np.uint8]:
    """The same values as bytes: bytes stay, 16-bit numbers lose their lower half, and numbers from 0 to 1 are times 255."""
    if values.dtype == np.uint8:
        return values
    if values.dtype == np.bool_:
        return values.astype(np.uint8) * np.uint8(255)
    if values.dtype.kind not in "iuf":
        raise DataError(f"{name}: pixels of type {values.dtype}; give bytes, or numbers from 0 to 1")
    if not values.size:
        return values.astype(np.uint8)
    low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise DataError(f"{name}: pixels that are infinite or not a number; replace them")
    if values.dtype.kind == "f" and low >= 0.0 and high <= 1.0:
        return np.rint(values * 255.0).astype(np.uint8)
    if low < 0 or high > (255 if values.dtype.kind == "f" else 65535):
        raise DataError(f"{name}: pixels from {low:g} to {high:g}; give bytes (0 to 255), or numbers from 0 to 1")
    return (values >> 8 if high > 255 else values).astype(np.uint8)


def fitted(picture: Picture, height: int, width: int, channels: int, fit: Fit = "crop") -> Picture:
    """The picture in this size and with so many channels.

    crop: the largest part around the centre that has the shape of the result; pad: all of it, with black borders; stretch: all of it.
    """
    picture = _with_channels(picture, channels)
    if picture.shape[:2] == (height, width):
        return picture
    (top, left, bottom, right), inner = _frames(picture.shape[0], picture.shape[1], height, width, fit)
    resized = _resized(picture[top:bottom, left:right], inner[2] - inner[0], inner[3] - inner[1])
    if fit != "pad":
        return resized
    result = np.zeros((height, width, channels), dtype=np.uint8)
    result[inner[0] : inner[2], inner[1] : inner[3]] = resized
    return result


def fitted_box(box: Box, old_height: int, old_width: int, height: int, width: int, fit: Fit = "crop") -> Box | None:
    """The box in the fitted picture, with every pixel that it touches; None: all of it was cut away."""
    outer, inner = _frames(old_height, old_width, height, width, fit)
    placed = []
    for axis in (0, 1):
        scale = (inner[axis + 2] - inner[axis]) / (outer[axis + 2] - outer[axis])
        first, last = ((box[end] - outer[axis]) * scale + inner[axis] for end in (axis, axis + 2))
        placed.append((max(inner[axis], math.floor(first)), min(inner[axis + 2], math.ceil(last))))
    (top, bottom), (left, right) = placed
    return (top, left, bottom, right) if top < bottom and left < right else None


def _frames(old_height: int, old_width: int, height: int, width: int, fit: Fit) -> tuple[Box, Box]:
    """The part of a picture that is kept, and the part of the fitted picture that it fills."""
    cut_height, cut_width, inner_height, inner_width = old_height, old_width, height, width
    if fit == "crop" and old_height * width != old_width * height:
        cut_height = min(old_height, max(1, round(old_width * height / width)))
        cut_width = min(old_width, max(1, round(old_height * width / height)))
    if fit == "pad":
        scale = min(height / old_height, width / old_width)
        inner_height = min(height, max(1, round(old_height * scale)))
        inner_width = min(width, max(1, round(old_width * scale)))
    return _middle(cut_height, cut_width, old_height, old_width), _middle(inner_height, inner_width, height, width)


def _middle(height: int, width: int, whole_height: int, whole_width: int) -> Box:
    """The box of this size in the middle of a picture."""
    top, left = (whole_height - height) // 2, (whole_width - width) // 2
    return top, left, top + height, left + width


def encoded_png(picture: Picture) -> bytes:
    """The picture as a PNG file."""
    stream = io.BytesIO()
    _image(picture).save(stream, format="PNG", optimize=True)
    return stream.getvalue()


def _content(path: str | Path) -> bytes:
    try:
        content = read_bytes(Path(path), MOST_BYTES)
    except LimitError as error:
        raise DataError(error) from None
    except OSError as error:
        refuse_exhausted(Path(path), error)
        raise DataError(f"{path}: {(error.strerror or str(error)).lower()}; give a PNG or JPEG file") from None
    if not content:
        raise DataError(f"{path}: a file of 0 bytes, which is no picture; leave it out, or get it again")
    return content


def _opened(stream: io.BytesIO, name: str) -> "Image":
    """The image of a stream, its pixels not decoded yet. Call it inside `warnings.catch_warnings`."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError:
        raise missing(f"{name}: a picture", "PIL") from None
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        image = Image.open(stream, formats=FORMATS)
    except UnidentifiedImageError:
        raise DataError(
            f"{name}: neither PNG nor JPEG, or damaged at its beginning; convert it, or leave it out"
        ) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _too_large(name, "") from None
    except _DAMAGE as error:
        raise _damaged(name, error) from None
    if image.size[0] * image.size[1] > MOST_PIXELS:
        raise _too_large(name, f" of {image.size[0]:,} x {image.size[1]:,}")
    return image


def _too_large(name: str, size: str) -> DataError:
    return DataError(
        f"{name}: a picture{size}, more than {MOST_PIXELS:,} pixels, the most that is read; make it smaller"
    )


def _damaged(name: str, error: Exception) -> DataError:
    return DataError(f"{name}: a damaged picture ({error}); leave it out, or get it again")


def _orientation(image: "Image") -> int:
    """The EXIF orientation of a photograph, 1 to 8; 1: upright. What cannot be read is upright."""
    try:
        found = image.getexif().get(0x0112, 1)
    except _DAMAGE:
        return 1
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def _pixels(image: "Image") -> Picture:
    if image.mode in _WIDE_MODES:
        wide = np.clip(np.asarray(image, dtype=np.int64), 0, 65535)
        return (wide >> 8).astype(np.uint8)[:, :, None]
    if image.mode in ("LA", "La") or (image.mode in ("1", "L") and "transparency" in image.info):
        return _over_white(np.asarray(image.convert("LA")))
    if image.mode in ("RGBA", "RGBa", "PA") or "transparency" in image.info:
        return _over_white(np.asarray(image.convert("RGBA")))
    if image.mode in ("1", "L"):
        return np.asarray(image.convert("L"))[:, :, None]
    return np.asarray(image.convert("RGB"))


def _over_white(pixels: NDArray[np.uint8]) -> Picture:
    """Pixels whose last channel is their opacity, laid over white."""
    opacity = pixels[:, :, -1:].astype(np.float32) / 255.0
    laid: Picture = np.rint(pixels[:, :, :-1] * opacity + 255.0 * (1.0 - opacity)).astype(np.uint8)
    return laid


def _with_channels(picture: Picture, channels: int) -> Picture:
    if picture.shape[2] == channels:
        return picture
    if channels == 3:
        return np.repeat(picture, 3, axis=2)
    return np.asarray(_image(picture).convert("L"))[:, :, None]


def _resized(picture: Picture, height: int, width: int) -> Picture:
    from PIL.Image import Resampling

    resized = np.asarray(_image(picture).resize((width, height), Resampling.BILINEAR))
    return resized[:, :, None] if resized.ndim == 2 else resized


def _image(picture: Picture) -> "Image":
    from PIL import Image

    return Image.fromarray(np.ascontiguousarray(picture[:, :, 0] if picture.shape[2] == 1 else picture))
