"""Sentences of many languages, encoded by hand: the advice names the encoding that they are in."""

import bz2
import gzip
import io
import lzma
import zipfile

import pytest

from regard.data.check import check_corpus
from regard.data.encoding_guess import guess_encoding
from regard.data.readers import read_cut, read_lines
from regard.errors import DataError


@pytest.mark.parametrize(
    ("text", "encoding", "advice"),
    [
        ("Zażółć gęślą jaźń, proszę", "iso8859-2", "LATIN2"),
        ("Zażółć gęślą jaźń, proszę", "cp1250", "WINDOWS-1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "iso8859-2", "LATIN2"),
        ("Árvíztűrő tükörfúrógép", "iso8859-2", "LATIN2"),
        ("Mulţumesc, în această ţară", "iso8859-2", "LATIN2"),
        ("čovjek i žena idu kući, đak", "iso8859-2", "LATIN2"),
        ("Straße, schöne Grüße", "latin1", "LATIN1"),
        ("déjà vu, ça va être là", "latin1", "LATIN1"),
        ("não há corações", "latin1", "LATIN1"),
        ("rødgrød med fløde på åen", "latin1", "LATIN1"),
        ("“quotes” – it’s", "cp1252", "WINDOWS-1252"),
        ("çok güzel, teşekkür ederim, ışık", "iso8859-9", "LATIN5"),
        ("Привет, мир! Как дела", "cp1251", "WINDOWS-1251"),
        ("Привет, мир! Как дела", "koi8-r", "KOI8-R"),
        ("Straße", "utf-16", "UTF-16"),
        ("plain", "utf-16-le", "UTF-16LE"),
        ("plain", "utf-16-be", "UTF-16BE"),
    ],
)
def test_the_bytes_suggest_their_encoding(text, encoding, advice):
    raw = text.encode(encoding)
    assert guess_encoding(raw) == advice
    iconv_name = {"LATIN2": "iso8859-2", "LATIN5": "iso8859-9"}.get(advice, advice)
    assert raw.decode(iconv_name) == text


def test_the_error_advises_it_and_says_that_it_guesses(tmp_path):
    """The lines that are UTF-8 do not count."""
    path = tmp_path / "a.pl"
    path.write_bytes("déjà vu, ça va\n".encode() * 9 + "książka była długa\n".encode("iso8859-2"))
    with pytest.raises(
        DataError, match=rf"{path}:10: not UTF-8 .*\(iconv -f LATIN2 -t UTF-8, a guess from its bytes\)"
    ):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("encoding", "advice"), [("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE"), ("utf-16", "UTF-16")]
)
def test_utf16_is_refused_even_where_its_bytes_are_utf8(tmp_path, encoding, advice):
    path = tmp_path / "a.en"
    path.write_bytes("plain text\nof ASCII\n".encode(encoding))
    with pytest.raises(DataError, match=f"iconv -f {advice} "):
        list(read_lines(path))


def test_one_windows_quote_suffices_wherever_it_is():
    assert guess_encoding("déjà vu\n".encode("cp1252") * 10_000) == "LATIN1"
    assert guess_encoding("déjà vu\n".encode("cp1252") * 10_000 + "„oui“ – 5 €".encode("cp1252")) == "WINDOWS-1252"


def _zipped():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/sheet1.xml", "<a/>")
    return file.getvalue()


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (_zipped(), "a zip archive, as .xlsx and .docx are"),
        (gzip.compress(b"a\tb\n", mtime=0), "gzip; name it .gz"),
        (bz2.compress(b"a\tb\n"), "bzip2"),
        (lzma.compress(b"a\tb\n"), "xz"),
        (b"\x28\xb5\x2f\xfd\x24\x00", "zstd"),
        (b"%PDF-1.4\n1 0 obj\n", "a PDF"),
    ],
    ids=["zip", "gzip", "bzip2", "xz", "zstd", "pdf"],
)
def test_a_file_that_is_no_text_is_named_by_its_first_bytes(tmp_path, raw, name):
    path = tmp_path / "a.tsv"
    path.write_bytes(raw)
    for read in (read_lines, lambda file: read_cut(file, 1000), lambda file: [check_corpus(pairs=file)]):
        with pytest.raises(DataError, match=f"^{path}: {name}"):
            list(read(path))


def test_a_text_that_begins_like_them_is_text(tmp_path):
    path = tmp_path / "a.en"
    path.write_bytes(b"PK\nBZh9\n%PDF is a format\n")
    assert list(read_lines(path)) == ["PK", "BZh9", "%PDF is a format"]
