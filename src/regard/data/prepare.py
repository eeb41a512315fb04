"""Prepares a parallel corpus: learns the tokenisers, holds out validation pairs, encodes, and caches the result.

    cache/<key>/tokenizers/  train/  valid/  valid.jsonl  prepared.json, and links if alignments are given

The key is a SHA-256 of the input files and of the settings that alter the encoding. It knows no model.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from regard.data.alignments import FILES as LINK_FILES
from regard.data.alignments import WordLinks, links_of_stable_words, write_links
from regard.data.config import PairData, languages
from regard.data.corpus import FILES as CORPUS_FILES
from regard.data.corpus import FORMAT as CORPUS_FORMAT
from regard.data.corpus import Corpus, Counts, damaged_file, write_numbered
from regard.data.corpus_config import Direction, direction_name
from regard.data.directed_inputs import TrainingCorpus, with_languages
from regard.data.directed_splits import DirectedValidation, given_validation, held_out_validation
from regard.data.encoding import NumberedPair
from regard.data.entries import cached_entry, files_of_parts, seekable_inputs
from regard.data.formats import LanguagePair
from regard.data.holdout import FRACTION, MOST, hold_out, is_usable
from regard.data.inputs import DIRECTED_ROLES, INPUT_ROLES, Inputs, open_inputs
from regard.data.mixing import CorpusPart, corpus_parts
from regard.data.placeholders import PairPlaceholders
from regard.data.readers import Pair
from regard.data.replay import replayed
from regard.errors import DataError
from regard.metrics.alignment import Links
from regard.text.build import TokenizerPair, learn_pair, load_tokenizers, save_tokenizers, tokenizers_fingerprint
from regard.text.config import TextConfig
from regard.text.growing import tokenizers_of_pairs

FORMAT = 1  # raise it when the layout of an entry or the output of the tokenisers changes
REPORT_EVERY = 20_000  # pairs

PreparationListener = Callable[[str, int], None]  # (what is being done, pairs so far)
Item = TypeVar("Item")


@dataclass(frozen=True)
class Prepared:
    """A corpus that is ready to train on."""

    key: str
    languages: LanguagePair
    tokenizers: TokenizerPair
    train: Corpus
    parts: tuple[CorpusPart, ...]  # of `train`, one for each training corpus
    train_links: WordLinks | None  # of every line of the training text, if alignments are given
    valid: Corpus
    valid_pairs: list[Pair]  # the text of each example of `valid`
    valid_alignments: list[Links] | None  # gold word alignments, if the corpus has them
    test_pairs: list[Pair] | None  # every line of the test files
    test_alignments: list[Links] | None
    counts: Counts  # of the training text, held-out pairs included
    valid_counts: Counts
    held_out: bool  # whether the validation pairs were taken from the training text
    valid_directions: list[Direction] | None = None  # of each of `valid_pairs`, where there are several
    test_directions: list[Direction] | None = None  # of each of `test_pairs`


def prepare(
    data: PairData,
    text: TextConfig,
    cache: Path,
    progress: PreparationListener | None = None,
    base_tokenizers: TokenizerPair | None = None,
) -> Prepared:
    """Encode the corpus of `data`, or reuse its entry in `cache`. Learns tokenisers unless `base_tokenizers` are given."""
    named = with_languages(data, languages(data))  # before standard input is copied: file names may tell the languages
    with _seekable(named, cache) as files:
        inputs = open_inputs(files)
        key = _key(files, text, inputs, base_tokenizers)
        links = () if inputs.alignments is None else LINK_FILES
        return cached_entry(
            cache,
            key,
            required=("valid.jsonl", *links, *files_of_parts(("train", "valid"), CORPUS_FILES)),
            build=lambda staging: _build(staging, inputs, files, text, progress, base_tokenizers),
            opened=lambda directory, record: _open(directory, key, record, inputs, files),
        )


@contextmanager
def _seekable(data: PairData, cache: Path) -> Iterator[PairData]:
    """`seekable_inputs` for the files of `data` and of each of its corpora."""
    with ExitStack() as stack:
        files = stack.enter_context(seekable_inputs(data, INPUT_ROLES, cache))
        rows = [stack.enter_context(seekable_inputs(row, DIRECTED_ROLES, cache)) for row in data.corpora]
        yield files.model_copy(update={"corpora": tuple(rows)})


def _key(data: PairData, text: TextConfig, inputs: Inputs, base_tokenizers: TokenizerPair | None) -> str:
    in_one_file = data.valid_pairs or any(row.pairs for row in data.training_corpora)
    key_parts = {
        "format": [FORMAT, CORPUS_FORMAT],
        "inputs": inputs.fingerprint,
        "text": text.key("dropout"),  # dropout acts on batches, not on the encoding
        "max_length": data.max_length,
        "seed": data.seed if inputs.validation is None else None,
        "hold_out": [FRACTION, MOST] if inputs.validation is None else None,
        "languages": languages(data) if in_one_file else None,  # choose the sides of .tmx and .jsonl
        **tokenizers_fingerprint(base_tokenizers),
        **({} if data.placeholders is None else {"placeholders": data.placeholders.model_dump(mode="json")}),
        **({"directed": [asdict(part) for part in data.directed]} if inputs.several else {}),
        **({} if (old := data.replay_directed) is None else {"replay": asdict(old)}),
    }
    return hashlib.sha256(json.dumps(key_parts, sort_keys=True).encode()).hexdigest()[:32]


def _build(
    staging: Path,
    inputs: Inputs,
    data: PairData,
    text: TextConfig,
    progress: PreparationListener | None,
    base_tokenizers: TokenizerPair | None,
) -> dict[str, Any]:
    """Fill an entry of the cache. The tokenisers learn from training pairs only."""
    if inputs.alignments is not None:
        alignments = with_progress(inputs.alignments(), "reading alignments", progress)
        write_links(staging, links_of_stable_words(alignments, inputs.training(), text))
    validation: list[NumberedPair]
    directed: DirectedValidation | None = None
    if inputs.several:
        if inputs.valid_corpora:
            directed = given_validation(inputs.valid_corpora)
        else:
            new = [corpus for corpus in inputs.corpora if corpus.share is None]
            directed = held_out_validation(new, data.max_length, data.seed)
        validation = directed.pairs
        training = _Training(inputs.corpora, directed.held)
    elif inputs.validation is not None:
        validation = list(enumerate(inputs.validation(), 1))
        if not validation:
            raise DataError(f"{inputs.valid_name}: no sentence pairs in it; give a file that has some")
        training = _Training(inputs.corpora, ())
    else:
        held = hold_out(with_progress(inputs.new(), "reading", progress), data.max_length, data.seed)
        if held.usable == 1:
            raise DataError(
                f"{inputs.name}: only one usable sentence pair, and one must be held out; "
                "add pairs, or give data.valid_src and data.valid_tgt"
            )
        validation = list(held.pairs)
        training = _Training(inputs.corpora, validation)
    _require_pairs(training, inputs, data.max_length)

    def pairs() -> Iterator[tuple[str, str]]:
        read = training.numbered(replayed=base_tokenizers is None)  # a vocabulary grows by what is new
        return (pair for _, pair in with_progress(read, "learning the vocabulary", progress))

    tokenizers = tokenizers_of_pairs(base_tokenizers, text, pairs) if base_tokenizers else learn_pair(text, pairs)
    placeholders = None if data.placeholders is None else PairPlaceholders(data.placeholders, tokenizers)
    save_tokenizers(tokenizers, staging / "tokenizers")
    valid_counts = write_numbered(staging / "valid", validation, tokenizers, data.max_length)
    _require_kept(valid_counts, inputs.valid_name, data.max_length)
    written = write_numbered(
        staging / "train",
        with_progress(training.numbered(), "encoding", progress),
        tokenizers,
        data.max_length,
        placeholders=placeholders,
    )
    _require_kept(written, inputs.name, data.max_length)
    _require_each(_parts(staging, inputs, training.lines), data.max_length)
    valid = Corpus.open(staging / "valid")
    if directed is not None:
        _valid_directions(directed.lines, valid, inputs.valid_name, data.max_length)
    kept = set(valid.lines.tolist())
    rows = [json.dumps(pair) + "\n" for line, pair in validation if line in kept]
    (staging / "valid.jsonl").write_text("".join(rows), encoding="ascii")
    counts = replace(
        written,
        read=written.read + training.held_out + training.duplicates,
        held_out=training.held_out,
        duplicates_of_validation=training.duplicates,
    )
    lines: dict[str, Any] = {"corpora_lines": training.lines} if len(inputs.corpora) > 1 else {}
    if directed is not None:
        lines["valid_lines"] = directed.lines
    return {"format": FORMAT, "counts": asdict(counts), "valid_counts": asdict(valid_counts), **lines}


def _parts(directory: Path, inputs: Inputs, lines: Sequence[int]) -> tuple[CorpusPart, ...]:
    """The parts of an entry's training corpus; `lines`: the number of lines of each training corpus."""
    names, weights = [corpus.name for corpus in inputs.corpora], [corpus.weight for corpus in inputs.corpora]
    parts = corpus_parts(names, weights, lines, Corpus.open(directory / "train").lines)
    directions = [corpus.direction for corpus in inputs.corpora]
    parts = tuple(replace(part, direction=direction) for part, direction in zip(parts, directions, strict=True))
    share = inputs.corpora[-1].share
    return parts if share is None else replayed(parts, share)


