"""Reads text files as lines, and parallel files as pairs: two text files, TSV, JSONL or TMX, also .gz or standard input; parquet, zip.

Only "\\n" ends a line, so that line numbers are those of `wc`, and both sides of a pair stay parallel whatever Unicode
separators a sentence holds. A file that cannot be read is a `DataError` with file and line. Nothing is normalised or
tokenised here.
"""

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain, zip_longest
from pathlib import Path
from typing import TypeVar, assert_never

from regard.data.config import LANGUAGE_SETTINGS, STDIN, find_language
from regard.data.encoding_guess import encoding_advice, guess_encoding, is_utf16, packed_format
from regard.data.formats import LanguagePair, PairFormat, has_lines, language_keys, pair_format
from regard.data.opening import CHANGED, ENDLESS_LINE, REFUSED_LINE, Readable, open_input
from regard.data.opus import opus_sides
from regard.data.parquet import parquet_pairs
from regard.data.tmx import tmx_pairs
from regard.errors import ConfigError, DataError
from regard.files import sha256_of

Pair = tuple[str, str]
Left = TypeVar("Left")
Right = TypeVar("Right")
Item = TypeVar("Item")

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK = 1 << 20  # bytes read at once
_LINE_BREAKS = re.compile(r"[\r\n]+")
_SURROGATES = re.compile("[\ud800-\udfff]")
MOST_WHOLE = 1 << 30
"""The memory for the lines of a file that is held whole, about: characters, and `_A_LINE` for each line."""
_A_LINE = 64

Digests = Mapping[str, str]
"""Path of a file -> SHA-256 that its unpacked content must have."""
NO_DIGESTS: Digests = {}


def display_name(path: str | Path) -> str:
    """The name of a path in messages: "stdin" for `-`."""
    return "stdin" if str(path) == STDIN else str(path)


def read_pairs(
    source: str | Path | None = None,
    target: str | Path | None = None,
    pairs: str | Path | None = None,
    languages: LanguagePair = (None, None),
    digests: Digests = NO_DIGESTS,
) -> Iterator[Pair]:
    """The pairs of `source` and `target`, or of the one file `pairs`, in order. Pair n is line (or TMX unit, or row) n.

    Line breaks within a sentence, which only some formats have, are spaces.
    digests: a file that is listed and has other content is refused when its end is read.
    """
    found = stored_pairs(source, target, pairs, languages, digests)
    if pairs is None or pair_format(pairs) == "tsv":
        return found
    return (without_breaks(pair) for pair in found)


def stored_pairs(
    source: str | Path | None = None,
    target: str | Path | None = None,
    pairs: str | Path | None = None,
    languages: LanguagePair = (None, None),
    digests: Digests = NO_DIGESTS,
    form: PairFormat | None = None,
) -> Iterator[Pair]:
    """The pairs as they are stored, with their line breaks; see `read_pairs`. form: the format of `pairs`, if its name does not tell it."""
    if pairs is None:
        assert source is not None, "read_pairs needs source and target, or pairs"
        assert target is not None, "read_pairs needs source and target, or pairs"
        return _moses(source, target, digests)
    kind, digest = form or pair_format(pairs), digests.get(str(pairs))
    if kind == "tmx":
        return _tmx(pairs, languages, digest)
    if kind == "jsonl":
        return _jsonl(pairs, languages, digest)
    if kind == "tsv":
        return (parse_tsv(line, pairs, number) for number, line in enumerate(read_lines(pairs, digest), 1))
    if kind == "parquet":
        return unchanged(parquet_pairs(pairs, languages), pairs, digest)
    if kind == "zip":
        return unchanged(_opus(pairs, languages), pairs, digest)
    assert_never(kind)


def without_breaks(pair: Pair) -> Pair:
    """The pair with a space for line breaks."""
    return _LINE_BREAKS.sub(" ", pair[0]), _LINE_BREAKS.sub(" ", pair[1])


def read_lines(path: str | Path, digest: str | None = None) -> Iterator[str]:
    """The lines of a UTF-8 file without their "\\n"; a byte-order mark at the start is dropped.

    digest: the SHA-256 that the file must have; other content is refused when its end is read.
    """
    with open_bytes(path, digest, REFUSED_LINE) as file:
        yield from _lines(file, display_name(path))


def _lines(file: Readable, name: str) -> Iterator[str]:
    """The lines of a stream."""
    number = 1
    for block in _blocks_of(file, name):
        if is_utf16(block.count(0), len(block)):
            raise DataError(
                f"{name}:{number}: {block.count(0)} of {len(block)} bytes are NUL, as in UTF-16; "
                f"convert the file (iconv -f {guess_encoding(block)} -t UTF-8)"
            )
        try:
            lines: Iterable[str] = block.decode("utf-8").split("\n")
        except UnicodeDecodeError:
            lines = (decode_line(raw, name, place, block) for place, raw in enumerate(block.split(b"\n"), number))
        yield from lines
        number += block.count(b"\n") + 1


