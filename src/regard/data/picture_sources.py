"""Labelled pictures as users have them: a folder for each class, `.npz`, idx files, or a TSV of path and label.

| form | pictures | labels |
| --- | --- | --- |
| folder | PNG and JPEG files in folders, at any depth | the name of the folder below the top |
| `.npz` | `images` and `labels`; or `x_train`, `y_train` to train on and `x_test`, `y_test` to evaluate | numbers or names |
| idx (`.gz` too) | `..-images-idx3-ubyte`, or the folder with the four files of MNIST | the `..-labels-idx1-ubyte` beside it |
| `.tsv` | a path in each line, relative to the file | after the last tab |

Nothing is resized here, and labels are names. It knows no network.
"""

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.data.labelled import split_label
from regard.data.opening import open_input
from regard.data.pictures import SUFFIXES, Picture, bytes_of_numbers, picture_shape, read_picture
from regard.data.readers import read_lines
from regard.errors import DataError
from regard.foreign import open_regular

Role = Literal["train", "test"]
"""The part of a file with both: to train on, or to evaluate (validation, test)."""

MOST_ARRAY_BYTES = 8 << 30
"""Bytes of an array of pictures, unpacked. More pictures belong into a folder, which is read one by one."""
_UBYTE, _IMAGE_DIMENSIONS = 8, (3, 4)
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, UnicodeDecodeError),
)
"""What `zipfile` raises for a damaged file."""
_IDX_PARTS = {"train": ("train",), "test": ("t10k", "test")}


@dataclass(frozen=True)
class PictureSource:
    """Labelled pictures that can be read one by one."""

    name: str
    """The file or folder, for messages."""
    labels: Sequence[str]
    """[N] the label of each picture."""
    digest: str
    """The SHA-256 of all pictures and labels."""
    read: Callable[[int], Picture]
    """Picture n."""
    shape: Callable[[int], tuple[int, int, int]]
    """(height, width, channels) of picture n."""
    called: Callable[[int], str]
    """The name of picture n: its file, or the file and its number there."""

    def __len__(self) -> int:
        return len(self.labels)


def open_pictures(path: str | Path, role: Role) -> PictureSource:
    """The labelled pictures of a file or folder. A missing file is a `DataError` here, before any work."""
    place = Path(path)
    if place.is_dir():
        images = _idx_images(place, role)
        source = _folder(place) if images is None else _idx(images)
    elif not place.exists():
        raise DataError(f"{path}: no such file or folder; give a folder, .npz, idx or .tsv file of labelled pictures")
    elif place.suffix == ".npz":
        source = _npz(place, role)
    elif "idx" in place.name or ".ubyte" in place.name:
        source = _idx(place)
    elif place.suffix in (".tsv", ".txt", ".tab"):
        source = _tsv(place)
    else:
        raise DataError(
            f"{path}: of no known form; give a folder with a folder for each class, .npz, idx (..-images-idx3-ubyte) or .tsv"
        )
    if not len(source):
        raise DataError(f"{path}: no labelled pictures in it; give a file or folder that has some")
    return source


def _folder(top: Path) -> PictureSource:
    """A folder for each class."""
    rows: list[tuple[Path, str]] = []
    loose = 0
    for path in sorted(top.rglob("*")):
        inside = path.relative_to(top).parts
        if path.suffix.lower() not in SUFFIXES or any(part.startswith(".") for part in inside) or path.is_dir():
            continue
        if len(inside) == 1:
            loose += 1
        else:
            rows.append((path, inside[0]))
    if not rows:
        what = f"{loose} pictures, but in no folder of a class" if loose else "no PNG or JPEG files in folders"
        raise DataError(f"{top}: {what}; put the pictures of each class into a folder with its name")
    return labelled_files(str(top), rows)


def _tsv(path: Path) -> PictureSource:
    """Lines of path, tab and label."""
    rows: list[tuple[Path, str]] = []
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        file, label = split_label(line.removesuffix("\r"))
        if not label or not file.strip():
            raise DataError(f"{path}:{number}: no path or no label; each line must be path<TAB>label")
        picture = path.parent / file.strip()
        if not picture.is_file():
            raise DataError(
                f"{path}:{number}: no such picture as {picture}; paths are relative to the folder of the file"
            )
        rows.append((picture, label))
    return labelled_files(str(path), rows)


def labelled_files(name: str, rows: Sequence[tuple[Path, str]]) -> PictureSource:
    """Picture files, each with its label."""
    paths, labels = [path for path, _ in rows], [label for _, label in rows]
    digest = hashlib.sha256()
    with ThreadPoolExecutor() as threads:  # hashing releases the interpreter lock
        for path, label, own in zip(paths, labels, threads.map(_file_digest, paths), strict=True):
            digest.update(f"{path.name}\t{label}\t{own}\n".encode(errors="surrogateescape"))
    return PictureSource(
        name,
        labels,
        digest.hexdigest(),
        read=lambda number: read_picture(paths[number]),
        shape=lambda number: picture_shape(paths[number]),
        called=lambda number: str(paths[number]),
    )


def _file_digest(path: Path) -> str:
    """The SHA-256 of a file as it is stored."""
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: {(error.strerror or str(error)).lower()}; mend it, or leave it out") from None


