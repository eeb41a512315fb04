"""Captioned pictures: read, split, brought to one size, encoded on disk and mapped into memory. The cache is that of `data.prepare`.

    cache/<key>/tokenizers/  train/  valid/  [test/]  prepared.json
    each part:  pixels  labels  names.jsonl  images.json     the pictures, as `data.images` has them; labels are 0
                ids  offsets  pictures  captions.json        the captions: their tokens, and the picture of each
                references.jsonl                             for each picture its captions, and the gold region of each word if known

It knows no model.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.caption_config import CaptionData
from regard.data.captions import SHOWN, CaptionFile, read_captions, without_caption
from regard.data.corpus import OFFSET, MappedFiles, damaged_file, read_description, stored_type
from regard.data.encoding import id_type
from regard.data.entries import cached_entry, files_of_parts
from regard.data.images import FILES as IMAGE_FILES
from regard.data.images import ImageCorpus, Shape, chosen_shape, statistics, write_images
from regard.data.picture_sources import PictureSource, labelled_files
from regard.data.pictures import SUFFIXES
from regard.data.prepare import PreparationListener
from regard.data.scenes.corpus import TEST, VALID, Scene, Split, scene
from regard.data.scenes.painting import SIZE, Box
from regard.data.scenes.words import Language
from regard.errors import DataError, ResourceError
from regard.files import disk_errors, to_json
from regard.text.build import TokenizerPair, learn_single, load_tokenizers, save_tokenizers, tokenizers_fingerprint
from regard.text.config import OneTextConfig
from regard.text.packed import Packed, take

FORMAT = 1
FILES = (*IMAGE_FILES, "ids", "offsets", "pictures", "captions.json", "references.jsonl")
HELD_OUT, MOST_HELD_OUT = 10, 1_000  # one picture in 10 is held out, at most 1,000


class WordRegion(NamedTuple):
    """A word of a gold caption: what it is about (`colour`, `shape`, ..), and its boxes in the picture."""

    text: str
    role: str
    boxes: tuple[Box, ...]


class Described(NamedTuple):
    """The captions of a picture, and the gold regions of the words of the first, where they are known."""

    captions: tuple[str, ...]
    regions: tuple[WordRegion, ...] | None = None


class CaptionCorpus:
    """The captioned pictures that `write_captions` wrote to a directory. An example is one caption with its picture."""

    def __init__(self, directory: Path) -> None:
        self._files, self._directory = MappedFiles(), directory
        self.images = ImageCorpus(directory)
        path = directory / "captions.json"
        try:
            description = read_description(path)
            captions, tokens = int(description["captions"]), int(description["tokens"])
            self.too_long, self.longest = int(description["too_long"]), int(description["longest"])
            self._ids: NDArray[np.integer[Any]] = self._files.map(
                directory / "ids", stored_type(description["type"]), tokens
            )
            self._offsets: NDArray[np.int64] = self._files.map(directory / "offsets", OFFSET, captions + 1)
            self.pictures: NDArray[np.int64] = self._files.map(directory / "pictures", OFFSET, captions)
            """[N] the number of the picture of each caption."""
        except ResourceError:
            raise
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            raise damaged_file(path) from None

    def __len__(self) -> int:
        return len(self.pictures)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """[N] tokens of each caption, without end mark."""
        return np.diff(self._offsets)

    def captions(self, numbers: NDArray[np.int64]) -> Packed:
        """The ids of several captions."""
        self._files.check()
        return take(self._ids, self._offsets[numbers], self._offsets[numbers + 1] - self._offsets[numbers])

    @cached_property
    def described(self) -> list[Described]:
        """For each picture its captions as text, and gold regions where there are any."""
        lines = (self._directory / "references.jsonl").read_text(encoding="utf-8").splitlines()
        return [_described(json.loads(line)) for line in lines]


@dataclass(frozen=True)
class PreparedCaptions:
    """Captioned pictures that are ready to train on."""

    key: str
    language: str | None
    tokenizers: TokenizerPair  # both are the same
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    train: CaptionCorpus
    valid: CaptionCorpus
    test: CaptionCorpus | None
    held_out: bool
    without_caption: tuple[str, ...]
    """Pictures in the folder that no file of captions names."""


@dataclass(frozen=True)
class _Part:
    """The pictures of a part before they are written: where they are read, and what is said of each."""

    source: PictureSource
    described: Sequence[Described]
    name: str


def prepare_captions(
    data: CaptionData,
    text: OneTextConfig,
    cache: Path,
    progress: PreparationListener | None = None,
    base_tokenizers: TokenizerPair | None = None,
    base_shape: Shape | None = None,
) -> PreparedCaptions:
    """Encode the captioned pictures of `data`, or reuse their entry in `cache`.

    Learns a tokeniser unless `base_tokenizers` are given. `base_shape`: the size of pictures that a base model reads.
    """
    loose: list[str] = []
    if data.captions is None:
        parts = _scene_parts(data)
    else:
        files = _caption_files(data)
        parts = {role: _file_part(file) for role, file in files.items()}
        loose = [] if data.images is None else without_caption(data.images, list(files.values()), SUFFIXES)
    held_out = "valid" not in parts
    key_parts = {
        "format": FORMAT,
        "inputs": {role: [part.source.digest, _digest(part.described)] for role, part in parts.items()},
        "text": text.model_dump(mode="json"),
        "size": base_shape or (data.height, data.width, data.colour),
        "fit": data.fit,
        "max_length": data.max_length,
        "seed": data.seed if held_out else None,
        **tokenizers_fingerprint(base_tokenizers),
    }
    key = hashlib.sha256(json.dumps(key_parts, sort_keys=True).encode()).hexdigest()[:32]
    with disk_errors(cache):
        cache.mkdir(parents=True, exist_ok=True)
    return cached_entry(
        cache,
        key,
        required=files_of_parts(("train", "valid", *(["test"] if "test" in parts else ())), FILES),
        build=partial(_build, data, text, parts, progress, base_tokenizers, base_shape),
        opened=lambda directory, record: PreparedCaptions(
            key=key,
            language=data.language,
            tokenizers=load_tokenizers(directory / "tokenizers"),
            mean=tuple(record["mean"]),
            deviation=tuple(record["deviation"]),
            train=CaptionCorpus(directory / "train"),
            valid=CaptionCorpus(directory / "valid"),
            test=CaptionCorpus(directory / "test") if "test" in parts else None,
            held_out=held_out,
            without_caption=tuple(loose),
        ),
    )


def note_on_pictures(prepared: PreparedCaptions) -> str | None:
    """The note on pictures that have no caption; None: all have one."""
    loose = prepared.without_caption
    if not loose:
        return None
    names = ", ".join(loose[:SHOWN]) + (", .." if len(loose) > SHOWN else "")
    return f"{len(loose):,} pictures have no caption and are not used: {names}"


def _caption_files(data: CaptionData) -> dict[str, CaptionFile]:
    assert data.captions is not None
    files = {"train": read_captions(data.captions, data.images)}
    for part in ("valid", "test"):
        path = getattr(data, f"{part}_captions")
        if path is not None:
            files[part] = read_captions(path, getattr(data, f"{part}_images") or data.images)
    return files


def _file_part(file: CaptionFile) -> _Part:
    source = labelled_files(file.name, [(picture.path, "") for picture in file.pictures])
    return _Part(source, [Described(picture.captions) for picture in file.pictures], file.name)


def _scene_parts(data: CaptionData) -> dict[str, _Part]:
    sizes: dict[Split, int] = {"train": data.scenes, "valid": min(VALID, data.scenes), "test": min(TEST, data.scenes)}
    return {split: _scene_part(split, size, data) for split, size in sizes.items()}


def _scene_part(split: Split, size: int, data: CaptionData) -> _Part:
    language: Language = "fr" if data.language == "fr" else "en"
    drawn: Callable[[int], Scene] = partial(scene, split, seed=data.seed)
    described = []
    for number in range(size):
        one = drawn(number)
        words = one.words(language)
        regions = (
            () if split == "train" else tuple(WordRegion(word.text, word.role, one.region(word)) for word in words)
        )
        described.append(Described((" ".join(word.text for word in words),), regions or None))
    first = hashlib.sha256(b"".join(drawn(number).picture.tobytes() for number in range(min(size, 3)))).hexdigest()
    source = PictureSource(
        f"the {split} scenes",
        [""] * size,
        f"{split} {size} {data.seed} {first}",
        read=lambda number: drawn(number).picture,
        shape=lambda number: (SIZE, SIZE, 3),
        called=lambda number: f"scene {split} {number}",
    )
    return _Part(source, described, source.name)


def _build(
    data: CaptionData,
    text: OneTextConfig,
    parts: dict[str, _Part],
    progress: PreparationListener | None,
    base_tokenizers: TokenizerPair | None,
    base_shape: Shape | None,
    staging: Path,
) -> dict[str, object]:
    train = parts["train"]
    numbers = {role: list(range(len(part.described))) for role, part in parts.items()}
    if "valid" not in parts:
        parts = {**parts, "valid": train}
        numbers["train"], numbers["valid"] = _held_out(len(train.described), data.seed, train.name)
    spoken = (caption for number in numbers["train"] for caption in train.described[number].captions)
    tokenizers = base_tokenizers or learn_single(text, spoken)
    save_tokenizers(tokenizers, staging / "tokenizers")
    shape = base_shape or chosen_shape(data, map(train.source.shape, numbers["train"]))
    for role, part in parts.items():
        write_images(staging / role, part.source, numbers[role], [0] * len(numbers[role]), shape, data.fit, progress)
        described = [part.described[number] for number in numbers[role]]
        write_captions(staging / role, described, tokenizers, data.max_length, part.name)
    mean, deviation = statistics(ImageCorpus(staging / "train").pixels)
    return {"format": FORMAT, "mean": mean, "deviation": deviation}


def write_captions(
    directory: Path, described: Sequence[Described], tokenizers: TokenizerPair, max_length: int, name: str
) -> None:
    """Encode the captions of pictures into `directory`. Those of more than `max_length` tokens are counted and skipped."""
    rows = [(number, caption) for number, row in enumerate(described) for caption in row.captions]
    tokenizer = tokenizers.target
    packed, kind = tokenizer.packer()([caption for _, caption in rows]), id_type(tokenizer)
    kept = (packed.lengths > 0) & (packed.lengths <= max_length)
    if not kept.any():
        raise DataError(f"{name}: no captions left of at most data.max_length = {max_length} tokens; raise it")
    offsets = np.concatenate([[0], np.cumsum(packed.lengths[kept])])
    (directory / "ids").write_bytes(packed.ids[np.repeat(kept, packed.lengths)].astype(kind).tobytes())
    (directory / "offsets").write_bytes(offsets.astype(OFFSET).tobytes())
    pictures = np.array([number for number, _ in rows])[kept]
    (directory / "pictures").write_bytes(pictures.astype(OFFSET).tobytes())
    description = {"format": FORMAT, "type": kind.str, "captions": len(pictures), "tokens": int(offsets[-1])}
    description |= {"too_long": int((~kept).sum()), "longest": int(packed.lengths[kept].max())}
    (directory / "captions.json").write_text(to_json(description), encoding="utf-8")
    with (directory / "references.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in described)


def _held_out(count: int, seed: int, name: str) -> tuple[list[int], list[int]]:
    """(training pictures, validation pictures): a random tenth is held out, with all its captions."""
    if count < 2:
        raise DataError(f"{name}: one picture, so none can be held out; add pictures, or give data.valid_captions")
    order = np.random.default_rng([seed, 4]).permutation(count).tolist()
    wanted = min(max(1, count // HELD_OUT), MOST_HELD_OUT)
    return sorted(order[wanted:]), sorted(order[:wanted])


def _described(row: list[Any]) -> Described:
    captions, regions = row
    found = None if regions is None else tuple(
        WordRegion(text, role, tuple((top, left, bottom, right) for top, left, bottom, right in boxes))
        for text, role, boxes in regions
    )  # fmt: skip
    return Described(tuple(captions), found)


def _digest(described: Sequence[Described]) -> str:
    digest = hashlib.sha256()
    for row in described:
        digest.update((json.dumps(row.captions) + "\n").encode())
    return digest.hexdigest()
