"""Reads and writes zip files as OPUS has them: NAME.en-de.en and NAME.en-de.de, one sentence a line; other files are not read.

A zip file may come from a stranger: `regard.zips` checks its names, kinds and sizes. Nothing is unpacked to the disk.
"""

import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from regard.data.config import find_language
from regard.data.formats import LanguagePair
from regard.data.opening import FREE_BYTES, MOST_RATIO, Readable, checked_lines
from regard.errors import DataError
from regard.zips import Archive, ZipKind, open_zip

CORPUS = ZipKind("a corpus", DataError, times=MOST_RATIO, free_bytes=FREE_BYTES)
_LANGUAGE = r"[A-Za-z]{2,3}(?:[-_][A-Za-z]{2,4})?"
_SIDE = re.compile(rf"(?P<stem>.+)\.(?P<language>{_LANGUAGE})")
_PAIR = re.compile(rf"(?:.*\.)?(?P<source>{_LANGUAGE})-(?P<target>{_LANGUAGE})")
_SHOWN = 10
_MADE = (1980, 1, 1, 0, 0, 0)  # the time of an entry, so that the same corpus makes the same file


@dataclass(frozen=True)
class Side:
    """One side of the corpus in a zip file, opened."""

    name: str
    file: Readable


@contextmanager
def opus_sides(path: str | Path, languages: LanguagePair) -> Iterator[tuple[Side, Side]]:
    """Both sides of the corpus in a zip file."""
    _require_file(Path(path))
    with open_zip(Path(path), CORPUS) as archive:
        source, target = _entries(archive, languages)
        yield _side(archive, source), _side(archive, target)


def opus_languages(path: str | Path, languages: LanguagePair) -> LanguagePair:
    """The languages of the corpus that `opus_sides` opens."""
    _require_file(Path(path))
    with open_zip(Path(path), CORPUS) as archive:
        source, target = (PurePosixPath(name).suffix[1:] for name in _entries(archive, languages))
    return languages[0] or source, languages[1] or target


def _require_file(path: Path) -> None:
    if not path.exists():
        raise DataError(f"{path}: no such file; check the path")


def _entries(archive: Archive, languages: LanguagePair) -> tuple[str, str]:
    """The names of both sides. Refused is what holds none, or several corpora of these languages."""
    stems: dict[str, list[str]] = {}
    for entry in archive.entries:
        if match := _SIDE.fullmatch(entry.filename):
            stems.setdefault(match["stem"], []).append(match["language"])
    found = [(stem, *sides) for stem, tags in stems.items() if (sides := _sides_of(stem, tags, languages)) is not None]
    if len(found) == 1:
        stem, source, target = found[0]
        return f"{stem}.{source}", f"{stem}.{target}"
    names = sorted(entry.filename for entry in archive.entries)
    listed = ", ".join(names[:_SHOWN]) + (", .." if len(names) > _SHOWN else "")
    wanted = "NAME.en-de.en and NAME.en-de.de" if None in languages else f"NAME.{languages[0]} and NAME.{languages[1]}"
    reason = "several corpora" if found else f"no {wanted}"
    fix = (
        "unpack it, and give the two files"
        if found
        else "set --src-lang and --tgt-lang, or ask for a Moses file of OPUS"
    )
    raise DataError(f"{archive.path}: {reason} in it, but {listed or 'nothing'}; {fix}")


def _sides_of(stem: str, tags: list[str], languages: LanguagePair) -> tuple[str, str] | None:
    """The suffixes of source and target among those of one stem."""
    source, target = languages
    if source is None or target is None:
        named = _PAIR.fullmatch(PurePosixPath(stem).name)
        if named is None:
            return None
        pair = [named["source"], named["target"]]
        if source is not None or target is not None:  # one is given, the other one is the other of the name
            given = find_language(source or target or "", pair)
            if given is None:
                return None
            pair = sorted(pair, key=lambda tag: (tag == given) != (source is not None))
        source, target = pair
    left, right = find_language(source, tags), find_language(target, tags)
    return None if left is None or right is None or left == right else (left, right)


def _side(archive: Archive, entry: str) -> Side:
    name = f"{archive.path}/{entry}"
    return Side(name, checked_lines(_Chunks(archive.chunks(entry)), name))


class _Chunks:
    """A stream of the chunks of an entry."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int) -> bytes:
        while len(self._rest) < size and (chunk := next(self._chunks, b"")):
            self._rest += chunk
        return self.read1(size)

    def read1(self, size: int) -> bytes:
        if not self._rest:
            self._rest = next(self._chunks, b"")
        block, self._rest = self._rest[:size], self._rest[size:]
        return block


def pack_sides(path: Path, stem: str, languages: tuple[str, str], sides: tuple[Path, Path]) -> None:
    """Write a zip file of two text files, as OPUS names them."""
    pair = "-".join(languages)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for language, side in zip(languages, sides, strict=True):
            entry = zipfile.ZipInfo(f"{stem}.{pair}.{language}", _MADE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            with side.open("rb") as text, archive.open(entry, "w", force_zip64=True) as output:
                shutil.copyfileobj(text, output, 1 << 20)