def read_parallel(paths: Sequence[str | Path], relation: str = "translate") -> list[list[str]]:
    """The lines of each file. All must have equally many. `relation`: what line n of one does to line n of another."""
    if [str(path) for path in paths].count(STDIN) > 1:
        others = "one of the two sides as a file" if len(paths) == 2 else "all but one as files"
        raise ConfigError(f"standard input '-' can be read only once; give {others}")
    rows = list(zip_longest(*map(_bounded, paths)))  # in step, so that pipes from one process do not block
    columns = [[row[place] for row in rows if row[place] is not None] for place in range(len(paths))]
    for path, lines in zip(paths, columns, strict=True):
        if len(lines) != len(columns[0]):
            raise DataError(_unequal(paths[0], path, relation)(len(columns[0]), len(lines)))
    return [[line.removesuffix("\r") for line in lines] for lines in columns]


def read_all(path: str | Path, most: int = MOST_WHOLE) -> list[str]:
    """All lines of a file, for callers that hold them in memory. More than `most` is refused."""
    return list(_bounded(path, most))


def _bounded(path: str | Path, most: int = MOST_WHOLE) -> Iterator[str]:
    size = 0
    for number, line in enumerate(read_lines(path), 1):
        size += len(line) + _A_LINE
        if size > most:
            raise DataError(
                f"{display_name(path)}:{number}: up to here about {most:,} bytes of memory, and all of the text would be "
                "held at once; split the file"
            )
        yield line


def read_raw(path: str | Path) -> Iterator[bytes]:
    """The lines as bytes, for callers that accept lines that are not UTF-8."""
    for block in _blocks(path):
        yield from block.split(b"\n")


def read_cut(path: str | Path, longest: int) -> Iterator[tuple[bytes, bool]]:
    """The lines as bytes, each with whether it was longer than `longest` bytes and was cut there, before a whole character."""
    for block in _blocks(path, longest=longest):
        for line in block.split(b"\n"):
            yield (line, False) if len(line) <= longest else (_whole_characters(line[:longest]), True)


def _whole_characters(raw: bytes) -> bytes:
    """Bytes of UTF-8 that were cut, without the last character if it has several bytes."""
    for back in range(1, min(4, len(raw)) + 1):
        if raw[-back] & 0xC0 != 0x80:  # the first byte of a character
            return raw[:-back] if raw[-back] >= 0xC0 else raw
    return raw


def _blocks(path: str | Path, longest: int | None = None) -> Iterator[bytes]:
    """The blocks of a file; see `_blocks_of`."""
    with open_bytes(path, longest_line=REFUSED_LINE if longest is None else ENDLESS_LINE) as file:
        yield from _blocks_of(file, display_name(path), longest)


def _blocks_of(file: Readable, name: str, longest: int | None = None) -> Iterator[bytes]:
    """Blocks of whole lines, without byte-order mark and without the last "\\n" of each block.

    longest: of a longer line a part that is longer, too, stands for it; so memory is bounded.
    """
    start = file.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK)
    unfinished: list[bytes] = []  # parts of a line whose end is not read yet
    size = 0
    # `read1` does not wait for a full block: a person may be typing.
    for place, block in enumerate(chain([start], iter(lambda: file.read1(_BLOCK), b""))):
        if place == 1 and (packed := packed_format(start + block)) is not None:
            raise DataError(f"{name}: {packed}")
        lines, newline, rest = block.rpartition(b"\n")
        if newline:
            yield b"".join([*unfinished, lines])
            unfinished, size = [], 0
        unfinished.append(rest)
        size += len(rest)
        if longest is not None and size > longest:
            unfinished, size = [b"".join(unfinished)[: longest + 1]], longest + 1
    if last := b"".join(unfinished):
        yield last


