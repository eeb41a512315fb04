"""From settings to encoded training and validation sets, once: the result is kept under a key of all that it depends on.

    cache/<key>/tokenizers/  train/  valid/  valid.jsonl  prepared.json, and where one asked for alignments, links

The key is a SHA-256 over the bytes of the input files and the settings that alter the encoding, so a changed file or
setting is another entry and an unchanged one is reused. Nothing here knows a model.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from regard.data.alignments import WordLinks, between_normal_words, write_links
from regard.data.config import DataConfig, languages
from regard.data.corpus import FORMAT as CORPUS_FORMAT
from regard.data.corpus import Corpus, Counts, write_numbered
from regard.data.encoding import NumberedPair
from regard.data.entries import entry, settled
from regard.data.holdout import hold_out, is_usable
from regard.data.inputs import INPUT_ROLES, Inputs, open_inputs
from regard.data.readers import Languages, Pair
from regard.errors import DataError
from regard.metrics.alignment import Links
from regard.text.build import TokenizerPair, known_by, learn_pair, load_tokenizers, save_tokenizers
from regard.text.config import TextConfig

FORMAT = 1  # raised when the layout of an entry, or what the tokenisers make of a text, changes
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
    train_links: WordLinks | None  # of every line of the training text, where one asked for them
    valid: Corpus
    valid_pairs: list[Pair]  # the text of each example of `valid`
    valid_alignments: list[Links] | None  # gold word alignments, where the corpus has them
    test_pairs: list[Pair] | None  # every line of the test files
    test_alignments: list[Links] | None
    counts: Counts  # of the training text, held-out pairs included
    valid_counts: Counts
    held_out: bool  # whether the validation pairs were taken from the training text


def prepare(
    data: DataConfig,
    text: TextConfig,
    cache: Path,
    progress: Progress | None = None,
    known: TokenizerPair | None = None,
) -> Prepared:
    """Encode what `data` names with tokenisers learned as `text` says, or `known` ones, or reuse the entry of `cache` that holds it."""
    with settled(data, INPUT_ROLES, cache) as files:
        inputs = open_inputs(files)
        key = _key(files, text, inputs, known)
        directory, record = entry(cache, key, lambda staging: _build(staging, inputs, files, text, progress, known))
        return _open(directory, key, record, inputs, languages(files))


def _key(data: DataConfig, text: TextConfig, inputs: Inputs, known: TokenizerPair | None) -> str:
    depends = {
        "format": [FORMAT, CORPUS_FORMAT],
        "inputs": inputs.fingerprint,
        "text": text.model_dump(mode="json", exclude={"dropout"}),  # dropout acts on batches, not on the encoding
        "max_length": data.max_length,
        "seed": data.seed if inputs.validation is None else None,
        "languages": languages(data) if data.pairs or data.valid_pairs else None,  # choose the sides of .tmx and .jsonl
        **known_by(known),
    }
    return hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()[:32]


def _build(
    staging: Path,
    inputs: Inputs,
    data: DataConfig,
    text: TextConfig,
    progress: Progress | None,
    known: TokenizerPair | None,
) -> dict[str, Any]:
    """Fill an entry. The tokenisers learn from training pairs only."""
    if inputs.alignments is not None:
        alignments = reported(inputs.alignments(), "reading alignments", progress)
        write_links(staging, between_normal_words(alignments, inputs.training(), text))
    validation: list[NumberedPair]
    if inputs.validation is not None:
        validation = list(enumerate(inputs.validation(), 1))
        if not validation:
            raise DataError(f"{inputs.valid_name}: no sentence pairs in it; give a file that has some")
        training = _Training(inputs.training, ())
    else:
        held = hold_out(reported(inputs.training(), "reading", progress), data.max_length, data.seed)
        if held.usable == 1:
            raise DataError(
                f"{inputs.name}: only one usable sentence pair, and one must be held out; "
                "add pairs, or give data.valid_src and data.valid_tgt"
            )
        validation = list(held.pairs)
        training = _Training(inputs.training, validation)
    _require_pairs(training, inputs.name, data.max_length)
    tokenizers = known or learn_pair(
        text, lambda: (pair for _, pair in reported(training.numbered(), "learning the vocabulary", progress))
    )
    save_tokenizers(tokenizers, staging / "tokenizers")
    valid_counts = write_numbered(staging / "valid", validation, tokenizers, data.max_length)
    _require_kept(valid_counts, inputs.valid_name, data.max_length)
    written = write_numbered(
        staging / "train", reported(training.numbered(), "encoding", progress), tokenizers, data.max_length
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
    return {"format": FORMAT, "counts": asdict(counts), "valid_counts": asdict(valid_counts)}


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


def _open(directory: Path, key: str, record: dict[str, Any], inputs: Inputs, spoken: Languages) -> Prepared:
    rows = (directory / "valid.jsonl").read_text(encoding="ascii").splitlines()
    valid = Corpus.open(directory / "valid")
    gold = inputs.valid_alignments
    return Prepared(
        key=key,
        languages=spoken,
        tokenizers=load_tokenizers(directory / "tokenizers"),
        train=Corpus.open(directory / "train"),
        train_links=None if inputs.alignments is None else WordLinks(directory),
        valid=valid,
        valid_pairs=[(source, target) for source, target in map(json.loads, rows)],
        valid_alignments=None if gold is None else [gold[line - 1] for line in valid.lines.tolist()],
        test_pairs=inputs.test_pairs,
        test_alignments=None if inputs.test_alignments is None else list(inputs.test_alignments),
        counts=Counts(**record["counts"]),
        valid_counts=Counts(**record["valid_counts"]),
        held_out=inputs.validation is None,
    )


def reported(items: Iterable[Item], doing: str, progress: Progress | None) -> Iterator[Item]:
    """The same items; `progress` hears of them now and then."""
    stream, count = iter(items), 0
    while some := list(islice(stream, REPORT_EVERY)):
        if progress is not None:
            progress(doing, count)
        yield from some
        count += len(some)
