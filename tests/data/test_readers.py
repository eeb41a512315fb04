"""Every format, from hand-made files, and every way in which a file can be wrong."""

import gzip
import io
import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import readers
from regard.data.readers import read_lines, read_pairs, read_raw
from regard.errors import DataError

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
  <header srclang="en" datatype="plaintext"/>
  <body>
    <tu><note>not text</note>
      <tuv xml:lang="en-US"><seg>a <hi>red</hi> &amp; <bpt i="1">&lt;b&gt;</bpt>warm<ept i="1">&lt;/b&gt;</ept>
house</seg></tuv>
      <tuv xml:lang="DE"><prop type="x">p</prop><seg>ein rotes<ph x="1">{1}<sub>fn</sub></ph> Haus &#233;</seg></tuv>
    </tu>
    <tu><tuv lang="de"><seg>zwei</seg></tuv><tuv lang="en"><seg>two</seg></tuv><tuv lang="fr"><seg>deux</seg></tuv></tu>
    <tu><tuv xml:lang="en"><seg>alone</seg></tuv></tu>
  </body>
</tmx>
"""


def written(path, content):
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def the_error(iterator):
    with pytest.raises(DataError) as caught:
        list(iterator)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["a.en", "a.en.gz"])
@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("", []),
        ("one\n", ["one"]),
        ("one\ntwo", ["one", "two"]),
        ("one\n\n", ["one", ""]),
        ("\n", [""]),
        ("\ufeffone\ntwo\n", ["one", "two"]),
        ("\ufeff", []),
        ("one\ufeff\n\ufefftwo\n", ["one\ufeff", "\ufefftwo"]),
        ("one\r\ntwo\r\n", ["one\r", "two\r"]),
        ("a\u2028b\x85c\x0bd\x0ce\x1cf\rg\nh\n", ["a\u2028b\x85c\x0bd\x0ce\x1cf\rg", "h"]),
    ],
)
def test_lines_end_at_the_newline_and_nowhere_else(tmp_path, name, content, lines):
    assert list(read_lines(written(tmp_path / name, content))) == lines


BYTES = st.lists(st.sampled_from([b"\n", b"\r", b"a", "é".encode(), "\ufeff".encode(), b"\xff", b"\xe2\x80\xa8"]))


@settings(deadline=None)
@given(parts=BYTES, block=st.integers(1, 12))
def test_any_bytes_in_blocks_of_any_size_are_the_same_lines(tmp_path_factory, parts, block):
    content = b"".join(parts)
    path = written(tmp_path_factory.mktemp("bytes") / "a.en", content)
    expected = [line.removesuffix(b"\n") for line in io.BytesIO(content.removeprefix(b"\xef\xbb\xbf"))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "_BLOCK", block)
        assert list(read_raw(path)) == expected
        bad = next((number for number, line in enumerate(expected, 1) if b"\xff" in line), None)
        if bad is None:
            assert list(read_lines(path)) == [line.decode() for line in expected]
        else:
            lines = read_lines(path)
            assert [next(lines) for _ in range(bad - 1)] == [line.decode() for line in expected[: bad - 1]]
            assert the_error(lines).startswith(f"{path}:{bad}: not UTF-8 (byte 0xff at column ")


def test_a_line_is_read_as_soon_as_it_is_there():
    reading, writing = os.pipe()
    with open(writing, "wb", buffering=0) as pipe:
        lines = read_lines(f"/dev/fd/{reading}")
        pipe.write(b"first\nsec")
        assert next(lines) == "first"
        pipe.write(b"ond\n")
        assert next(lines) == "second"
    assert list(lines) == []
    os.close(reading)


def test_a_line_of_a_hundred_thousand_characters_is_read_whole(tmp_path):
    long = "é" * 100_000
    assert list(read_lines(written(tmp_path / "a.fr", f"x\n{long}\ny\n"))) == ["x", long, "y"]


def test_the_first_byte_that_is_not_utf8_is_named(tmp_path):
    path = written(tmp_path / "a.fr", "un\ndeux é".encode() + b"\xff!\n")
    assert the_error(read_lines(path)).startswith(f"{path}:2: not UTF-8 (byte 0xff at column 7); convert the file")


def test_utf16_is_recognised(tmp_path):
    path = written(tmp_path / "a.fr", "un\n".encode("utf-16"))
    assert "iconv -f UTF-16" in the_error(read_lines(path))


def test_files_that_cannot_be_opened_are_named(tmp_path):
    assert the_error(read_lines(tmp_path / "none.en")) == f"{tmp_path}/none.en: no such file; check the path"
    assert the_error(read_lines(tmp_path)).startswith(f"{tmp_path}: a directory")


def test_a_damaged_gzip_file_is_named(tmp_path):
    whole = gzip.compress(b"".join(b"line %d\n" % i for i in range(5000)))
    cut = tmp_path / "cut.en.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    assert the_error(read_lines(cut)).startswith(f"{cut}: damaged gzip file")
    plain = tmp_path / "plain.en.gz"
    plain.write_bytes(b"not packed\n")
    assert the_error(read_lines(plain)).startswith(f"{plain}: damaged gzip file")
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    bad = tmp_path / "bad.en.gz"
    bad.write_bytes(flipped)
    assert the_error(read_lines(bad)).startswith(f"{bad}: damaged gzip file")


def test_moses_pairs_go_line_by_line(tmp_path):
    source = written(tmp_path / "a.en.gz", "a house\r\n\nx\u2028y\n")
    target = written(tmp_path / "a.de", "ein Haus\nleer\nz")
    assert list(read_pairs(source, target)) == [("a house", "ein Haus"), ("", "leer"), ("x\u2028y", "z")]


@pytest.mark.parametrize(("left", "right"), [(3, 5), (5, 3), (0, 2), (3, 4)])
def test_unequal_line_counts_are_both_named(tmp_path, left, right):
    source, target = written(tmp_path / "a.en", "x\n" * left), written(tmp_path / "a.de", "y\n" * right)
    message = the_error(read_pairs(source, target))
    assert message.startswith(f"{source} has {left} lines but {target} has {right}; ")


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.txt", "a"])
def test_tsv_takes_the_first_two_columns(tmp_path, name):
    path = written(tmp_path / name, "a\tb\nc\td\te\tf\r\n\n\tg\nh\t\r\n")
    assert list(read_pairs(pairs=path)) == [("a", "b"), ("c", "d"), ("", ""), ("", "g"), ("h", "")]


def test_tsv_with_one_column_names_the_line(tmp_path):
    path = written(tmp_path / "a.tsv", "a\tb\nonly one\n")
    assert the_error(read_pairs(pairs=path)).startswith(f"{path}:2: one column; ")


def test_jsonl_holds_either_form(tmp_path):
    rows = [
        {"translation": {"de": "zwei\nZeilen", "en": "two lines"}},
        {"source": "a\u2028b", "target": "c", "id": 7},
        {"translation": {"en-GB": "colour", "de": "Farbe"}},
    ]
    path = written(tmp_path / "a.jsonl", "\n".join(json.dumps(row) for row in rows) + "\n\n")
    expected = [("two lines", "zwei Zeilen"), ("a\u2028b", "c"), ("colour", "Farbe"), ("", "")]
    assert list(read_pairs(pairs=path, languages=("en", "de"))) == expected


@pytest.mark.parametrize(
    ("line", "languages", "message"),
    [
        ("{bad", ("en", "de"), ":1: not JSON ("),
        ("[" * 100_000, ("en", "de"), ":1: not JSON ("),
        ("9" * 5000, ("en", "de"), ":1: not JSON ("),
        ("[1]", ("en", "de"), ":1: not a JSON object"),
        ('{"source": "a"}', ("en", "de"), ":1: no text under 'target'"),
        ('{"source": "a", "target": 3}', ("en", "de"), ":1: no text under 'target'"),
        ('{"translation": {"en": "a", "de": "b"}}', (None, None), ":1: languages en, de; say which is which"),
        ('{"translation": {"en": "a", "de": "b"}}', ("en", "fr"), ":1: no text in 'fr', only in en, de"),
    ],
)
def test_jsonl_that_holds_no_pair_names_the_line(tmp_path, line, languages, message):
    path = written(tmp_path / "a.jsonl", line + "\n")
    assert the_error(read_pairs(pairs=path, languages=languages)).startswith(f"{path}{message}")


@pytest.mark.parametrize("name", ["a.tmx", "a.tmx.gz"])
def test_tmx_gives_one_pair_a_unit_without_formatting_codes(tmp_path, name):
    path = written(tmp_path / name, TMX)
    pairs = list(read_pairs(pairs=path, languages=("en", "de")))
    assert pairs == [("a red & warm house", "ein rotes Haus é"), ("two", "zwei"), ("alone", "")]
    assert list(read_pairs(pairs=path, languages=("fr", "en")))[1] == ("deux", "two")


def test_tmx_may_be_utf16_and_longer_than_any_buffer(tmp_path):
    unit = '<tu><tuv xml:lang="en"><seg>n{0}</seg></tuv><tuv xml:lang="fr"><seg>é{0}</seg></tuv></tu>'
    text = f'<?xml version="1.0"?><tmx><body>{"".join(unit.format(i) for i in range(5000))}</body></tmx>'
    path = written(tmp_path / "a.tmx", text.encode("utf-16"))
    assert list(read_pairs(pairs=path, languages=("en", "fr"))) == [(f"n{i}", f"é{i}") for i in range(5000)]


ENTITIES = '<!DOCTYPE tmx [\n<!ENTITY a "aaaaaaaaaa">\n<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
BODY = '<tmx><body><tu><tuv xml:lang="en"><seg>&b;</seg></tuv></tu></body></tmx>'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f'<?xml version="1.0"?>{ENTITIES}{BODY}', ":2: declares the XML entity 'a', which is not expanded"),
        (
            '<!DOCTYPE tmx [<!ENTITY b SYSTEM "file:///etc/passwd">]>' + BODY,
            ":1: declares the XML entity 'b', which is not expanded",
        ),
        ('<!DOCTYPE tmx SYSTEM "x.dtd">\n' + BODY, ":2: uses the XML entity 'b', which is not expanded"),
        ("<tmx>\n<body>\n<tu></body></tmx>", ":3: not well-formed XML (mismatched tag, column "),
        ("", ":1: not well-formed XML (no element found"),
        ("<html></html>", ": not TMX: the first element is <html>"),
        (TMX.replace('lang="fr"', 'lang="it"').replace("DE", "es").replace('"de"', '"es"'), ": no unit in both"),
    ],
)
def test_tmx_that_cannot_be_trusted_is_refused(tmp_path, content, message):
    path = written(tmp_path / "a.tmx", content)
    assert the_error(read_pairs(pairs=path, languages=("en", "fr"))).startswith(f"{path}{message}")


def test_tmx_needs_its_languages(tmp_path):
    path = written(tmp_path / "a.tmx", TMX)
    assert "set data.src_lang and data.tgt_lang (--src-lang, --tgt-lang)" in the_error(
        read_pairs(pairs=path, languages=("en", None))
    )
    missing = tmp_path / "b.tmx"
    assert the_error(read_pairs(pairs=missing)).startswith(f"{missing}: no such file")


def test_another_suffix_is_refused(tmp_path):
    with pytest.raises(
        DataError, match=r"pairs are read from .tsv, .jsonl and .tmx \(also .gz\), .parquet and .zip, not from '.csv'"
    ):
        read_pairs(pairs=tmp_path / "a.csv")


def test_standard_input_is_tsv_and_stays_open(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO("é\tb\nc\td".encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert list(read_pairs(pairs="-")) == [("é", "b"), ("c", "d")]
    assert not stdin.closed


def test_standard_input_is_named(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\tb\n\xe9\tc\n")))
    assert the_error(read_pairs(pairs="-")).startswith("stdin:2: not UTF-8 (byte 0xe9 at column 1)")
