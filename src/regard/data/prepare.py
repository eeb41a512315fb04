"""From settings to encoded training and validation sets, once: the result is kept under a key of all that it depends on.

    cache/<key>/tokenizers/  train/  valid/  valid.jsonl  prepared.json

The key is a SHA-256 over the bytes of the input files and the settings that alter the encoding, so a changed file or
setting is another entry and an unchanged one is reused. An entry appears whole, carries a SHA-256 of each file, and is
built again if it is damaged. Two processes may prepare the same corpus at once: the first to finish wins. Nothing here
knows a model.
"""

import hashlib
import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from regard.data.config import STDIN, DataConfig, languages
from regard.data.corpus import FORMAT as CORPUS_FORMAT
from regard.data.corpus import Corpus, Counts, write_numbered
from regard.data.encoding import NumberedPair
from regard.data.holdout import hold_out, is_usable
from regard.data.inputs import INPUT_ROLES, Inputs, Links, open_inputs
from regard.data.readers import Languages, Pair, opened, shown
from regard.errors import DataError
from regard.files import STAGING_MARK, disk_errors, sha256_of, to_json, whole_directory
from regard.text.build import TokenizerPair, learn_pair, load_tokenizers, save_tokenizers
from regard.text.config import TextConfig

FORMAT = 1  # raised when the layout of an entry, or what the tokenisers make of a text, changes
STALE_SECONDS = 24 * 3600
REPORT_EVERY = 20_000  # pairs

Progress = Callable[[str, int], None]  # (what is being done, pairs so far)
Item = TypeVar("Item")


@dataclass(frozen=True)
class Prepared:
    """A corpus that is ready to train on."""

    key: str
    languages: Languages
    tokenizers: TokenizerPair
    train: Corpus
    valid: Corpus
    valid_pairs: list[Pair]  # the text of each example of `valid`
    valid_alignments: list[Links] | None  # gold word alignments, where the corpus has them
    test_pairs: list[Pair] | None  # every line of the test files
    test_alignments: list[Links] | None
    counts: Counts  # of the training text, held-out pairs included
    valid_counts: Counts
    held_out: bool  # whether the validation pairs were taken from the training text


def prepare(data: DataConfig, text: TextConfig, cache: Path, progress: Progress | None = None) -> Prepared:
    """Encode what `data` names with tokenisers learned as `text` says, or reuse the entry of `cache` that holds it."""
    with disk_errors(cache):
        cache.mkdir(parents=True, exist_ok=True)
        _remove_stale(cache)
    with _spooled(data, cache) as settled:
        inputs = open_inputs(settled)
        key = _key(settled, text, inputs)
        directory = cache / key
        if not is_intact(directory):
            # Not straight to `directory`: another process may have put its own there by the time we are done.
            built = cache / f"{key}{STAGING_MARK}{uuid.uuid4().hex[:8]}"
            with whole_directory(built) as staging:
                _build(staging, inputs, settled, text, progress)
            _install(built, directory)
        return _open(directory, key, inputs, languages(settled))


