"""Small labelled pictures for tests: bars that stand, lie or are missing, in noise. Learnable in a few steps, never by brightness alone."""

import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

LABELS = ("blank", "lying", "standing")


def bars(count: int, side: int = 8, channels: int = 1, seed: int = 1) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """(pictures [N, side, side, channels], labels [N]): the numbers of `LABELS`."""
    generator = np.random.default_rng(seed)
    labels = np.arange(count) % len(LABELS)
    pictures = generator.integers(0, 60, (count, side, side, channels))
    for picture, label, place in zip(pictures, labels, generator.integers(0, side - 1, count), strict=True):
        if label == 1:
            picture[place : place + 2] += 180
        elif label == 2:
            picture[:, place : place + 2] += 180
        else:
            picture += 45
    return pictures.astype(np.uint8), labels


def write_folder(home: Path, count: int = 30, side: int = 8, channels: int = 1) -> Path:
    """A folder for each class."""
    for number, (picture, label) in enumerate(zip(*bars(count, side, channels), strict=True)):
        folder = home / LABELS[label]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture[:, :, 0] if channels == 1 else picture).save(folder / f"{number:03}.png")
    return home


def write_idx(path: Path, values: NDArray[np.uint8]) -> None:
    """An idx file of bytes."""
    path.write_bytes(bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes())


def claiming_png(path: Path, width: int, height: int) -> None:
    """A PNG file of a few bytes whose header claims a size: a decompression bomb."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)
