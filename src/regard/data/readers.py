"""Reads text files as lines, and parallel files as pairs: two text files, TSV, JSONL or TMX, also .gz or standard input.

Only "\\n" ends a line, so that line numbers are those of `wc`, and both sides of a pair stay parallel whatever Unicode
separators a sentence holds. A file that cannot be read is a `DataError` with file and line. Nothing is normalised or
tokenised here.
"""

import gzip
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from itertools import chain, zip_longest
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar, cast

from regard.data.config import LANGUAGE_SETTINGS, STDIN, find_language
from regard.data.encoding_guess import NUL_SHARE, guess_encoding
from regard.data.tmx import tmx_pairs
from regard.errors import ConfigError, DataError

Pair = tuple[str, str]
Left = TypeVar("Left")
Right = TypeVar("Right")
LanguagePair = tuple[str | None, str | None]
PairFormat = Literal["tsv", "jsonl", "tmx"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FORMATS: dict[str, PairFormat] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "tsv",
    "": "tsv",  # standard input, /dev/fd/63
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".tmx": "tmx",
}
_BLOCK = 1 << 20  # bytes read at once
_LINE_BREAKS = re.compile(r"[\r\n]+")


def display_name(path: str | Path) -> str:
    """The name of a path in messages: "stdin" for `-`."""
    return "stdin" if str(path) == STDIN else str(path)


