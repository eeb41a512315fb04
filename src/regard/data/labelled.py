"""Labelled texts, encoded on disk and mapped into memory; read, split and kept as `data.prepare` keeps pairs.

    cache/<key>/tokenizers/  labels.json  train/  valid/  [test/]  prepared.json      each with  ids  offsets  labels  labelled.json

A line is a text, a tab and its label. Nothing here knows a model.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.config import DataConfig
from regard.data.corpus import OFFSET, damaged, mapped
from regard.data.encoding import id_type
from regard.data.entries import entry, settled
from regard.data.inputs import digest_of
from regard.data.prepare import Progress, reported
from regard.data.readers import read_lines, shown
from regard.errors import DataError
from regard.files import to_json
from regard.text.build import TokenizerPair, learn, load_tokenizers, save_tokenizers
from regard.text.config import TextConfig
from regard.text.packed import Packed, take
from regard.text.tokenizer import Tokenizer

FORMAT = 1
ROLES = ("labelled", "valid_labelled", "test_labelled")
HELD_OUT, MOST_HELD_OUT = 10, 2_000  # one text in so many, and at most so many
CHUNK = 20_000  # texts

Labelled = tuple[int, str, str]
"""The line, the text, its label."""


class LabelledCorpus:
    """The texts of a directory that `write_labelled` filled."""

    def __init__(self, directory: Path) -> None:
        path = directory / "labelled.json"
        try:
            about = json.loads(path.read_text(encoding="utf-8"))
            texts = int(about["texts"])
            self.too_long, self.empty = int(about["too_long"]), int(about["empty"])
            self._ids: NDArray[np.integer[Any]] = mapped(
                directory / "ids", np.dtype(about["type"]), int(about["tokens"])
            )
            self._offsets: NDArray[np.int64] = mapped(directory / "offsets", OFFSET, texts + 1)
            self.labels: NDArray[np.int64] = mapped(directory / "labels", OFFSET, texts)
            self.lines: NDArray[np.int64] = mapped(directory / "lines", OFFSET, texts)
        except (OSError, ValueError, KeyError, TypeError):
            raise damaged(path) from None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """[N] tokens of each text, without end mark."""
        return np.diff(self._offsets)

    def texts(self, numbers: NDArray[np.int64]) -> Packed:
        """The ids of several texts."""
        return take(self._ids, self._offsets[numbers], self._offsets[numbers + 1] - self._offsets[numbers])


@dataclass(frozen=True)
class PreparedLabelled:
    """Labelled texts that are ready to train on."""

    key: str
    language: str | None
    tokenizers: TokenizerPair  # the same one twice
    labels: tuple[str, ...]
    train: LabelledCorpus
    valid: LabelledCorpus
    test: LabelledCorpus | None
    held_out: bool


def prepare_labelled(
    data: DataConfig, text: TextConfig, cache: Path, progress: Progress | None = None
) -> PreparedLabelled:
    """Encode what `data` names with a tokeniser learned as `text` says, or reuse the entry of `cache` that holds it."""
    with settled(data, ROLES, cache) as files:
        paths = {role: path for role in ROLES if (path := getattr(files, role)) is not None}
        held_out = "valid_labelled" not in paths
        depends = {
            "format": FORMAT,
            "inputs": {role: digest_of(path) for role, path in paths.items()},
            "text": text.model_dump(mode="json", exclude={"dropout", "joint"}),
            "max_length": data.max_length,
            "seed": data.seed if held_out else None,
        }
        key = hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()[:32]
        directory, record = entry(cache, key, lambda staging: _build(staging, files, text, progress))
        return PreparedLabelled(
            key=key,
            language=data.tgt_lang,
            tokenizers=load_tokenizers(directory / "tokenizers"),
            labels=tuple(record["labels"]),
            train=LabelledCorpus(directory / "train"),
            valid=LabelledCorpus(directory / "valid"),
            test=LabelledCorpus(directory / "test") if "test_labelled" in paths else None,
            held_out=held_out,
        )


def read_labelled(path: str | Path) -> Iterator[Labelled]:
    """Every line that is not blank: its number, its text, and what stands behind the last tab."""
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        text, tab, label = line.removesuffix("\r").rpartition("\t")
        if not tab or not label.strip():
            raise DataError(f"{shown(path)}:{number}: no label; each line must be text<TAB>label")
        yield number, text, label.strip()


def _build(staging: Path, data: DataConfig, text: TextConfig, progress: Progress | None) -> dict[str, object]:
    assert data.labelled is not None
    name = shown(data.labelled)
    train = list(reported(read_labelled(data.labelled), "reading", progress))
    if not train:
        raise DataError(f"{name}: no labelled texts in it; give a file that has some")
    counts = Counter(label for _, _, label in train)
    labels = sorted(counts)
    if len(labels) < 2:
        raise DataError(f"{name}: only one label, {labels[0]!r}; there is nothing to tell apart")
    if data.valid_labelled is not None:
        parts = {"train": train, "valid": _known(data.valid_labelled, labels)}
    else:
        parts = dict(zip(("train", "valid"), _held_out(train, counts, data.seed, name), strict=True))
    if data.test_labelled is not None:
        parts["test"] = _known(data.test_labelled, labels)
    tokenizer = learn(text, (one for _, one, _ in parts["train"]))
    save_tokenizers(TokenizerPair(tokenizer, tokenizer, joint=True), staging / "tokenizers")
    for part, rows in parts.items():
        write_labelled(staging / part, rows, tokenizer, labels, data.max_length)
        if not len(LabelledCorpus(staging / part)):
            raise DataError(
                f"{name}: no {part} texts left of at most data.max_length = {data.max_length} tokens; raise it"
            )
    return {"format": FORMAT, "labels": labels}


def _known(path: str, labels: Sequence[str]) -> list[Labelled]:
    """All of a file, whose labels must be among those that are trained on."""
    rows = list(read_labelled(path))
    if not rows:
        raise DataError(f"{shown(path)}: no labelled texts in it; give a file that has some")
    strange = next(((line, label) for line, _, label in rows if label not in labels), None)
    if strange is not None:
        raise DataError(
            f"{shown(path)}:{strange[0]}: label {strange[1]!r} is not in the training texts; mend the line or leave it out"
        )
    return rows


def _held_out(
    rows: list[Labelled], counts: Counter[str], seed: int, name: str
) -> tuple[list[Labelled], list[Labelled]]:
    """A seeded tenth validates. The last text of a label stays: a label that occurs once is trained on and not validated."""
    wanted = min(max(1, len(rows) // HELD_OUT), MOST_HELD_OUT)
    left, held = Counter(counts), set[int]()
    for number in np.random.default_rng([seed, 2]).permutation(len(rows)).tolist():
        label = rows[number][2]
        if len(held) < wanted and left[label] > 1:
            held.add(number)
            left[label] -= 1
    if not held:
        raise DataError(
            f"{name}: every label occurs once, so none can be held out; add texts, or give data.valid_labelled"
        )
    return [row for n, row in enumerate(rows) if n not in held], [row for n, row in enumerate(rows) if n in held]


def write_labelled(
    directory: Path, rows: Sequence[Labelled], tokenizer: Tokenizer, labels: Sequence[str], max_length: int
) -> None:
    """Encode rows into `directory`. Texts that are empty or longer than `max_length` tokens are counted and left out."""
    directory.mkdir(parents=True, exist_ok=True)
    pack, kind, number_of = tokenizer.packer(), id_type(tokenizer), {label: n for n, label in enumerate(labels)}
    lengths, lines, kept_labels = [], [], []
    too_long = empty = 0
    stream = iter(rows)
    with (directory / "ids").open("wb") as file:
        while some := list(islice(stream, CHUNK)):
            packed = pack([text for _, text, _ in some])
            none, over = packed.lengths == 0, packed.lengths > max_length
            keep = ~none & ~over
            file.write(packed.ids[np.repeat(keep, packed.lengths)].astype(kind).tobytes())
            lengths.append(packed.lengths[keep])
            lines.append(np.array([line for line, _, _ in some])[keep])
            kept_labels.append(np.array([number_of[label] for _, _, label in some])[keep])
            empty, too_long = empty + int(none.sum()), too_long + int(over.sum())
    offsets = np.cumsum(np.concatenate([[0], *lengths]))
    for name, values in (
        ("offsets", offsets),
        ("lines", np.concatenate(lines)),
        ("labels", np.concatenate(kept_labels)),
    ):
        (directory / name).write_bytes(values.astype(OFFSET).tobytes())
    about = {"format": FORMAT, "type": kind.str, "texts": len(offsets) - 1, "tokens": int(offsets[-1])}
    (directory / "labelled.json").write_text(to_json({**about, "too_long": too_long, "empty": empty}), encoding="utf-8")