class _Training:
    """The pairs of all training corpora without the held-out pairs and their exact copies; counts both, and all lines."""

    def __init__(self, corpora: Sequence[TrainingCorpus], held: Iterable[NumberedPair]) -> None:
        self.corpora = corpora
        self.lines: list[int] = []  # of each corpus
        self.held_lines = frozenset(line for line, _ in held)
        self.held_texts = frozenset(pair for _, pair in held)
        self.held_out = self.duplicates = 0

    def numbered(self, *, replayed: bool = True) -> Iterator[NumberedPair]:
        """The pairs with their line numbers, which are counted through all corpora; on request without replayed ones, which are last."""
        self.held_out = self.duplicates = line = 0
        self.lines = []
        for corpus in self.corpora:
            if corpus.share is not None and not replayed:
                continue
            before = line
            for line, pair in enumerate(corpus.pairs(), before + 1):
                if line in self.held_lines:
                    self.held_out += 1
                elif pair in self.held_texts:
                    self.duplicates += 1
                else:
                    yield line, pair
            self.lines.append(line - before)


def _require_pairs(training: _Training, inputs: Inputs, max_length: int) -> None:
    """Refuse corpora without usable pairs, before tokenisers are learned."""
    if len(inputs.corpora) > 1:
        for corpus in inputs.corpora:
            _require_pairs(_Training([corpus], ()), replace(inputs, corpora=(corpus,)), max_length)
    name, lines = inputs.name, 0
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