def read_pairs(
    source: str | Path | None = None,
    target: str | Path | None = None,
    pairs: str | Path | None = None,
    languages: LanguagePair = (None, None),
) -> Iterator[Pair]:
    """The pairs of `source` and `target`, or of the one file `pairs`, in order. Pair n is line (or TMX unit) n."""
    if pairs is None:
        assert source is not None, "read_pairs needs source and target, or pairs"
        assert target is not None, "read_pairs needs source and target, or pairs"
        return _moses(source, target)
    kind = pair_format(pairs)
    if kind == "tmx":
        return _tmx(pairs, languages)
    if kind == "jsonl":
        return (parse_jsonl(line, pairs, number, languages) for number, line in enumerate(read_lines(pairs), 1))
    return (parse_tsv(line, pairs, number) for number, line in enumerate(read_lines(pairs), 1))


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a UTF-8 file without their "\\n"; a byte-order mark at the start is dropped."""
    number = 1
    for block in _blocks(path):
        # UTF-16 of ASCII text is UTF-8 too, with a NUL after each letter. A few bytes tell nothing.
        if block.count(0) > max(3, NUL_SHARE * len(block)):
            raise DataError(
                f"{display_name(path)}:{number}: {block.count(0)} of {len(block)} bytes are NUL, as in UTF-16; "
                f"convert the file (iconv -f {guess_encoding(block)} -t UTF-8)"
            )
        try:
            lines: Iterable[str] = block.decode("utf-8").split("\n")
        except UnicodeDecodeError:
            lines = (decode_line(raw, path, place, block) for place, raw in enumerate(block.split(b"\n"), number))
        yield from lines
        number += block.count(b"\n") + 1


def read_parallel(paths: Sequence[str | Path], relation: str = "translate") -> list[list[str]]:
    """The lines of each file. All must have equally many. `relation`: what line n of one does to line n of another."""
    if [str(path) for path in paths].count(STDIN) > 1:
        others = "one of the two sides as a file" if len(paths) == 2 else "all but one as files"
        raise ConfigError(f"standard input '-' can be read only once; give {others}")
    rows = list(zip_longest(*map(read_lines, paths)))  # in step, so that pipes from one process do not block
    columns = [[row[place] for row in rows if row[place] is not None] for place in range(len(paths))]
    for path, lines in zip(paths, columns, strict=True):
        if len(lines) != len(columns[0]):
            raise DataError(_unequal(paths[0], path, relation)(len(columns[0]), len(lines)))
    return [[line.removesuffix("\r") for line in lines] for lines in columns]


def read_raw(path: str | Path) -> Iterator[bytes]:
    """The lines as bytes, for callers that accept lines that are not UTF-8."""
    for block in _blocks(path):
        yield from block.split(b"\n")


def _blocks(path: str | Path) -> Iterator[bytes]:
    """Blocks of whole lines, without byte-order mark and without the last "\\n" of each block."""
    with open_bytes(path) as file:
        reader = cast(BufferedIOBase, file)  # `read1` does not wait for a full block: a person may be typing
        start = reader.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK)
        unfinished: list[bytes] = []  # parts of a line whose end is not read yet
        for block in chain([start], iter(lambda: reader.read1(_BLOCK), b"")):
            lines, newline, rest = block.rpartition(b"\n")
            if newline:
                yield b"".join([*unfinished, lines])
                unfinished = []
            unfinished.append(rest)
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
        encoding = guess_encoding(raw if block is None else _not_utf8(block))
        raise DataError(
            f"{display_name(path)}:{number}: not UTF-8 (byte 0x{raw[error.start]:02x} at column {column}); convert the file "
            f"(iconv -f {encoding} -t UTF-8, a guess from its bytes) or mend the lines that `regard data check` lists"
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


def pair_format(path: str | Path) -> PairFormat:
    """The format of a file that holds both sides, by its suffix."""
    suffix = Path(str(path).removesuffix(".gz")).suffix.lower()
    if suffix not in _FORMATS:
        raise DataError(
            f"{display_name(path)}: pairs are read from .tsv, .jsonl and .tmx (also .gz), not from {suffix!r}; "
            "convert the file, or give two text files as src and tgt"
        )
    return _FORMATS[suffix]


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
    """The pair of `{"translation": {"en": .., "de": ..}}` or `{"source": .., "target": ..}`."""
    where = f"{display_name(path)}:{number}"
    if not line.strip():
        return "", ""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON ({_one_line(str(error))}); each line must be one object") from None
    if not isinstance(value, dict):
        raise DataError(f"{where}: not a JSON object; expected {{'source': .., 'target': ..}} on each line")
    if isinstance(value.get("translation"), dict):
        texts = value["translation"]
        keys = tuple(_translation_key(texts, language, where) for language in languages)
    else:
        texts, keys = value, ("source", "target")
    pair = []
    for key in keys:
        text = texts.get(key)
        if not isinstance(text, str):
            raise DataError(f"{where}: no text under {key!r}; expected {{'source': .., 'target': ..}} or 'translation'")
        pair.append(_LINE_BREAKS.sub(" ", text))
    return pair[0], pair[1]


def _translation_key(texts: dict[str, object], language: str | None, where: str) -> str:
    available = ", ".join(texts)
    if language is None:
        raise DataError(f"{where}: languages {available}; say which is which with {LANGUAGE_SETTINGS}")
    key = find_language(language, texts)
    if key is None:
        raise DataError(f"{where}: no text in {language!r}, only in {available}; set {LANGUAGE_SETTINGS}")
    return key


def zip_equal(
    left_items: Iterator[Left], right_items: Iterator[Right], unequal: Callable[[int, int], str]
) -> Iterator[tuple[Left, Right]]:
    """`zip` that refuses unequal lengths; `unequal` makes the error message from both lengths."""
    for number, (left, right) in enumerate(zip_longest(left_items, right_items), 1):
        if left is None or right is None:
            longer = number + sum(1 for _ in (right_items if left is None else left_items))
            raise DataError(unequal(number - 1, longer) if left is None else unequal(longer, number - 1))
        yield left, right


def _moses(source: str | Path, target: str | Path) -> Iterator[Pair]:
    for left, right in zip_equal(read_lines(source), read_lines(target), _unequal(source, target)):
        # The "\r" of a Windows line end is not part of the sentence.
        yield left.removesuffix("\r"), right.removesuffix("\r")


def _unequal(left: str | Path, right: str | Path, relation: str = "translate") -> Callable[[int, int], str]:
    """The error message of two files with unequal numbers of lines."""

    def message(left_lines: int, right_lines: int) -> str:
        counts = f"{display_name(left)} has {left_lines} lines but {display_name(right)} has {right_lines}"
        return f"{counts}; line n of one must {relation} line n of the other"

    return message


def _tmx(path: str | Path, languages: LanguagePair) -> Iterator[Pair]:
    source, target = languages
    with open_bytes(path) as file:
        if source is None or target is None:
            raise DataError(f"{display_name(path)}: a TMX file holds many languages; set {LANGUAGE_SETTINGS}")
        for left, right in tmx_pairs(file, display_name(path), source, target):
            yield _LINE_BREAKS.sub(" ", left), _LINE_BREAKS.sub(" ", right)


@contextmanager
def open_bytes(path: str | Path) -> Iterator[BinaryIO]:
    """A file or standard input, opened for reading bytes; .gz is unpacked. An `OSError` becomes a `DataError`."""
    name = display_name(path)
    try:
        if str(path) == STDIN:
            if sys.stdin is None:
                raise DataError("stdin: closed; open it, or give a file in place of '-'")
            yield sys.stdin.buffer
        elif str(path).endswith(".gz"):
            with gzip.open(path, "rb") as packed:
                yield cast(BinaryIO, packed)
        else:
            with Path(path).open("rb") as file:
                yield file
    except FileNotFoundError:
        raise DataError(f"{name}: no such file; check the path") from None
    except IsADirectoryError:
        raise DataError(f"{name}: a directory; give a text file") from None
    except PermissionError:
        raise DataError(f"{name}: not permitted to read; change its permissions or copy it") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{name}: damaged gzip file ({_one_line(str(error))}); copy it again") from None
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}; check the path") from None


def _one_line(message: str) -> str:
    return " ".join(message.split())
