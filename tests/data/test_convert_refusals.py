"""What `regard data convert` refuses, in one line and without a trace on the disk."""

import gzip
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from regard.data.convert import convert_corpus
from regard.data.formats import PairFiles
from regard.data.task_formats import split_files
from regard.errors import ConfigError, DiskError, RegardError

LANGUAGES = ("en", "de")
OPUS = {"README": "read me", "Books.de-en.de": "Haus\nHund\n", "Books.de-en.en": "house\ndog\n"}


def opus_zip(path: Path, entries: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return path


def parquet_of(**columns: object) -> Callable[[Path], Path]:
    def make(directory: Path) -> Path:
        pq.write_table(pa.table(columns), directory / "a.parquet")
        return directory / "a.parquet"

    return make


def zip_of(entries: dict[str, str]) -> Callable[[Path], Path]:
    return lambda directory: opus_zip(directory / "a.zip", entries)


def text_of(name: str, content: bytes) -> Callable[[Path], Path]:
    def make(directory: Path) -> Path:
        (directory / name).write_bytes(content)
        return directory / name

    return make


def linked(directory: Path) -> Path:
    path = opus_zip(directory / "a.zip", OPUS)
    with zipfile.ZipFile(path, "a") as archive:
        entry = zipfile.ZipInfo("Books.de-en.fr")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return path


def cut_zip(directory: Path) -> Path:
    path = opus_zip(directory / "a.zip", OPUS)
    content = bytearray(path.read_bytes())
    content[content.index(b"Books.de-en.de") + 14] ^= 0xFF
    path.write_bytes(content)
    return path


FRENCH = b'<tmx><body><tu><tuv xml:lang="fr"><seg>a</seg></tuv></tu></body></tmx>'
BAD: dict[str, tuple[Callable[[Path], Path], str]] = {
    "other columns": (
        parquet_of(a=["x"], b=["y"]),
        "no columns 'source' and 'target', 'translation' or languages, but a, b",
    ),
    "numbers": (parquet_of(source=[1], target=["y"]), "column 'source' is of type int64, not of texts"),
    "lists": (parquet_of(source=[["x"]], target=["y"]), "column 'source' is of type list"),
    "null": (parquet_of(source=["x", None], target=["y", "z"]), "row 2: no text under 'source'"),
    "bomb": (parquet_of(source=["a" * 10_000] * 4000, target=["b"] * 4000), "unpacks to more than 100 times its size"),
    "no parquet": (text_of("a.parquet", b"source\ttarget\n"), "not a parquet file that can be read"),
    "no column of the language": (parquet_of(translation=[{"en": "x", "fr": "y"}]), "no text in 'de', only in en, fr"),
    "no pair": (
        zip_of({"README": "x", "Books.en-fr.en": "x\n"}),
        "no NAME.en and NAME.de in it, but Books.en-fr.en, README",
    ),
    "two corpora": (zip_of({**OPUS, "News.de-en.de": "", "News.de-en.en": ""}), "several corpora in it"),
    "traversal": (zip_of({**OPUS, "../evil.en": "x"}), "leads out of the directory"),
    "zip bomb": (zip_of({**OPUS, "Books.de-en.de": "a\n" * (20 << 20)}), "bytes unpacked from a file of"),
    "link": (linked, "a link or a device"),
    "damaged zip": (cut_zip, "Books.de-en.de: Error -3"),
    "unequal sides": (zip_of({**OPUS, "Books.de-en.de": "Haus\n"}), "has 2 lines but .*Books.de-en.de has 1"),
    "latin-1 in zip": (lambda d: latin1_zip(d), r"a.zip/Books.de-en.de:2: not UTF-8 \(byte 0xe4 at column 2\)"),
    "no zip": (text_of("a.zip", b"no zip at all"), "damaged: not a zip file, or cut off"),
    "cut gzip": (text_of("a.tsv.gz", gzip.compress(b"a\tb\n" * 1000)[:-12]), "damaged gzip file"),
    "one column": (text_of("a.tsv", b"a\tb\nonly\n"), ":2: one column"),
    "no json": (text_of("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": \n'), ":2: not JSON"),
    "half a tmx": (text_of("a.tmx", b'<tmx><body>\n<tu><tuv xml:lang="en"><seg>a'), ":2: not well-formed XML"),
    "tmx of others": (
        text_of("a.tmx", FRENCH),
        "no unit in both 'en' and 'de'; its languages are fr",
    ),
    "no file": (lambda d: d / "none.parquet", "no such file"),
    "no such zip": (lambda d: d / "none.zip", "no such file"),
    "a directory": (lambda d: d, "a directory"),
}


def latin1_zip(directory: Path) -> Path:
    path = directory / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Books.de-en.de", "Haus\nHäuser\n".encode("latin-1"))
        archive.writestr("Books.de-en.en", "house\nhouses\n")
    return path


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_one_line_and_writes_nothing(name: str, tmp_path: Path) -> None:
    make, message = BAD[name]
    source = tmp_path / "in"
    source.mkdir()
    path = make(source)
    for out in ("out.tsv", "out.parquet", "out.zip", "out.tmx"):
        source_files, output, _ = split_files([str(path), str(tmp_path / out)], None if path.suffix else "tsv", None)
        with pytest.raises(RegardError, match=message) as caught:
            convert_corpus(source_files, output, LANGUAGES)
        assert "\n" not in str(caught.value)
        assert str(source) in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    ("names", "languages", "error", "message"),
    [
        (["a.tsv", "out.tmx"], (None, None), ConfigError, "tmx names both languages; give --src-lang and --tgt-lang"),
        (["a.tsv", "out.zip"], ("en", None), ConfigError, "zip names both languages"),
        (["a.tsv", "out.parquet"], ("en", "en"), ConfigError, "both sides are 'en'"),
        (["a.tsv", "a.tsv"], (None, None), ConfigError, "that is what is read"),
        (["a.tsv", "link.tsv"], (None, None), ConfigError, "that is what is read"),
        (["a.tsv", "old.tsv"], (None, None), DiskError, "it is there already"),
        (["a.tsv", "o.en", "o.en"], (None, None), ConfigError, "both sides in one file"),
        (["a.tsv", "no/../dir"], (None, None), DiskError, "there already"),
        (["a.en", "a.de", "o.de", "o.en"], (None, None), ConfigError, "the other order than en-de"),
        (["a.tsv", "a.tsv/out.tsv"], (None, None), DiskError, "is a file and not a directory"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_read(
    names: list[str], languages: tuple[str | None, str | None], error: type[RegardError], message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.tsv").write_text("x\ty\n", encoding="utf-8")
    (tmp_path / "old.tsv").write_text("old", encoding="utf-8")
    (tmp_path / "link.tsv").symlink_to("a.tsv")
    (tmp_path / "dir").mkdir()
    (tmp_path / "no").mkdir()
    before = sorted(tmp_path.iterdir())
    source, output, _ = split_files([str(tmp_path / name) for name in names], None, None)
    with pytest.raises(error, match=message):
        convert_corpus(source, output, languages)
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "old.tsv").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize(
    ("names", "kinds", "message"),
    [
        (["a.en"], (None, None), "one side of a Moses pair"),
        (
            ["a.csv", "o.tsv"],
            (None, None),
            r"a.csv: neither the name of a format \(.tsv, .tab, .* nor, with o.tsv, of a Moses pair",
        ),
        (["a.en", "a.de"], (None, None), "a file is missing; give IN OUT"),
        (["a.en", "a.de", "a.tsv", "b.tsv"], (None, None), "b.tsv: 4 files"),
        (["a.tsv", "b.jsonl"], ("csv", None), "--from csv: not one of moses, tsv"),
        (["-", "b.jsonl"], ("parquet", None), "neither piped nor packed as .gz"),
        (["a.tsv", "b.parquet.gz"], (None, None), "neither piped nor packed as .gz"),
        (["-", "-", "b.tsv"], ("moses", None), "'-' stands for one side"),
    ],
)
def test_names_that_are_no_two_corpora(names: list[str], kinds: tuple[str | None, str | None], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        split_files(names, *kinds)


def test_names_tell_the_formats() -> None:
    assert split_files(["a.en.gz", "a.de.gz", "o.parquet"], None, None)[:2] == (
        PairFiles("moses", ("a.en.gz", "a.de.gz")),
        PairFiles("parquet", ("o.parquet",)),
    )
    assert split_files(["-", "o.txt", "o.ref"], "jsonl", "moses")[:2] == (
        PairFiles("jsonl", ("-",)),
        PairFiles("moses", ("o.txt", "o.ref")),
    )