def _require_each(parts: Sequence[CorpusPart], max_length: int) -> None:
    """Refuse a corpus of several that adds nothing: its weight would mean nothing."""
    for part in parts:
        if not part.examples:
            raise DataError(
                f"{part.name}: none of its {part.lines} lines is left to train on: they are empty, longer than "
                f"data.max_length = {max_length} tokens, or held out for validation; leave the corpus out, or mend it"
            )


def _open(directory: Path, key: str, record: dict[str, Any], inputs: Inputs, data: PairData) -> Prepared:
    rows = (directory / "valid.jsonl").read_text(encoding="ascii").splitlines()
    valid = Corpus.open(directory / "valid")
    if len(rows) != len(valid):
        raise damaged_file(directory / "valid.jsonl")
    gold = inputs.valid_alignments
    train, counts = Corpus.open(directory / "train"), Counts(**record["counts"])
    return Prepared(
        key=key,
        languages=languages(data),
        tokenizers=load_tokenizers(directory / "tokenizers"),
        train=train,
        parts=_parts(directory, inputs, record.get("corpora_lines", [counts.read])),
        train_links=None if inputs.alignments is None else WordLinks(directory),
        valid=valid,
        valid_pairs=[(source, target) for source, target in map(json.loads, rows)],
        valid_alignments=None if gold is None else [gold[line - 1] for line in valid.lines.tolist()],
        test_pairs=inputs.test_pairs,
        test_alignments=None if inputs.test_alignments is None else list(inputs.test_alignments),
        counts=counts,
        valid_counts=Counts(**record["valid_counts"]),
        held_out=inputs.validation is None,
        valid_directions=_valid_directions(record["valid_lines"], valid, inputs.valid_name, data.max_length)
        if inputs.several
        else None,
        test_directions=inputs.test_directions,
    )


def _valid_directions(
    lines: Iterable[tuple[Sequence[str], int]], valid: Corpus, name: str, max_length: int
) -> list[Direction]:
    """The direction of each validation example. One without any example is refused: it would vanish from the scores.

    lines: each direction and the number of its pairs.
    """
    of_lines = [(source, target) for (source, target), count in lines for _ in range(count)]
    found = [of_lines[line - 1] for line in valid.lines.tolist()]
    kept = set(found)
    missing = next((direction for direction in of_lines if direction not in kept), None)
    if missing is not None:
        raise DataError(
            f"{name}: none of the {of_lines.count(missing)} validation pairs from {direction_name(missing)} is left: they have an "
            f"empty side, or are longer than data.max_length = {max_length} tokens; raise it or give other text"
        )
    return found


def with_progress(items: Iterable[Item], doing: str, progress: PreparationListener | None) -> Iterator[Item]:
    """The same items; `progress` is called every `REPORT_EVERY` items."""
    stream, count = iter(items), 0
    while chunk := list(islice(stream, REPORT_EVERY)):
        if progress is not None:
            progress(doing, count)
        yield from chunk
        count += len(chunk)
