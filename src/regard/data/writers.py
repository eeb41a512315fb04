"""Writes pairs to files in every format that `data.readers` reads. A file appears when it is complete; streams are written as they come.

What a format cannot hold is changed by a rule, and the sentences are counted:

| format | a sentence cannot hold | instead |
| --- | --- | --- |
| two text files, zip | line breaks | a space |
| TSV | line breaks, tabs | a space |
| both | NUL; U+FEFF at the beginning of the file | U+FFFD; nothing |
| TMX | characters that XML lacks, such as most control characters | U+FFFD |
| JSONL, parquet | - | - |
"""

import gzip
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import BinaryIO, Protocol, cast

from regard.data.config import STDIN
from regard.data.formats import FileFormat, LanguagePair, PairFiles
from regard.data.opus import pack_sides
from regard.data.parquet import ParquetWriter, require_pyarrow
from regard.data.tmx import TmxText
from regard.errors import ConfigError, DiskError
from regard.files import disk_errors, scratch_directory, whole_file

COMPRESSION = 6
_BREAKS = re.compile(r"[\r\n]+")
_BREAKS_AND_TABS = re.compile(r"[\r\n\t]+")
_NEEDS_LANGUAGES = ("tmx", "zip")


class PairWriter(Protocol):
    """Takes pairs in blocks."""

    altered: int
    """Sentences that the format cannot hold as they are."""

    def write(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Write a block of pairs."""
        ...


@contextmanager
def open_writer(files: PairFiles, languages: LanguagePair) -> Iterator[PairWriter]:
    """A writer of the pairs of new files. They appear at the end of the block, if it ends without an error."""
    check_output(files, languages)
    with ExitStack() as stack:
        if files.kind == "moses":
            complete = stack.enter_context(_both_or_none(files.paths))
            sides = [stack.enter_context(_new_file(path)) for path in files.paths]
            yield MosesText(sides[0], sides[1])
            complete.set()
        elif files.kind == "parquet":
            parquet = ParquetWriter(stack.enter_context(whole_file(Path(files.paths[0]))), languages)
            with disk_errors(Path(files.paths[0])):
                yield parquet
                parquet.close()
        elif files.kind == "zip":
            with _zipped(Path(files.paths[0]), languages) as zipped:
                yield zipped
        else:
            file = stack.enter_context(_new_file(files.paths[0]))
            if files.kind == "tsv":
                yield TsvText(file)
            elif files.kind == "jsonl":
                yield JsonlText(file, languages)
            else:
                assert languages[0] is not None
                assert languages[1] is not None
                tmx = TmxText(file, languages[0], languages[1])
                yield tmx
                tmx.close()


def check_languages(name: str, kind: FileFormat, languages: LanguagePair) -> None:
    """Refuse a format that cannot be written, or not with these languages. name: what is to be written."""
    if kind in _NEEDS_LANGUAGES and None in languages:
        raise ConfigError(f"{name}: {kind} names both languages; give --src-lang and --tgt-lang")
    if languages[0] is not None and languages[0] == languages[1] and kind != "moses" and kind != "tsv":
        raise ConfigError(
            f"{name}: both sides are {languages[0]!r}, and {kind} tells them apart by it; "
            "give another --src-lang or --tgt-lang"
        )
    if kind == "parquet":
        require_pyarrow(name)


def check_output(files: PairFiles, languages: LanguagePair) -> None:
    """Refuse what cannot be written, before anything is read."""
    check_languages(files.name, files.kind, languages)
    if len({os.path.realpath(path) for path in files.paths}) < len(files.paths):
        raise ConfigError(f"{files.name}: both sides in one file; give two names, or one that ends in .tsv")
    for path in files.paths:
        place = Path(path)
        is_stream = place.exists() and not place.is_file() and not place.is_dir()
        if (
            path != STDIN
            and (place.exists() or place.is_symlink())
            and not (is_stream and files.kind not in ("parquet", "zip"))
        ):
            raise DiskError(f"{place}: it is there already; choose another place, or delete it")


@contextmanager
def _both_or_none(paths: Sequence[str]) -> Iterator[Event]:
    """An event to set when both files are filled. If one of them then fails to get its name, the other one is removed."""
    new = [Path(path) for path in paths if path != STDIN and not Path(path).exists()]
    filled = Event()
    try:
        yield filled
    except BaseException:
        if filled.is_set():
            for path in new:
                path.unlink(missing_ok=True)
        raise


@contextmanager
def _new_file(path: str) -> Iterator[BinaryIO]:
    """A new file, or a stream, to write text to; .gz is packed."""
    with ExitStack() as stack:
        if path == STDIN:
            yield _standard_output()
            sys.stdout.flush()
            return
        stack.enter_context(disk_errors(Path(path)))
        place = Path(path) if Path(path).exists() else stack.enter_context(whole_file(Path(path)))
        file: BinaryIO = stack.enter_context(place.open("wb", buffering=1 << 20))
        if path.endswith(".gz"):
            packed = gzip.GzipFile(filename="", mode="wb", compresslevel=COMPRESSION, fileobj=file, mtime=0)
            file = cast(BinaryIO, stack.enter_context(packed))
        yield file


def _standard_output() -> BinaryIO:
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        raise DiskError("standard output is closed, or takes no bytes; give a file")
    return cast(BinaryIO, stream)


@contextmanager
def _zipped(path: Path, languages: LanguagePair) -> Iterator[PairWriter]:
    """A writer of two text files that are put into a zip file at the end."""
    source, target = languages
    assert source is not None
    assert target is not None
    with scratch_directory(path) as scratch, disk_errors(path):
        sides = scratch / "source", scratch / "target"
        with sides[0].open("wb") as left, sides[1].open("wb") as right:
            yield MosesText(left, right)
        with whole_file(path) as staging:
            pack_sides(staging, path.stem, (source, target), sides)


class MosesText:
    """Two text files: line n of one translates line n of the other."""

    def __init__(self, source: BinaryIO, target: BinaryIO, started: bool = False) -> None:
        """started: there are pairs in the files already."""
        self._files = source, target
        self._started = started
        self.altered = 0

    def write(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        for file, texts in zip(self._files, (sources, targets), strict=True):
            lines = "\n".join(texts)
            if lines.count("\n") >= len(texts) or "\r" in lines or "\0" in lines or not self._started:
                lines = "\n".join(
                    self._line(text, first=not (self._started or place)) for place, text in enumerate(texts)
                )
            if texts:
                file.write(f"{lines}\n".encode())
        self._started = self._started or bool(sources)

    def _line(self, text: str, first: bool) -> str:
        line = plain_line(text, _BREAKS, first)
        self.altered += line != text
        return line


class TsvText:
    """Lines of source, tab, target."""

    def __init__(self, file: BinaryIO, started: bool = False) -> None:
        self._file = file
        self._started = started
        self.altered = 0

    def write(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        lines = "\n".join(map("\t".join, zip(sources, targets, strict=True)))
        plain = lines.count("\n") < len(sources) and lines.count("\t") == len(sources)
        if not plain or "\r" in lines or "\0" in lines or not self._started:
            rows = zip(sources, targets, strict=True)
            lines = "\n".join(self._row(*row, first=not (self._started or place)) for place, row in enumerate(rows))
        if sources:
            self._file.write(f"{lines}\n".encode())
            self._started = True

    def _row(self, source: str, target: str, first: bool) -> str:
        cells = plain_line(source, _BREAKS_AND_TABS, first), plain_line(target, _BREAKS_AND_TABS)
        self.altered += (cells[0] != source) + (cells[1] != target)
        return "\t".join(cells)


def plain_line(text: str, breaks: re.Pattern[str] = _BREAKS, first: bool = False) -> str:
    """The text as one line of a text file. first: of the file, where U+FEFF would be a byte-order mark."""
    line = breaks.sub(" ", text).replace("\0", "\ufffd")
    return line.lstrip("\ufeff") if first else line


class JsonlText:
    """An object a line: `translation` with both languages, or `source` and `target` if these are not known."""

    def __init__(self, file: BinaryIO, languages: LanguagePair) -> None:
        self._file = file
        source, target = languages
        named = source is not None and target is not None
        keys = (source, target) if named else ("source", "target")
        left, right = (json.dumps(key, ensure_ascii=False) for key in keys)
        start, end = ('{"translation": {', "}}\n") if named else ("{", "}\n")
        self._parts = f"{start}{left}: ", f", {right}: ", end
        self.altered = 0

    def write(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        start, middle, end = self._parts
        encode = json.JSONEncoder(ensure_ascii=False).encode
        lines = [
            f"{start}{encode(source)}{middle}{encode(target)}{end}"
            for source, target in zip(sources, targets, strict=True)
        ]
        self._file.write("".join(lines).encode())
