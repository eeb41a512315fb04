"""Learns, saves and loads tokenisers of every kind.

A directory holds `tokenizer.json` (kind and settings) and `joint.spm`, or `source.spm` and `target.spm`, or the same names
with `.vocab.json`. Learning is deterministic: the same corpus and settings give the same bytes.
"""

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, get_args

from regard.errors import ConfigError, FileError, TextError
from regard.files import to_json, write_whole
from regard.foreign import parse_json, read_bytes, refuse_exhausted
from regard.settings import Record
from regard.text.byte_bpe import BYTE_BPE_SUFFIX, ByteBpeRecord, ByteBpeTokenizer
from regard.text.char import CharTokenizer, learn_char
from regard.text.config import LEARNED, Kind, OneTextConfig, TextConfig
from regard.text.imported import PIECES_SUFFIX, ImportedSentencePiece, VocabularyRecord
from regard.text.marked import MarksRecord, marked, marks_of
from regard.text.normalise import Form, normalise
from regard.text.reserved import MASK, is_reserved_name
from regard.text.subword import FIXED_PIECES, SMALLEST, SubwordTokenizer, learn_subword
from regard.text.tokenizer import Tokenizer
from regard.text.word import WordTokenizer, count_words, learn_word
from regard.text.wordpiece import WORDPIECE_SUFFIX, WordPieceRecord, WordPieceTokenizer

CONFIG_FILE = "tokenizer.json"
_FORMAT = 1
_SAMPLE_SEED = 20170612  # constant, so that preparing a corpus twice samples the same sentences
_LEARNED_CHARACTERS = 10_000  # characters of a line that are used for learning; bounds the memory of the sample

MODEL_BYTES = 256 << 20
"""The largest file of a tokeniser: that of a million pieces is a tenth of it."""

Item = TypeVar("Item")
Reader = Callable[[str, int], bytes]
"""(name of a file, the most bytes that it may have) -> its content."""


@dataclass(frozen=True)
class TokenizerPair:
    """The source and the target tokeniser; if `joint`, of one vocabulary, and the same object but for the marks around a text."""

    source: Tokenizer
    target: Tokenizer
    joint: bool


def learn(config: OneTextConfig, lines: Iterable[str]) -> Tokenizer:
    """A tokeniser learned from (a sample of) `lines`."""
    return _learned(config, sampled_lines(config, lines), "the corpus")


def learn_single(config: OneTextConfig, lines: Iterable[str]) -> TokenizerPair:
    """A joint pair of one tokeniser, learned from one language."""
    tokenizer = learn(config, lines)
    return TokenizerPair(tokenizer, tokenizer, joint=True)


def learn_pair(config: TextConfig, pairs: Callable[[], Iterable[tuple[str, str]]]) -> TokenizerPair:
    """The tokenisers of a parallel corpus, learned from a sample of `config.sample` pairs; the corpus is read once."""
    sources, targets = sampled_pairs(config, pairs())
    if config.joint:
        tokenizer = _learned(config, sources + targets, "the corpus")
        return TokenizerPair(tokenizer, tokenizer, joint=True)
    source = _learned(config, sources, "the source side of the corpus")
    return TokenizerPair(source, _learned(config, targets, "the target side of the corpus"), joint=False)


def sampled_lines(config: OneTextConfig, lines: Iterable[str]) -> list[str]:
    """The lines of a text that a tokeniser learns from."""
    return sample((line[:_LEARNED_CHARACTERS] for line in lines if line.strip()), config.sample)