def is_intact(directory: Path) -> bool:
    """Whether an entry of the cache is there with every file as it was written."""
    try:
        record = json.loads((directory / "prepared.json").read_text(encoding="utf-8"))
        return bool(_digests(directory, record["files"]) == record["files"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _digests(directory: Path, names: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of each file, several at a time: hashing needs no interpreter."""
    with ThreadPoolExecutor() as threads:
        return dict(threads.map(lambda name: (name, sha256_of(directory / name)), names))


def _key(data: DataConfig, text: TextConfig, inputs: Inputs) -> str:
    depends = {
        "format": [FORMAT, CORPUS_FORMAT],
        "inputs": inputs.fingerprint,
        "text": text.model_dump(mode="json", exclude={"dropout"}),  # dropout acts on batches, not on the encoding
        "max_length": data.max_length,
        "seed": data.seed if inputs.validation is None else None,
        "languages": languages(data) if data.pairs or data.valid_pairs else None,  # choose the sides of .tmx and .jsonl
    }
    return hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()[:32]


def _build(staging: Path, inputs: Inputs, data: DataConfig, text: TextConfig, progress: Progress | None) -> None:
    """Fill an entry. The tokenisers learn from training pairs only."""
    validation: list[NumberedPair]
    if inputs.validation is not None:
        validation = list(enumerate(inputs.validation(), 1))
        training = _Training(inputs.training, ())
    else:
        held = hold_out(_reported(inputs.training(), "reading", progress), data.max_length, data.seed)
        if held.usable == 1:
            raise DataError(
                f"{inputs.name}: only one usable sentence pair, and one must be held out; "
                "add pairs, or give data.valid_src and data.valid_tgt"
            )
        validation = list(held.pairs)
        training = _Training(inputs.training, validation)
    _require_pairs(training, inputs.name, data.max_length)
    tokenizers = learn_pair(
        text, lambda: (pair for _, pair in _reported(training.numbered(), "learning the vocabulary", progress))
    )
    save_tokenizers(tokenizers, staging / "tokenizers")
    valid_counts = write_numbered(staging / "valid", validation, tokenizers, data.max_length)
    _require_kept(valid_counts, inputs.valid_name, data.max_length)
    written = write_numbered(
        staging / "train", _reported(training.numbered(), "encoding", progress), tokenizers, data.max_length
    )
    _require_kept(written, inputs.name, data.max_length)
    kept = set(Corpus.open(staging / "valid").lines.tolist())
    rows = [json.dumps(pair) + "\n" for line, pair in validation if line in kept]
    (staging / "valid.jsonl").write_text("".join(rows), encoding="ascii")
    counts = replace(
        written,
        read=written.read + training.held_out + training.duplicates,
        held_out=training.held_out,
        duplicates_of_validation=training.duplicates,
    )
    record = {
        "format": FORMAT,
        "counts": asdict(counts),
        "valid_counts": asdict(valid_counts),
        "files": _digests(
            staging, [str(file.relative_to(staging)) for file in sorted(staging.rglob("*")) if file.is_file()]
        ),
    }
    (staging / "prepared.json").write_text(to_json(record), encoding="utf-8")


class _Training:
    """The training pairs without those that validate and their exact copies, and how many these were."""

    def __init__(self, pairs: Callable[[], Iterator[Pair]], held: Iterable[NumberedPair]) -> None:
        self.pairs = pairs
        self.held_lines = frozenset(line for line, _ in held)
        self.held_texts = frozenset(pair for _, pair in held)
        self.held_out = self.duplicates = 0

    def numbered(self) -> Iterator[NumberedPair]:
        self.held_out = self.duplicates = 0
        for line, pair in enumerate(self.pairs(), 1):
            if line in self.held_lines:
                self.held_out += 1
            elif pair in self.held_texts:
                self.duplicates += 1
            else:
                yield line, pair


def _require_pairs(training: _Training, name: str, max_length: int) -> None:
    """Refuse an empty corpus before a tokeniser is asked to learn from nothing."""
    lines = 0
    for lines, (_, pair) in enumerate(training.numbered(), 1):  # noqa: B007 (the count is wanted after the loop)
        if all(is_usable(text, max_length) for text in pair):
            return
    if training.duplicates:
        raise DataError(
            f"{name}: no sentence pairs to train on: all equal the {training.held_out} held out for validation; "
            "add other pairs, or give data.valid_src and data.valid_tgt"
        )
    raise DataError(
        f"{name}: no sentence pairs to train on in {lines} lines: a pair needs text on both sides "
        f"and at most data.max_length = {max_length} tokens"
    )


def _require_kept(counts: Counts, name: str, max_length: int) -> None:
    if counts.kept == 0:
        raise DataError(
            f"{name}: no sentence pairs left of {counts.read}: {counts.empty} with an empty side, {counts.too_long} "
            f"longer than data.max_length = {max_length} tokens; raise it or give other text"
        )


def _open(directory: Path, key: str, inputs: Inputs, spoken: Languages) -> Prepared:
    record: dict[str, Any] = json.loads((directory / "prepared.json").read_text(encoding="utf-8"))
    rows = (directory / "valid.jsonl").read_text(encoding="ascii").splitlines()
    valid = Corpus.open(directory / "valid")
    gold = inputs.valid_alignments
    return Prepared(
        key=key,
        languages=spoken,
        tokenizers=load_tokenizers(directory / "tokenizers"),
        train=Corpus.open(directory / "train"),
        valid=valid,
        valid_pairs=[(source, target) for source, target in map(json.loads, rows)],
        valid_alignments=None if gold is None else [gold[line - 1] for line in valid.lines.tolist()],
        test_pairs=inputs.test_pairs,
        test_alignments=None if inputs.test_alignments is None else list(inputs.test_alignments),
        counts=Counts(**record["counts"]),
        valid_counts=Counts(**record["valid_counts"]),
        held_out=inputs.validation is None,
    )


def _install(built: Path, directory: Path) -> None:
    """Give a finished entry its name, unless a sound one has it already; a damaged one is replaced."""
    with disk_errors(directory):
        if directory.exists() and not is_intact(directory):
            shutil.rmtree(directory)
        try:
            built.rename(directory)  # fails if another process was quicker
        except OSError:
            shutil.rmtree(built, ignore_errors=True)
            if not is_intact(directory):
                raise


@contextmanager
def _spooled(data: DataConfig, cache: Path) -> Iterator[DataConfig]:
    """`data` with each input that can be read only once (standard input, a pipe) replaced by a copy in the cache."""
    streams = {role: path for role in INPUT_ROLES if (path := getattr(data, role)) and _is_stream(path)}
    copies = {
        role: cache / f"input{STAGING_MARK}{uuid.uuid4().hex[:8]}{_suffix(path)}" for role, path in streams.items()
    }
    source_language, target_language = languages(data)
    changes = {role: str(copy) for role, copy in copies.items()}
    try:
        for role, path in streams.items():
            with opened(path) as stream, disk_errors(copies[role]), copies[role].open("wb") as copy:
                shutil.copyfileobj(stream, copy)
        yield data.model_copy(update={**changes, "src_lang": source_language, "tgt_lang": target_language})
    except DataError as error:
        message = str(error)
        for role, spool in copies.items():  # name what the user gave, not our copy of it
            message = message.replace(str(spool), shown(streams[role]))
        raise DataError(message) from None
    finally:
        for spool in copies.values():
            spool.unlink(missing_ok=True)


def _is_stream(path: str) -> bool:
    return path == STDIN or (Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir())


def _suffix(path: str) -> str:
    """The suffix that tells the format; the copy is unpacked."""
    return Path(path.removesuffix(".gz")).suffix or ".tsv"


def _remove_stale(cache: Path) -> None:
    """Delete what writers left that were interrupted long ago; a younger one may be another process at work."""
    for path in cache.glob(f"*{STAGING_MARK}*"):
        try:
            if time.time() - path.stat().st_mtime < STALE_SECONDS:
                continue
        except FileNotFoundError:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _reported(items: Iterable[Item], doing: str, progress: Progress | None) -> Iterator[Item]:
    """The same items; `progress` hears of them now and then."""
    stream, count = iter(items), 0
    while some := list(islice(stream, REPORT_EVERY)):
        if progress is not None:
            progress(doing, count)
        yield from some
        count += len(some)