def decode_line(raw: bytes, path: str | Path, number: int, block: bytes | None = None) -> str:
    """The text of one line; a `DataError` names the first byte that is not UTF-8.

    block: the lines around it, by which the encoding is guessed.
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(raw[: error.start].decode("utf-8")) + 1
        advice = encoding_advice(raw if block is None else _not_utf8(block))
        raise DataError(
            f"{display_name(path)}:{number}: not UTF-8 (byte 0x{raw[error.start]:02x} at column {column}); {advice} "
            "or mend the lines that `regard data check` lists"
        ) from None


def _not_utf8(block: bytes) -> bytes:
    """The lines of a block that are not UTF-8."""
    lines = []
    for raw in block.split(b"\n"):
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError:
            lines.append(raw)
    return b"\n".join(lines)


def parse_tsv(line: str, path: str | Path, number: int) -> Pair:
    """The first two columns. An empty line is an empty pair, which is skipped later."""
    line = line.removesuffix("\r")
    if not line:
        return "", ""
    columns = line.split("\t", 2)
    if len(columns) < 2:
        raise DataError(f"{display_name(path)}:{number}: one column; each line must be source<TAB>target")
    return columns[0], columns[1]


def parse_jsonl(line: str, path: str | Path, number: int, languages: LanguagePair) -> Pair:
    """The pair of `{"translation": {"en": .., "de": ..}}`, `{"source": .., "target": ..}` or `{"en": .., "de": ..}`, as it is stored."""
    where = f"{display_name(path)}:{number}"
    if not line.strip():
        return "", ""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON ({_one_line(str(error))}); each line must be one object") from None
    if not isinstance(value, dict):
        raise DataError(f"{where}: not a JSON object; expected {{'source': .., 'target': ..}} on each line")
    texts, keys = value, ("source", "target")
    if isinstance(value.get("translation"), dict):
        texts = value["translation"]
        keys = language_keys(texts, languages, where)
    elif "source" not in value and "target" not in value and None not in languages:
        found = [find_language(language or "", value) for language in languages]
        keys = (found[0] or keys[0], found[1] or keys[1])
    pair = []
    for key in keys:
        text = texts.get(key)
        if not isinstance(text, str):
            raise DataError(f"{where}: no text under {key!r}; expected {{'source': .., 'target': ..}} or 'translation'")
        pair.append(text)
    return pair[0], pair[1]


def zip_equal(
    left_items: Iterator[Left], right_items: Iterator[Right], unequal: Callable[[int, int], str]
) -> Iterator[tuple[Left, Right]]:
    """`zip` that refuses unequal lengths; `unequal` makes the error message from both lengths."""
    for number, (left, right) in enumerate(zip_longest(left_items, right_items), 1):
        if left is None or right is None:
            longer = number + sum(1 for _ in (right_items if left is None else left_items))
            raise DataError(unequal(number - 1, longer) if left is None else unequal(longer, number - 1))
        yield left, right


def _moses(source: str | Path, target: str | Path, digests: Digests) -> Iterator[Pair]:
    left_lines, right_lines = (read_lines(path, digests.get(str(path))) for path in (source, target))
    for left, right in zip_equal(left_lines, right_lines, _unequal(source, target)):
        # The "\r" of a Windows line end is not part of the sentence.
        yield left.removesuffix("\r"), right.removesuffix("\r")


def _unequal(left: str | Path, right: str | Path, relation: str = "translate") -> Callable[[int, int], str]:
    """The error message of two files with unequal numbers of lines."""

    def message(left_lines: int, right_lines: int) -> str:
        counts = f"{display_name(left)} has {left_lines} lines but {display_name(right)} has {right_lines}"
        return f"{counts}; line n of one must {relation} line n of the other"

    return message


def _jsonl(path: str | Path, languages: LanguagePair, digest: str | None) -> Iterator[Pair]:
    told = False
    for number, line in enumerate(read_lines(path, digest), 1):
        pair = parse_jsonl(line, path, number, languages)
        sound = without_surrogates(pair)
        if sound != pair and not told:
            told = True
            warnings.warn(
                f"{display_name(path)}:{number}: half of a surrogate pair, which is no character; it is read as U+FFFD "
                "(told once a file; `regard data check` lists the lines)",
                stacklevel=1,  # one place, so that Python shows it once for all passes over the file
            )
        yield sound


def without_surrogates(pair: Pair) -> Pair:
    """The pair with U+FFFD for each half of a surrogate pair, which JSON can spell and UTF-8 cannot."""
    return _without_surrogates(pair[0]), _without_surrogates(pair[1])


def _without_surrogates(text: str) -> str:
    try:
        text.encode("utf-8")  # many times faster than a search, and nearly every text passes
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


def _tmx(path: str | Path, languages: LanguagePair, digest: str | None) -> Iterator[Pair]:
    source, target = languages
    with open_bytes(path, digest) as file:
        if source is None or target is None:
            raise DataError(f"{display_name(path)}: a TMX file holds many languages; set {LANGUAGE_SETTINGS}")
        yield from tmx_pairs(file, display_name(path), source, target)


def _opus(path: str | Path, languages: LanguagePair) -> Iterator[Pair]:
    with opus_sides(path, languages) as (left, right):
        left_lines, right_lines = (_lines(side.file, side.name) for side in (left, right))
        for source, target in zip_equal(left_lines, right_lines, _unequal(left.name, right.name)):
            yield source.removesuffix("\r"), target.removesuffix("\r")


def unchanged(pairs: Iterator[Item], path: str | Path, digest: str | None) -> Iterator[Item]:
    """The same pairs of a file whose SHA-256 is compared when its end is read."""
    yield from pairs
    if digest is not None and sha256_of(Path(path)) != digest:
        raise DataError(CHANGED.format(name=path))


def open_bytes(
    path: str | Path, digest: str | None = None, longest_line: int = REFUSED_LINE
) -> AbstractContextManager[Readable]:
    """A file or standard input, opened for reading bytes; .gz is unpacked. What cannot be read is a `DataError`.

    digest: the SHA-256 that the unpacked content must have. longest_line: a longer line is refused; not all formats have lines.
    """
    place = None if str(path) == STDIN else path
    return open_input(place, display_name(path), longest_line if has_lines(path) else None, digest)


def _one_line(message: str) -> str:
    return " ".join(message.split())