def sampled_pairs(config: OneTextConfig, pairs: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """The lines of both sides of a parallel corpus that tokenisers learn from."""
    shortened = (
        (source[:_LEARNED_CHARACTERS], target[:_LEARNED_CHARACTERS])
        for source, target in pairs
        if source.strip() or target.strip()
    )
    kept = sample(shortened, config.sample)
    return [source for source, _ in kept], [target for _, target in kept]


def vocabulary_remarks(config: OneTextConfig, sizes: Iterable[int]) -> Iterator[str]:
    """Notes on learned vocabularies of another size than `vocabulary`. `sizes`: all ids, padding included."""
    counts_words = config.kind in ("word", "char")  # the marks, bytes and the space come on top of these
    unit = {"word": "words", "char": "characters"}.get(config.kind, "pieces")
    for size in dict.fromkeys(sizes):
        learned = size - (FIXED_PIECES + 2 if counts_words else 1)
        if learned > config.vocabulary:
            yield f"text.vocabulary = {config.vocabulary:,}: {config.kind} needs at least {SMALLEST:,} {unit}, so it has {learned:,}"
        elif learned < config.vocabulary:
            yield f"text.vocabulary = {config.vocabulary:,}: the text gives no more than {learned:,} {unit}"


def sample(items: Iterable[Item], size: int) -> list[Item]:
    """A uniform random sample of `size` items, the same every time; all items in order if there are no more."""
    stream = iter(items)
    kept = list(islice(stream, size))
    generator = random.Random(_SAMPLE_SEED)
    for seen, item in enumerate(stream, start=size + 1):
        place = int(generator.random() * seen)  # Vitter's algorithm R
        if place < size:
            kept[place] = item
    return kept


def save_tokenizers(pair: TokenizerPair, directory: Path) -> None:
    """Write the files of both tokenisers into `directory`."""
    for name, tokenizer in _named(pair).items():
        for suffix, content in tokenizer.files().items():
            write_whole(directory / f"{name}{suffix}", content)
    kind, form, lowercase = pair.source.kind, pair.source.form, pair.source.lowercase
    settings: dict[str, Any] = {
        "format": _FORMAT,
        "kind": kind,
        "joint": pair.joint,
        "form": form,
        "lowercase": lowercase,
    }
    marks, reserved = _marks(pair), _reserved(pair.source)
    optional = {"marks": marks, "reserved": list(reserved)}
    write_whole(directory / CONFIG_FILE, to_json(settings | {name: value for name, value in optional.items() if value}))


def tokenizers_fingerprint(pair: TokenizerPair | None) -> dict[str, str]:
    """The part of a cache key that identifies given tokenisers; empty where a text learns its own."""
    if pair is None:
        return {}
    digest = hashlib.sha256()
    for name, tokenizer in _named(pair).items():
        settings = [name, tokenizer.kind, tokenizer.form, tokenizer.lowercase]
        for part in (json.dumps(settings).encode(), *tokenizer.files().values()):
            digest.update(hashlib.sha256(part).digest())
    if reserved := _reserved(pair.source):
        digest.update(json.dumps(reserved).encode())
    marks = _marks(pair)
    if marks:
        digest.update(json.dumps(marks).encode())
    return {"tokenizers": digest.hexdigest()}


def load_tokenizers(directory: Path, read: Reader | None = None) -> TokenizerPair:
    """The pair that was saved in `directory`; a `TextError` names the file that is missing or damaged.

    read: reads the files of `directory`, for a caller that checks them.
    """
    files = _Files(directory, read or (lambda name, limit: _content(directory, name, limit)))
    settings = _settings(files)
    joint = settings["joint"]
    source = _loaded(files, "joint" if joint else "source", settings)
    target = source if joint else _loaded(files, "target", settings)
    try:
        source_marks, target_marks = (MarksRecord.parse(settings[side], side) for side in ("source", "target"))
        marked_source = marked(source, source_marks)
        same = source is target and source_marks == target_marks
        return TokenizerPair(marked_source, marked_source if same else marked(target, target_marks), joint=joint)
    except (TextError, ConfigError) as error:
        raise TextError(f"{directory / CONFIG_FILE}: marks: {error}; {_ADVICE}") from None


def read_tokenizer_settings(directory: Path, read: Reader) -> dict[str, Any]:
    """The content of `tokenizer.json`: the kind of the tokenisers and their settings."""
    return _settings(_Files(directory, read))


def _marks(pair: TokenizerPair) -> dict[str, Any]:
    """The pieces around the texts of each side, for `tokenizer.json`; empty for most."""
    sides = {side: marks_of(tokenizer) for side, tokenizer in (("source", pair.source), ("target", pair.target))}
    return {side: marks.model_dump(mode="json") for side, marks in sides.items() if marks != MarksRecord()}


def _reserved(tokenizer: Tokenizer) -> tuple[str, ...]:
    """The reserved pieces of a learned tokeniser, for `tokenizer.json`. An imported one has them in its own record."""
    return tuple(tokenizer.vocabulary.reserved.names) if tokenizer.kind in LEARNED else ()


def _named(pair: TokenizerPair) -> dict[str, Tokenizer]:
    return {"joint": pair.source} if pair.joint else {"source": pair.source, "target": pair.target}


def _require_room(config: OneTextConfig) -> None:
    """Refuse a vocabulary that the reserved pieces fill."""
    reserved = len(config.reserved.names)
    least = (1 if config.kind in ("word", "char") else SMALLEST) + reserved
    if reserved and config.vocabulary < least:
        raise TextError(
            f"text.vocabulary = {config.vocabulary:,}: text.reserved takes {reserved:,} pieces, and {config.kind} needs at least "
            f"{least - reserved:,} beside them; set text.vocabulary to {least:,} or more, or reserve fewer"
        )


def _learned(config: OneTextConfig, lines: Sequence[str], where: str) -> Tokenizer:
    words = count_words(lines, config.form, config.lowercase)
    if not words:
        raise TextError(f"{where} has no text to learn a tokeniser from; give it at least one line that is not blank")
    _require_room(config)
    if config.kind not in LEARNED:
        raise TextError(
            f"text.kind = {config.kind!r} comes with a model that `regard import` made, and is not learned; "
            f"set train.start to such a model, or choose one of {', '.join(LEARNED)}"
        )
    if config.kind == "word":
        return learn_word(config, words)
    if config.kind == "char":
        return learn_char(config, words)
    return learn_subword(config, words, (normalise(line, config.form, config.lowercase) for line in lines))


_ADVICE = "the file is damaged or of another version: copy the directory again, or train again"


@dataclass(frozen=True)
class _Files:
    """The files of the tokenisers in a directory."""

    directory: Path
    read: Reader

    def json(self, name: str) -> Any:
        where = self.directory / name
        try:
            return parse_json(self.read(name, MODEL_BYTES).decode("utf-8"), where, limit=MODEL_BYTES)
        except UnicodeDecodeError as error:
            raise TextError(f"{where}: not valid JSON ({error}); {_ADVICE}") from None
        except FileError as error:
            raise TextError(f"{error}; {_ADVICE}") from None

    def strings(self, name: str) -> list[str]:
        items = self.json(name)
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise TextError(f"{self.directory / name}: not a JSON list of strings; {_ADVICE}")
        return items


def _settings(files: _Files) -> dict[str, Any]:
    path, settings = files.directory / CONFIG_FILE, files.json(CONFIG_FILE)
    expected = {"format": (_FORMAT,), "kind": get_args(Kind), "form": get_args(Form)}
    expected |= {"joint": (True, False), "lowercase": (True, False)}
    if not isinstance(settings, dict):
        raise TextError(f"{path}: not a JSON object; {_ADVICE}")
    for key, values in expected.items():
        if settings.get(key) not in values:
            choice = ", ".join(json.dumps(value) for value in values)
            raise TextError(f"{path}: {key} = {json.dumps(settings.get(key))} is not one of {choice}; {_ADVICE}")
    marks = settings.get("marks", {})
    if not isinstance(marks, dict) or not marks.keys() <= {"source", "target"}:
        raise TextError(f"{path}: marks = {json.dumps(marks)} is not the marks of source and target; {_ADVICE}")
    reserved = settings.get("reserved", [])
    if not isinstance(reserved, list) or not all(isinstance(name, str) and is_reserved_name(name) for name in reserved):
        raise TextError(f"{path}: reserved = {json.dumps(reserved)} is not a list of names such as {MASK}; {_ADVICE}")
    sides = {side: marks.get(side, {}) for side in ("source", "target")}
    return {**{key: settings[key] for key in expected}, **sides, "reserved": tuple(reserved)}


def _loaded(files: _Files, name: str, settings: dict[str, Any]) -> Tokenizer:
    kind, form, lowercase, reserved = (settings[key] for key in ("kind", "form", "lowercase", "reserved"))
    if kind in _IMPORTED:
        return _imported(files, name, kind)
    listed = kind in ("word", "char")
    file = f"{name}{'.vocab.json' if listed else '.spm'}"
    content: Any = files.strings(file) if listed else files.read(file, MODEL_BYTES)
    try:
        if kind == "word":
            return WordTokenizer(content, form, lowercase, reserved)
        if kind == "char":
            return CharTokenizer(content, form, lowercase, reserved)
        return SubwordTokenizer(content, kind, form, lowercase, reserved)
    except TextError as error:
        raise TextError(f"{files.directory / file}: {error}; {_ADVICE}") from None


_IMPORTED: dict[str, tuple[str, type[Record]]] = {
    "sentencepiece": (PIECES_SUFFIX, VocabularyRecord),
    "byte_bpe": (BYTE_BPE_SUFFIX, ByteBpeRecord),
    "wordpiece": (WORDPIECE_SUFFIX, WordPieceRecord),
}
"""Kind of an imported tokeniser -> the suffix of its record, and the class of that."""


def _imported(files: _Files, name: str, kind: str) -> Tokenizer:
    suffix, form = _IMPORTED[kind]
    file = f"{name}{suffix}"
    try:
        record = form.parse(files.json(file), str(files.directory / file))
        if isinstance(record, ByteBpeRecord):
            return ByteBpeTokenizer(record)
        if isinstance(record, WordPieceRecord):
            return WordPieceTokenizer(record)
        assert isinstance(record, VocabularyRecord)
        return ImportedSentencePiece(files.read(f"{name}.spm", MODEL_BYTES), record)
    except (TextError, ConfigError) as error:
        raise TextError(f"{files.directory / name}: {error}; {_ADVICE}") from None


def _content(directory: Path, name: str, limit: int) -> bytes:
    path = directory / name
    try:
        return read_bytes(path, limit, root=directory)
    except FileError as error:
        raise TextError(str(error)) from None
    except OSError as error:
        refuse_exhausted(path, error)
        raise TextError(
            f"{path}: cannot be read ({error.strerror}); it belongs to the tokeniser of the model"
        ) from None
