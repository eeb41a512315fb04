"""Captioned pictures: read, split, brought to one size, encoded on disk and mapped into memory. The cache is that of `data.prepare`.

    cache/<key>/tokenizers/  train/  valid/  [test/]  prepared.json
    each part:  pixels  labels  names.jsonl  images.json     the pictures, as `data.images` has them; labels are 0
                ids  offsets  pictures  captions.json        the captions: their tokens, and the picture of each
                references.jsonl                             for each picture its captions, and the gold region of each word if known
                regions.ids  regions.offsets                 of the training part, with `data.regions`: `data.regions`

It knows no model.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.caption_config import CaptionData
from regard.data.captions import REGION_FORMS, SHOWN, CaptionedPicture, CaptionFile, read_captions, without_caption
from regard.data.corpus import OFFSET, MappedFiles, damaged_file, read_description, stored_type
from regard.data.encoding import id_type
from regard.data.entries import cached_entry, files_of_parts
from regard.data.images import FILES as IMAGE_FILES
from regard.data.images import ImageCorpus, Shape, chosen_shape, readable_shapes, statistics, write_images
from regard.data.picture_sources import PictureSource, labelled_files
from regard.data.pictures import SUFFIXES, fitted_box
from regard.data.prepare import PreparationListener
from regard.data.regions import FILES as REGION_FILES
from regard.data.regions import NAMED, OTHER, CaptionRegions, WordRegion, write_regions
from regard.data.scenes.corpus import TEST, VALID, Scene, Split, scene
from regard.data.scenes.painting import SIZE
from regard.data.scenes.words import Language
from regard.errors import DataError, ResourceError
from regard.files import disk_errors, to_json
from regard.text.build import TokenizerPair, learn_single, load_tokenizers, save_tokenizers, tokenizers_fingerprint
from regard.text.config import OneTextConfig
from regard.text.growing import tokenizers_of_text
from regard.text.normalise import normalise
from regard.text.packed import Packed, take

FORMAT = 2
FILES = (*IMAGE_FILES, "ids", "offsets", "pictures", "captions.json", "references.jsonl")
SAMPLE = 3
"""Scenes that tell one version of the generator from another."""
HELD_OUT, MOST_HELD_OUT = 10, 1_000  # one picture in 10 is held out, at most 1,000


Regions = tuple[WordRegion, ...]
"""The words of a caption, each with its gold region; empty where they are not known."""


class Described(NamedTuple):
    """The captions of a picture, and the words of each with their gold regions."""

    captions: tuple[str, ...]
    regions: tuple[Regions, ...]


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
            has_regions = (directory / REGION_FILES[0]).exists()
            self.regions = CaptionRegions(directory) if has_regions else None
            """The boxes of each caption, if the corpus was prepared with them."""
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
    described: Callable[[], Sequence[Described]]
    """What is said of each; boxes are in pixels of the file."""
    digest: str
    """Of what is said."""

    @property
    def name(self) -> str:
        return self.source.name


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
        "inputs": {role: [part.source.digest, part.digest] for role, part in parts.items()},
        "text": text.key(),
        "size": base_shape or (data.height, data.width, data.colour),
        "fit": data.fit,
        "max_length": data.max_length,
        "seed": data.seed if held_out else None,
        "regions": data.regions,
        **tokenizers_fingerprint(base_tokenizers),
    }
    key = hashlib.sha256(json.dumps(key_parts, sort_keys=True).encode()).hexdigest()[:32]
    with disk_errors(cache):
        cache.mkdir(parents=True, exist_ok=True)
    return cached_entry(
        cache,
        key,
        required=[
            *files_of_parts(("train", "valid", *(["test"] if "test" in parts else ())), FILES),
            *files_of_parts(("train",), REGION_FILES if data.regions else ()),
        ],
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
    verb = "picture has no caption and is" if len(loose) == 1 else "pictures have no caption and are"
    return f"{len(loose):,} {verb} not used: {names}"


def _caption_files(data: CaptionData) -> dict[str, CaptionFile]:
    assert data.captions is not None
    files = {"train": read_captions(data.captions, data.images)}
    for part in ("valid", "test"):
        path = getattr(data, f"{part}_captions")
        if path is not None:
            files[part] = read_captions(path, getattr(data, f"{part}_images") or data.images)
    if data.regions and not any(any(picture.regions) for picture in files["train"].pictures):
        raise DataError(
            f"{files['train'].name}: no regions, which data.regions = true asks for; in .jsonl, {REGION_FORMS}"
        )
    return files


def _file_part(file: CaptionFile) -> _Part:
    source = labelled_files(file.name, [(picture.path, "") for picture in file.pictures])
    described = [_described_picture(picture) for picture in file.pictures]
    return _Part(source, lambda: described, _digest(described))


def _described_picture(picture: CaptionedPicture) -> Described:
    regions = [
        tuple(
            WordRegion(word, NAMED if number in boxes else OTHER, boxes.get(number, ()))
            for number, word in enumerate(caption.split() if boxes else ())
        )
        for caption, boxes in zip(picture.captions, picture.regions, strict=True)
    ]
    return Described(picture.captions, tuple(regions))


def _scene_parts(data: CaptionData) -> dict[str, _Part]:
    sizes: dict[Split, int] = {"train": data.scenes, "valid": min(VALID, data.scenes), "test": min(TEST, data.scenes)}
    return {split: _scene_part(split, size, data) for split, size in sizes.items()}


def _scene_part(split: Split, size: int, data: CaptionData) -> _Part:
    language: Language = "fr" if data.language == "fr" else "en"
    without_regions = split == "train" and not data.regions
    drawn: Callable[[int], Scene] = partial(scene, split, seed=data.seed)

    def described(number: int) -> Described:
        one = drawn(number)
        words = () if without_regions else one.words(language)
        regions = tuple(WordRegion(word.text, word.role, one.region(word)) for word in words)
        return Described((one.caption(language),), (regions,))

    sample = range(min(size, SAMPLE))
    first = hashlib.sha256(b"".join(drawn(number).picture.tobytes() for number in sample)).hexdigest()
    source = PictureSource(
        f"the {split} scenes",
        [""] * size,
        f"{split} {size} {data.seed} {first}",
        read=lambda number: drawn(number).picture,
        shape=lambda number: (SIZE, SIZE, 3),
        called=lambda number: f"scene {split} {number}",
    )
    return _Part(source, lambda: [described(number) for number in range(size)], _digest(map(described, sample)))


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
    numbers = {role: list(range(len(part.source))) for role, part in parts.items()}
    if "valid" not in parts:
        parts = {**parts, "valid": train}
        numbers["train"], numbers["valid"] = _held_out(len(train.source), data.seed, train.name)
    said = {role: part.described() for role, part in parts.items()}
    spoken = (caption for number in numbers["train"] for caption in said["train"][number].captions)
    tokenizers = tokenizers_of_text(base_tokenizers, text, spoken) if base_tokenizers else learn_single(text, spoken)
    save_tokenizers(tokenizers, staging / "tokenizers")
    shape = base_shape or chosen_shape(data, readable_shapes(train.source, numbers["train"]))
    for role, part in parts.items():
        write_images(staging / role, part.source, numbers[role], [0] * len(numbers[role]), shape, data.fit, progress)
        described = [_fitted(said[role][number], part.source, number, shape, data, text) for number in numbers[role]]
        kept = write_captions(staging / role, described, tokenizers, data.max_length, part.name)
        if role == "train" and data.regions:
            rows = [regions for row in described for regions in row.regions]
            write_regions(staging / role, [regions for regions, wanted in zip(rows, kept, strict=True) if wanted])
    mean, deviation = statistics(ImageCorpus(staging / "train").pixels)
    return {"format": FORMAT, "mean": mean, "deviation": deviation}


def _fitted(
    described: Described, source: PictureSource, number: int, shape: Shape, data: CaptionData, text: OneTextConfig
) -> Described:
    """The captions of a picture, with boxes in the fitted picture; no regions where normalisation changes the number of words."""
    if not any(described.regions):
        return described
    regions, (height, width, _) = [], source.shape(number)
    for caption, words in zip(described.captions, described.regions, strict=True):
        own = []
        for word in words:
            boxes = (fitted_box(box, height, width, shape[0], shape[1], data.fit) for box in word.boxes)
            own.append(word._replace(boxes=tuple(box for box in boxes if box is not None)))
        stable = len(normalise(caption, text.form, text.lowercase).split()) == len(words)
        regions.append(tuple(own) if stable else ())
    return described._replace(regions=tuple(regions))


def write_captions(
    directory: Path, described: Sequence[Described], tokenizers: TokenizerPair, max_length: int, name: str
) -> NDArray[np.bool_]:
    """Encode the captions of pictures into `directory`. Those of more than `max_length` tokens are counted and skipped.

    Returns whether each caption was kept.
    """
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
    return kept


def _held_out(count: int, seed: int, name: str) -> tuple[list[int], list[int]]:
    """(training pictures, validation pictures): a random tenth is held out, with all its captions."""
    if count < 2:
        raise DataError(f"{name}: one picture, so none can be held out; add pictures, or give data.valid_captions")
    order = np.random.default_rng([seed, 4]).permutation(count).tolist()
    wanted = min(max(1, count // HELD_OUT), MOST_HELD_OUT)
    return sorted(order[wanted:]), sorted(order[:wanted])


def _described(row: list[Any]) -> Described:
    captions, regions = row
    known = (
        tuple(WordRegion(text, role, tuple(tuple(box) for box in boxes)) for text, role, boxes in words)
        for words in regions
    )
    return Described(tuple(captions), tuple(known))


def _digest(described: Iterable[Described]) -> str:
    digest = hashlib.sha256()
    for row in described:
        digest.update((json.dumps(row) + "\n").encode())
    return digest.hexdigest()