def _npz(path: Path, role: Role) -> PictureSource:
    """Arrays of numpy. Nothing in them is run: pickled objects are refused."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.removesuffix(".npy"): name for name in archive.namelist()}
            parts = [("images", "labels"), *([("x_train", "y_train")] if role == "train" else [("x_test", "y_test")])]
            chosen = next((pair for pair in parts if set(pair) <= set(names)), None)
            if chosen is None:
                raise DataError(
                    f"{path}: has {', '.join(sorted(names)) or 'nothing'}; it needs images and labels, or {parts[-1][0]} and {parts[-1][1]}"
                )
            pixels, labels = (_array(archive, names[name], f"{path}: {name}") for name in chosen)
            named = _array(archive, names["label_names"], f"{path}: label_names") if "label_names" in names else None
    except _DAMAGED as error:
        raise DataError(f"{path}: a damaged .npz file ({error}); get it again") from None
    return _arrays(path, pixels, labels, chosen[0], named)


def _array(archive: zipfile.ZipFile, member: str, name: str) -> NDArray[Any]:
    entry = archive.getinfo(member)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError(f"{name}: compressed in another way than deflate; write it with numpy.savez_compressed")
    if entry.file_size > MOST_ARRAY_BYTES:
        raise DataError(f"{name}: more than {MOST_ARRAY_BYTES >> 30} GB; put so many pictures into folders")
    try:
        array: NDArray[Any] = np.load(io.BytesIO(archive.read(member)), allow_pickle=False)
    except (ValueError, SyntaxError, TypeError, zipfile.BadZipFile) as error:
        raise DataError(f"{name}: not an array of numbers ({error}); write it with numpy.savez") from None
    return array


def _idx_images(folder: Path, role: Role) -> Path | None:
    """The idx file of pictures in a folder such as that of MNIST; None: there is none."""
    names = [
        f"{part}-images{dash}idx3-ubyte{packed}" for part in _IDX_PARTS[role] for dash in "-." for packed in ("", ".gz")
    ]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _idx(path: Path) -> PictureSource:
    """The pictures of an idx file, and the labels of the file beside it."""
    beside = path.name.replace("images", "labels").replace("idx3", "idx1").replace("idx4", "idx1")
    labels = next((path.with_name(name) for name in (beside, f"{beside}.gz", beside.removesuffix(".gz"))
                   if name != path.name and path.with_name(name).is_file()), None)  # fmt: skip
    if labels is None:
        raise DataError(
            f"{path}: no file of labels {beside} beside it; give the file of the pictures (..-images-idx3-ubyte)"
        )
    return _arrays(path, _idx_array(path, _IMAGE_DIMENSIONS), _idx_array(labels, (1,)), "pictures", None)


def _idx_array(path: Path, dimensions: tuple[int, ...]) -> NDArray[Any]:
    with open_input(path, str(path)) as file:
        head = file.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] != _UBYTE or head[3] not in dimensions:
            wanted = " or ".join(map(str, dimensions))
            raise DataError(f"{path}: not an idx file of bytes with {wanted} dimensions (it begins {head.hex(' ')})")
        sizes = file.read(4 * head[3])
        shape = struct.unpack(f">{len(sizes) // 4}I", sizes[: len(sizes) // 4 * 4])
        count = 1
        for size in shape:
            count *= size
        if len(shape) < head[3] or count > MOST_ARRAY_BYTES:
            raise DataError(f"{path}: claims a shape of {list(shape)}, more than is read; get it again")
        content = bytearray()
        while len(content) <= count and (block := file.read(1 << 20)):
            content += block
    if len(content) != count:
        raise DataError(f"{path}: claims a shape of {list(shape)} and has {len(content):,} bytes; get it again")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _arrays(
    path: Path, pixels: NDArray[Any], labels: NDArray[Any], name: str, label_names: NDArray[Any] | None
) -> PictureSource:
    if pixels.ndim == 4 and pixels.shape[3] not in (1, 3) and pixels.shape[1] in (1, 3):
        pixels = pixels.transpose(0, 2, 3, 1)  # channels first, as torch has them
    if pixels.ndim not in (3, 4) or (pixels.ndim == 4 and pixels.shape[3] not in (1, 3)) or 0 in pixels.shape[1:]:
        raise DataError(
            f"{path}: {name} has the shape {list(pixels.shape)}; give [N, height, width] or [N, height, width, 3]"
        )
    labels = labels.reshape(-1) if labels.size == len(labels) else labels
    if labels.ndim != 1 or len(labels) != len(pixels):
        raise DataError(
            f"{path}: {len(pixels):,} pictures and labels of shape {list(labels.shape)}; give one label each"
        )
    if labels.dtype.kind not in "iuSUb":
        raise DataError(f"{path}: labels of type {labels.dtype}; give whole numbers or names")
    pixels = bytes_of_numbers(pixels[..., None] if pixels.ndim == 3 else pixels, f"{path}: {name}")
    texts = [value.decode(errors="replace") if isinstance(value, bytes) else str(value) for value in labels.tolist()]
    if label_names is not None:
        texts = _named(path, texts, [str(value) for value in label_names.reshape(-1).tolist()])
    shape = (int(pixels.shape[1]), int(pixels.shape[2]), int(pixels.shape[3]))
    return PictureSource(
        str(path),
        texts,
        hashlib.sha256(f"{name} {_file_digest(path)} {'/'.join(texts)}".encode()).hexdigest(),
        read=lambda number: pixels[number],
        shape=lambda number: shape,
        called=lambda number: f"{path}[{number}]",
    )


def _named(path: Path, labels: Sequence[str], names: Sequence[str]) -> list[str]:
    """The labels, which are numbers, by the names that the file has for them."""
    unknown = next((label for label in labels if not label.isdecimal() or int(label) >= len(names)), None)
    if unknown is not None:
        raise DataError(f"{path}: label {unknown!r}, but label_names has {len(names)} names, for 0 to {len(names) - 1}")
    return [names[int(label)] for label in labels]
