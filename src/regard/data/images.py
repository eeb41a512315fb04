"""Labelled pictures, brought to one size on disk and mapped into memory. The cache is that of `data.prepare`.

    cache/<key>/labels.json  train/  valid/  [test/]  prepared.json      each with  pixels  labels  names.jsonl  images.json

`pixels` are bytes [N, H, W, C]. The size, the labels and the statistics come from the training pictures alone. It knows no model.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.config import ImageData, PictureSize
from regard.data.corpus import OFFSET, MappedFiles, damaged_file, read_description
from regard.data.entries import cached_entry
from regard.data.picture_sources import PictureSource, open_pictures
from regard.data.pictures import Fit, Picture, fitted
from regard.data.prepare import PreparationListener, with_progress
from regard.data.unreadable import UnreadablePictures
from regard.errors import DataError, ResourceError
from regard.files import disk_errors, to_json

FORMAT = 1
FILES = ("pixels", "labels", "names.jsonl", "images.json")
ROLES = ("images", "valid_images", "test_images")
HELD_OUT, MOST_HELD_OUT = 10, 5_000  # one picture in 10 is held out, at most 5,000
LARGEST_DEFAULT = 64
"""Pixels on a side where no size is given."""

Shape = tuple[int, int, int]
"""(height, width, channels)."""


class ImageCorpus:
    """The pictures that `write_images` wrote to a directory."""

    def __init__(self, directory: Path) -> None:
        self._files, self._directory = MappedFiles(), directory
        path = directory / "images.json"
        try:
            description = read_description(path)
            count, (height, width, channels) = int(description["pictures"]), map(int, description["shape"])
            self.resized: dict[str, int] = {str(size): int(number) for size, number in description["resized"].items()}
            """Pictures that had another size, by that size such as `640 x 480`."""
            flat = self._files.map(directory / "pixels", np.dtype(np.uint8), count * height * width * channels)
            self.pixels: NDArray[np.uint8] = flat.reshape(count, height, width, channels)
            """[N, H, W, C]"""
            self.labels: NDArray[np.int64] = self._files.map(directory / "labels", OFFSET, count)
        except ResourceError:
            raise
        except (OSError, ValueError, KeyError, TypeError, OverflowError, AttributeError):
            raise damaged_file(path) from None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shape(self) -> Shape:
        """(height, width, channels) of every picture."""
        _, height, width, channels = self.pixels.shape
        return height, width, channels

    def pictures(self, numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
        """[B, H, W, C] several pictures."""
        self._files.check()
        return self.pixels[numbers]

    @cached_property
    def names(self) -> list[str]:
        """The name of each picture: its file, or the file and its number there."""
        lines = (self._directory / "names.jsonl").read_text(encoding="utf-8").splitlines()
        return [str(json.loads(line)) for line in lines]


@dataclass(frozen=True)
class PreparedImages:
    """Labelled pictures that are ready to train on."""

    key: str
    labels: tuple[str, ...]
    fit: Fit
    mean: tuple[float, ...]
    """Of each channel of the training pictures, black 0 and white 1."""
    deviation: tuple[float, ...]
    """The standard deviation of each channel."""
    train: ImageCorpus
    valid: ImageCorpus
    test: ImageCorpus | None
    held_out: bool


def prepare_images(
    data: ImageData, cache: Path, progress: PreparationListener | None = None, base_shape: Shape | None = None
) -> PreparedImages:
    """Bring the pictures of `data` to one size, or reuse their entry in `cache`. `base_shape`: the size that a base model reads."""
    assert data.images is not None
    sources = {
        role: open_pictures(path, "train" if role == "images" else "test")
        for role in ROLES
        if (path := getattr(data, role)) is not None
    }
    key_parts = {
        "format": FORMAT,
        "inputs": {role: source.digest for role, source in sources.items()},
        "names": data.label_names,
        "size": base_shape or (data.height, data.width, data.colour),
        "fit": data.fit,
        "seed": data.seed if "valid_images" not in sources else None,
    }
    key = hashlib.sha256(json.dumps(key_parts, sort_keys=True).encode()).hexdigest()[:32]
    parts = ("train", "valid", *(["test"] if "test_images" in sources else ()))
    with disk_errors(cache):
        cache.mkdir(parents=True, exist_ok=True)
    return cached_entry(
        cache,
        key,
        required=[f"{part}/{name}" for part, name in product(parts, FILES)],
        build=lambda staging: _build(staging, data, sources, progress, base_shape),
        opened=lambda directory, record: PreparedImages(
            key=key,
            labels=tuple(record["labels"]),
            fit=data.fit,
            mean=tuple(record["mean"]),
            deviation=tuple(record["deviation"]),
            train=ImageCorpus(directory / "train"),
            valid=ImageCorpus(directory / "valid"),
            test=ImageCorpus(directory / "test") if "test" in parts else None,
            held_out="valid_images" not in sources,
        ),
    )


def label_order(label: str) -> tuple[int, int, str]:
    """The key that sorts labels: numbers by their value, then names."""
    return (0, int(label), label) if label.isdecimal() and len(label) < 19 else (1, 0, label)


def named_labels(labels: Sequence[str], names: Sequence[str], source: str) -> Sequence[str]:
    """The labels, which are numbers, by the names that the settings give them. Without names they stay as they are."""
    if not names:
        return labels
    unknown = next((label for label in labels if not label.isdecimal() or int(label) >= len(names)), None)
    if unknown is not None:
        raise DataError(
            f"{source}: label {unknown!r}, but data.label_names has {len(names)} names, for the numbers 0 to {len(names) - 1}"
        )
    return [names[int(label)] for label in labels]


def _build(
    staging: Path,
    data: ImageData,
    sources: dict[str, PictureSource],
    progress: PreparationListener | None,
    base_shape: Shape | None,
) -> dict[str, object]:
    train = sources["images"]
    named = {role: named_labels(source.labels, data.label_names, source.name) for role, source in sources.items()}
    counts = Counter(named["images"])
    labels = sorted(counts, key=label_order)
    if len(labels) < 2:
        raise DataError(
            f"{train.name}: only one label, {labels[0]!r}, so there is nothing to tell apart; add pictures of another"
        )
    shape = base_shape or chosen_shape(data, readable_shapes(train, range(len(train))))
    parts: dict[str, tuple[PictureSource, Sequence[int], Sequence[str]]]
    if "valid_images" in sources:
        parts = {"train": (train, range(len(train)), named["images"])}
        parts["valid"] = (sources["valid_images"], range(len(sources["valid_images"])), named["valid_images"])
    else:
        kept, held = held_out(named["images"], counts, data.seed, train.name)
        parts = {"train": (train, kept, named["images"]), "valid": (train, held, named["images"])}
    if "test_images" in sources:
        parts["test"] = (sources["test_images"], range(len(sources["test_images"])), named["test_images"])
    number_of = {label: number for number, label in enumerate(labels)}
    for part, (source, numbers, own) in parts.items():
        unknown = next((number for number in numbers if own[number] not in number_of), None)
        if unknown is not None:
            raise DataError(
                f"{source.called(unknown)}: label {own[unknown]!r} is not among the training pictures; mend it or leave it out"
            )
        own_labels = [number_of[own[number]] for number in numbers]
        write_images(staging / part, source, numbers, own_labels, shape, data.fit, progress)
    mean, deviation = statistics(ImageCorpus(staging / "train").pixels)
    return {"format": FORMAT, "labels": labels, "mean": mean, "deviation": deviation}


def chosen_shape(data: PictureSize, shapes: Iterable[Shape]) -> Shape:
    """The size and channels of all pictures: the settings, else the most frequent size within `LARGEST_DEFAULT`."""
    sizes: Counter[tuple[int, int]] = Counter()
    colours = 1
    for height, width, channels in shapes:
        sizes[height, width] += 1
        colours = max(colours, channels)
    [((height, width), _)] = sizes.most_common(1)
    longest = max(height, width, LARGEST_DEFAULT)
    height, width = (max(1, round(side * LARGEST_DEFAULT / longest)) for side in (height, width))
    given = data.height or data.width
    channels = colours if data.colour is None else 3 if data.colour else 1
    return data.height or given or height, data.width or given or width, channels


def readable_shapes(source: PictureSource, numbers: Sequence[int]) -> Iterator[Shape]:
    """The shapes of the pictures whose headers can be read. The others are named when all are read; here only if no header can be."""
    unreadable = UnreadablePictures()
    for number in numbers:
        shape = None
        with unreadable.collected():
            shape = source.shape(number)
        if shape is not None:
            yield shape
    if len(unreadable) == len(numbers):
        unreadable.refuse()


def held_out(labels: Sequence[str], counts: Counter[str], seed: int, name: str) -> tuple[Sequence[int], Sequence[int]]:
    """(training pictures, validation pictures): a random tenth is held out, but never the last picture of a label."""
    wanted = min(max(1, len(labels) // HELD_OUT), MOST_HELD_OUT)
    left, held = Counter(counts), set[int]()
    for number in np.random.default_rng([seed, 3]).permutation(len(labels)).tolist():
        if len(held) < wanted and left[labels[number]] > 1:
            held.add(number)
            left[labels[number]] -= 1
    if not held:
        raise DataError(
            f"{name}: every picture has a label that no other has, so none can be held out; add pictures, or give data.valid_images"
        )
    return [n for n in range(len(labels)) if n not in held], sorted(held)


def write_images(
    directory: Path,
    source: PictureSource,
    numbers: Sequence[int],
    labels: Sequence[int],
    shape: Shape,
    fit: Fit,
    progress: PreparationListener | None = None,
) -> None:
    """Write pictures of a source, each brought to `shape`, and the numbers of their labels to `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    resized: Counter[str] = Counter()
    unreadable = UnreadablePictures()
    with (directory / "pixels").open("wb") as pixels, (directory / "names.jsonl").open("w", encoding="utf-8") as names:
        for number in with_progress(numbers, "reading pictures", progress):
            with unreadable.collected():
                picture: Picture = source.read(number)
                if picture.shape[:2] != shape[:2]:
                    resized[f"{picture.shape[1]} x {picture.shape[0]}"] += 1
                pixels.write(np.ascontiguousarray(fitted(picture, *shape, fit)).tobytes())
                names.write(json.dumps(source.called(number)) + "\n")  # ASCII, whatever a file is called
    unreadable.refuse()
    (directory / "labels").write_bytes(np.asarray(labels, dtype=OFFSET).tobytes())
    description: dict[str, Any] = {"format": FORMAT, "pictures": len(labels), "shape": shape, "resized": resized}
    (directory / "images.json").write_text(to_json(description), encoding="utf-8")


def statistics(pixels: NDArray[np.uint8]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """(mean, standard deviation) of each channel of [N, H, W, C], black 0 and white 1; exact, from counts of the 256 values."""
    means, deviations, scale = [], [], np.arange(256) / 255.0
    for channel in range(pixels.shape[3]):
        counts = np.zeros(256)
        for first in range(0, len(pixels), 1024):
            counts += np.bincount(pixels[first : first + 1024, :, :, channel].reshape(-1), minlength=256)
        mean = float((counts * scale).sum() / counts.sum())
        variance = float((counts * (scale - mean) ** 2).sum() / counts.sum())
        means.append(mean)
        deviations.append(max(variance**0.5, 1 / 255))  # pictures of one colour have no deviation
    return tuple(means), tuple(deviations)


def pixel_tensor(pictures: NDArray[np.uint8], mean: Sequence[float], deviation: Sequence[float]) -> Tensor:
    """[B, C, H, W] what a network reads of pictures [B, H, W, C]: (value / 255 - mean) / deviation, channel by channel."""
    channels = [
        torch.from_numpy(pictures[..., channel].astype(np.float32)).mul_(1 / (255.0 * own)).sub_(mid / own)
        for channel, (mid, own) in enumerate(zip(mean, deviation, strict=True))
    ]
    return torch.stack(channels, dim=1)
