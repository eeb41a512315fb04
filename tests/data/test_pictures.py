"""Single pictures: every form that a PNG or JPEG may have becomes a defined array, and what is damaged is named."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from picture_files import claiming_png
from regard.data.pictures import (
    MOST_PIXELS,
    encoded_png,
    fitted,
    picture_of_array,
    picture_of_bytes,
    picture_shape,
    read_picture,
)
from regard.errors import DataError

PIXELS = np.random.default_rng(1).integers(0, 256, (6, 9, 3), dtype=np.uint8)


def saved(path: Path, image: Image.Image, **options: object) -> Path:
    image.save(path, **options)
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    colour, grey = PIXELS, PIXELS[:, :, :1]
    assert (picture_of_bytes(encoded_png(colour), "it") == colour).all()
    assert (picture_of_bytes(encoded_png(grey), "it") == grey).all()
    path = saved(tmp_path / "a.png", Image.fromarray(colour))
    assert (read_picture(path) == colour).all()
    assert picture_shape(path) == (6, 9, 3)


def test_sixteen_bits_keep_their_upper_half(tmp_path: Path) -> None:
    wide = (PIXELS[:, :, 0].astype(np.uint16) << 8) | 0xAB
    path = saved(tmp_path / "wide.png", Image.fromarray(wide))
    assert (read_picture(path)[:, :, 0] == PIXELS[:, :, 0]).all()
    assert picture_shape(path) == (6, 9, 1)


def test_a_palette_becomes_colour(tmp_path: Path) -> None:
    image = Image.fromarray(np.arange(54, dtype=np.uint8).reshape(6, 9), mode=None).convert("P")
    palette = np.random.default_rng(2).integers(0, 256, (256, 3), dtype=np.uint8)
    image.putpalette(palette.tobytes())
    read = read_picture(saved(tmp_path / "p.png", image))
    assert (read == palette[np.asarray(image)]).all()


def test_transparency_is_laid_over_white(tmp_path: Path) -> None:
    pixels = np.zeros((1, 3, 4), dtype=np.uint8)
    pixels[0, :, 3] = (0, 128, 255)
    assert read_picture(saved(tmp_path / "a.png", Image.fromarray(pixels)))[0, :, 0].tolist() == [255, 127, 0]
    grey = Image.fromarray(np.array([[[0, 0], [200, 255]]], dtype=np.uint8))
    assert read_picture(saved(tmp_path / "g.png", grey)).tolist() == [[[255], [200]]]
    image = Image.fromarray(np.array([[0, 1]], dtype=np.uint8)).convert("P")
    image.putpalette([10, 20, 30, 40, 50, 60])
    assert read_picture(saved(tmp_path / "p.png", image, transparency=1)).tolist() == [[[10, 20, 30], [255] * 3]]


def test_other_forms(tmp_path: Path) -> None:
    black = Image.fromarray(np.array([[0, 255]], dtype=np.uint8)).convert("1")
    assert read_picture(saved(tmp_path / "bw.png", black)).tolist() == [[[0], [255]]]
    cmyk = saved(tmp_path / "c.jpg", Image.fromarray(PIXELS).convert("CMYK"))
    assert read_picture(cmyk).shape == picture_shape(cmyk) == (6, 9, 3)


def test_a_turned_photograph_stands_upright(tmp_path: Path) -> None:
    image, exif = Image.fromarray(np.repeat(np.repeat(PIXELS[:2, :3], 8, 0), 8, 1)), Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    path = saved(tmp_path / "turned.jpg", image, exif=exif, quality=100, subsampling=0)
    assert read_picture(path).shape == picture_shape(path) == (24, 16, 3)
    expected = np.rot90(np.asarray(image), 3).astype(int)
    assert np.abs(read_picture(path).astype(int) - expected).mean() < 3


@pytest.mark.parametrize(
    "name", ["cut.png", "flipped.png", "cut.jpg", "text.png", "empty.png", "missing.png", "folder"]
)
def test_a_damaged_picture_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    whole = saved(tmp_path / f"whole{path.suffix or '.png'}", Image.fromarray(PIXELS)).read_bytes()
    middle = len(whole) // 2
    contents = {
        "cut": whole[:middle],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :],
        "text": b"not a picture",
        "empty": b"",
    }
    if path.stem in contents:
        path.write_bytes(contents[path.stem])
    elif name == "folder":
        path.mkdir()
    with pytest.raises(DataError, match=rf"{name}: ") as error:
        read_picture(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("side", [8_000, 10_000, 60_000])
def test_a_decompression_bomb_is_refused_before_it_is_unpacked(side: int, tmp_path: Path) -> None:
    path = tmp_path / "bomb.png"
    claiming_png(path, side, side)
    for read in (read_picture, picture_shape):
        with pytest.raises(DataError, match=f"more than {MOST_PIXELS:,} pixels"):
            read(path)


def test_fitting() -> None:
    wide = np.zeros((4, 8, 1), dtype=np.uint8)
    wide[:, 2:6] = 200
    assert (fitted(wide, 4, 4, 1, "crop") == 200).all()
    padded = fitted(wide, 8, 8, 3, "pad")
    assert (padded[2:6, 2:6] == 200).all()
    assert (padded[:2] == 0).all()
    assert padded.shape == (8, 8, 3)
    low, high = fitted(wide, 4, 4, 1, "stretch")[0, :2, 0].tolist()
    assert low < 50 < 150 < high
    assert fitted(wide, 4, 8, 1) is wide


def test_colour_becomes_grey_by_luminance() -> None:
    red = np.zeros((2, 2, 3), dtype=np.uint8)
    red[:, :, 0] = 255
    assert (fitted(red, 2, 2, 1) == 76).all()  # 0.299 of 255


def test_arrays() -> None:
    assert (picture_of_array(PIXELS, "it") == PIXELS).all()
    assert picture_of_array([[0.0, 1.0]], "it").tolist() == [[[0], [255]]]
    assert picture_of_array(np.array([[True, False]]), "it").tolist() == [[[255], [0]]]
    assert picture_of_array(np.array([[256, 65535]], dtype=np.uint16), "it").tolist() == [[[1], [255]]]
    for values, message in (
        (np.array([[np.inf, 0.0]]), "infinite or not a number"),
        (np.array([[-1.0, 3.0]]), "pixels from -1 to 3"),
        (np.array([["a"]]), "pixels of type"),
        (np.zeros((2, 2, 2)), "shape"),
    ):
        with pytest.raises(DataError, match=f"it: .*{message}"):
            picture_of_array(values, "it")
