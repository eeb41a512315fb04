"""Labelled texts: read, split, encoded on disk and mapped into memory. The cache is that of `data.prepare`.

    cache/<key>/tokenizers/  labels.json  train/  valid/  [test/]  prepared.json      each with  ids  offsets  labels  labelled.json

A line is a text, a tab and its label. In tagged text a line is a token, a tab and its label, and a blank line ends a text. It knows no
model.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.config import LabelledData
from regard.data.corpus import OFFSET, MappedFiles, damaged_file, read_description, stored_type
from regard.data.encoding import id_type
from regard.data.entries import cached_entry, files_of_parts, seekable_inputs
from regard.data.inputs import digest_of
from regard.data.prepare import PreparationListener, with_progress
from regard.data.readers import NO_DIGESTS, Digests, display_name, read_lines
from regard.errors import DataError, ResourceError
from regard.files import to_json
from regard.text.build import TokenizerPair, learn_single, load_tokenizers, save_tokenizers, tokenizers_fingerprint
from regard.text.config import OneTextConfig
from regard.text.growing import tokenizers_of_text
from regard.text.normalise import normalise
from regard.text.packed import Packed, take
from regard.text.tokenizer import Tokenizer, word_ends

FORMAT = 2
FILES = ("ids", "offsets", "labels", "lines", "labelled.json")
ROLES = ("labelled", "valid_labelled", "test_labelled")
HELD_OUT, MOST_HELD_OUT = 10, 2_000  # one text in 10 is held out, at most 2,000
CHUNK = 20_000  # texts


class Labelled(NamedTuple):
    """A text with its label, or with one label a word if it is tagged."""

    line: int  # the first line of the text
    text: str
    labels: tuple[str, ...]


class LabelledCorpus:
    """The encoded texts that `write_labelled` wrote to a directory."""

    def __init__(self, directory: Path) -> None:
        self._files = MappedFiles()
        path = directory / "labelled.json"
        try:
            description = read_description(path)
            texts, tokens = int(description["texts"]), int(description["tokens"])
            self.tagged = description["labels_of"] == "token"
            self.too_long, self.empty = int(description["too_long"]), int(description["empty"])
            self._ids: NDArray[np.integer[Any]] = self._files.map(
                directory / "ids", stored_type(description["type"]), tokens
            )
            self._offsets: NDArray[np.int64] = self._files.map(directory / "offsets", OFFSET, texts + 1)
            # One label a text; or one a token if tagged, where tokens before the last of a word have the number of labels.
            self.labels: NDArray[np.int64] = self._files.map(
                directory / "labels", OFFSET, tokens if self.tagged else texts
            )
            self.lines: NDArray[np.int64] = self._files.map(directory / "lines", OFFSET, texts)
        except ResourceError:
            raise
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            raise damaged_file(path) from None

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """[N] tokens of each text, without end mark."""
        return np.diff(self._offsets)

    def texts(self, numbers: NDArray[np.int64]) -> Packed:
        """The ids of several texts."""
        self._files.check()
        return take(self._ids, self._offsets[numbers], self._offsets[numbers + 1] - self._offsets[numbers])

    def tags(self, numbers: NDArray[np.int64]) -> Packed:
        """The labels of the tokens of several tagged texts."""
        self._files.check()
        return take(self.labels, self._offsets[numbers], self._offsets[numbers + 1] - self._offsets[numbers])


@dataclass(frozen=True)
class PreparedLabelled:
    """Labelled texts that are ready to train on."""

    key: str
    language: str | None
    tokenizers: TokenizerPair  # both are the same
    labels: tuple[str, ...]
    train: LabelledCorpus
    valid: LabelledCorpus
    test: LabelledCorpus | None
    held_out: bool


def prepare_labelled(
    data: LabelledData,
    text: OneTextConfig,
    cache: Path,
    progress: PreparationListener | None = None,
    base_tokenizers: TokenizerPair | None = None,
) -> PreparedLabelled:
    """Encode the texts of `data`, or reuse their entry in `cache`. Learns a tokeniser unless `base_tokenizers` are given."""
    with seekable_inputs(data, ROLES, cache) as files:
        paths = {role: path for role in ROLES if (path := getattr(files, role)) is not None}
        held_out = "valid_labelled" not in paths
        fingerprint = {role: digest_of(path) for role, path in paths.items()}
        digests = {path: fingerprint[role] for role, path in paths.items()}
        key_parts = {
            "format": FORMAT,
            "inputs": fingerprint,
            "text": text.key("dropout", "joint"),
            "labels_of": data.labels_of,
            "max_length": data.max_length,
            "seed": data.seed if held_out else None,
            **tokenizers_fingerprint(base_tokenizers),
        }
        key = hashlib.sha256(json.dumps(key_parts, sort_keys=True).encode()).hexdigest()[:32]
        has_test = "test_labelled" in paths
        return cached_entry(
            cache,
            key,
            required=files_of_parts(("train", "valid", *(["test"] if has_test else ())), FILES),
            build=lambda staging: _build(staging, files, text, progress, base_tokenizers, digests),
            opened=lambda directory, record: PreparedLabelled(
                key=key,
                language=data.tgt_lang,
                tokenizers=load_tokenizers(directory / "tokenizers"),
                labels=tuple(record["labels"]),
                train=LabelledCorpus(directory / "train"),
                valid=LabelledCorpus(directory / "valid"),
                test=LabelledCorpus(directory / "test") if has_test else None,
                held_out=held_out,
            ),
        )


def read_labelled(path: str | Path, digests: Digests = NO_DIGESTS) -> Iterator[Labelled]:
    """The labelled text of every line that is not blank; the label follows the last tab."""
    for number, line in enumerate(read_lines(path, digests.get(str(path))), 1):
        if not line.strip():
            continue
        text, label = split_label(line)
        if not label:
            raise DataError(f"{display_name(path)}:{number}: no label; each line must be text<TAB>label")
        yield Labelled(number, text, (label,))


def split_label(line: str) -> tuple[str, str]:
    """(text before the last tab, label after it); the label is empty if there is none."""
    text, tab, label = line.rpartition("\t")
    return (text, label.strip()) if tab else (line, "")


def read_tagged(
    path: str | Path, normaliser: Callable[[str], str], digests: Digests = NO_DIGESTS
) -> Iterator[Labelled]:
    """The tagged texts, which blank lines separate; the label of a token is its last column."""
    words: list[str] = []
    labels: list[str] = []
    number = 0
    for number, line in enumerate(read_lines(path, digests.get(str(path))), 1):
        if not line.strip():
            if words:
                yield Labelled(number - len(words), " ".join(words), tuple(labels))
            words, labels = [], []
            continue
        token, label = line.partition("\t")[0], split_label(line)[1]
        if not label:
            raise DataError(f"{display_name(path)}:{number}: no label; each line must be token<TAB>label, or blank")
        word = normaliser(token)
        if len(word.split()) != 1:
            raise DataError(
                f"{display_name(path)}:{number}: {token!r} is not one word; a token is one, without white space"
            )
        words.append(word)
        labels.append(label)
    if words:
        yield Labelled(number + 1 - len(words), " ".join(words), tuple(labels))


def _build(
    staging: Path,
    data: LabelledData,
    text: OneTextConfig,
    progress: PreparationListener | None,
    base_tokenizers: TokenizerPair | None,
    digests: Digests,
) -> dict[str, object]:
    assert data.labelled is not None
    name = display_name(data.labelled)
    tagged = partial(read_tagged, normaliser=_normaliser(text), digests=digests)
    read = tagged if data.labels_of == "token" else partial(read_labelled, digests=digests)
    train = list(with_progress(read(data.labelled), "reading", progress))
    if not train:
        raise DataError(f"{name}: no labelled texts in it; give a file that has some")
    counts = Counter(label for row in train for label in row.labels)
    labels = sorted(counts)
    if len(labels) < 2:
        raise DataError(
            f"{name}: only one label, {labels[0]!r}, so there is nothing to tell apart; add texts of another"
        )
    if data.valid_labelled is not None:
        parts = {"train": train, "valid": _read_evaluation_texts(data.valid_labelled, read, labels)}
    else:
        parts = dict(zip(("train", "valid"), _held_out(train, counts, data.seed, name), strict=True))
    if data.test_labelled is not None:
        parts["test"] = _read_evaluation_texts(data.test_labelled, read, labels)
    learned = (row.text for row in parts["train"])
    tokenizers = tokenizers_of_text(base_tokenizers, text, learned) if base_tokenizers else learn_single(text, learned)
    save_tokenizers(tokenizers, staging / "tokenizers")
    for part, rows in parts.items():
        write_labelled(staging / part, rows, tokenizers.source, labels, data.max_length, data.labels_of)
        if not len(LabelledCorpus(staging / part)):
            raise DataError(
                f"{name}: no {part} texts left of at most data.max_length = {data.max_length} tokens; raise it"
            )
    return {"format": FORMAT, "labels": labels}


def _normaliser(text: OneTextConfig) -> Callable[[str], str]:
    return partial(normalise, form=text.form, lowercase=text.lowercase)


def _read_evaluation_texts(
    path: str, read: Callable[[str], Iterator[Labelled]], labels: Sequence[str]
) -> list[Labelled]:
    """The texts of a validation or test file. Its labels must occur in the training texts."""
    rows = list(read(path))
    if not rows:
        raise DataError(f"{display_name(path)}: no labelled texts in it; give a file that has some")
    unknown = unknown_label(rows, labels)
    if unknown is not None:
        raise DataError(
            f"{display_name(path)}:{unknown[0]}: label {unknown[1]!r} is not in the training texts; mend the line or leave it out"
        )
    return rows


def unknown_label(rows: Sequence[Labelled], labels: Sequence[str]) -> tuple[int, str] | None:
    """(line, label) of the first label that is not in `labels`, or None."""
    numbered = ((row.line + n, label) for row in rows for n, label in enumerate(row.labels))  # one word a line
    return next(((line, label) for line, label in numbered if label not in labels), None)


def _held_out(
    rows: list[Labelled], counts: Counter[str], seed: int, name: str
) -> tuple[list[Labelled], list[Labelled]]:
    """(training texts, validation texts): a random tenth is held out, but never the last text of a label."""
    wanted = min(max(1, len(rows) // HELD_OUT), MOST_HELD_OUT)
    left, held = Counter(counts), set[int]()
    for number in np.random.default_rng([seed, 2]).permutation(len(rows)).tolist():
        own = Counter(rows[number].labels)
        if len(held) < wanted and all(left[label] > count for label, count in own.items()):
            held.add(number)
            left -= own
    if not held:
        raise DataError(
            f"{name}: every text has a label that no other has, so none can be held out; add texts, or give data.valid_labelled"
        )
    return [row for n, row in enumerate(rows) if n not in held], [row for n, row in enumerate(rows) if n in held]


def write_labelled(
    directory: Path,
    rows: Sequence[Labelled],
    tokenizer: Tokenizer,
    labels: Sequence[str],
    max_length: int,
    labels_of: str = "text",
) -> None:
    """Encode texts into `directory`. Texts that are empty or longer than `max_length` tokens are counted and skipped."""
    directory.mkdir(parents=True, exist_ok=True)
    pack, kind, number_of = tokenizer.packer(), id_type(tokenizer), {label: n for n, label in enumerate(labels)}
    tagged = labels_of == "token"
    lengths, lines, kept_labels = [], [], []
    too_long = empty = 0
    stream = iter(rows)
    with (directory / "ids").open("wb") as file:
        while chunk := list(islice(stream, CHUNK)):
            packed = pack([row.text for row in chunk])
            none, over = packed.lengths == 0, packed.lengths > max_length
            keep = ~none & ~over
            file.write(packed.ids[np.repeat(keep, packed.lengths)].astype(kind).tobytes())
            lengths.append(packed.lengths[keep])
            lines.append(np.array([row.line for row in chunk])[keep])
            label_rows = [np.array([number_of[label] for label in row.labels]) for row in chunk]
            if tagged:
                label_rows = [
                    _token_labels(tokenizer, ids, word_labels, none=len(labels))
                    for ids, word_labels in zip(packed.rows(), label_rows, strict=True)
                ]
            kept_labels += [row for row, kept in zip(label_rows, keep.tolist(), strict=True) if kept]
            empty, too_long = empty + int(none.sum()), too_long + int(over.sum())
    offsets = np.cumsum(np.concatenate([[0], *lengths]))
    for name, values in (
        ("offsets", offsets),
        ("lines", np.concatenate(lines)),
        ("labels", np.concatenate([*kept_labels, np.empty(0)])),
    ):
        (directory / name).write_bytes(values.astype(OFFSET).tobytes())
    description = {"format": FORMAT, "labels_of": labels_of, "type": kind.str, "too_long": too_long, "empty": empty}
    sizes = {"texts": len(offsets) - 1, "tokens": int(offsets[-1])}
    (directory / "labelled.json").write_text(to_json({**description, **sizes}), encoding="utf-8")


def _token_labels(
    tokenizer: Tokenizer, ids: NDArray[np.integer[Any]], labels: NDArray[np.int64], none: int
) -> NDArray[np.int64]:
    """[tokens]: the label of each word at its last token, and `none` elsewhere."""
    token_labels = np.full(len(ids), none)
    token_labels[word_ends(tokenizer, ids.tolist())] = labels
    return token_labels
