"""Pairs in every format: what is written is what independent readers find, and a corpus comes back from any row of conversions."""

import csv
import errno
import gzip
import io
import json
import os
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import convert, opus, parquet
from regard.data.convert import Converted, convert_corpus
from regard.data.formats import PairFiles
from regard.data.readers import Pair, read_pairs, stored_pairs
from regard.errors import DataError, DiskError

LANGUAGES = ("en", "de")
NAMES = {
    "moses": ("a.en", "a.de"),
    "moses.gz": ("a.en.gz", "a.de.gz"),
    "tsv": ("a.tsv",),
    "tsv.gz": ("a.tsv.gz",),
    "jsonl": ("a.jsonl",),
    "tmx": ("a.tmx",),
    "tmx.gz": ("a.tmx.gz",),
    "parquet": ("a.parquet",),
    "zip": ("a.zip",),
}
SENTENCES = [
    ("a house", "ein Haus"),
    ("", ""),
    ("", "nur hier"),
    ("a & b < c > d \"e\" 'f'", "]]> &amp; <seg>"),
    ("U+2028 \u2028 and \x85 and \x0b", "é 猫 🙂 \u200b"),
    ("  spaces  around ", " "),
    (r"back\slash \n", '{"source": 1}'),
    ("\ufeffmark", "mark\ufeff"),
]


def files(directory: Path, name: str) -> PairFiles:
    directory.mkdir(exist_ok=True)
    return PairFiles(name.partition(".")[0], tuple(str(directory / part) for part in NAMES[name]))  # type: ignore[arg-type]


def written(directory: Path, name: str, pairs: list[Pair]) -> tuple[PairFiles, Converted]:
    """The pairs in a format, by way of JSONL, which holds all of them."""
    directory.mkdir(exist_ok=True)
    start = directory / "start.jsonl"
    start.write_text("".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in pairs), encoding="utf-8")
    out = files(directory, name)
    return out, convert_corpus(PairFiles("jsonl", (str(start),)), out, LANGUAGES)


def found(corpus: PairFiles) -> list[Pair]:
    return list(stored_pairs(corpus.source, corpus.target, corpus.pairs, LANGUAGES))


def expected(name: str, pairs: list[Pair]) -> list[Pair]:
    """What the rules of data/writers.py leave of pairs, written anew."""
    kind = name.partition(".")[0]
    if kind in ("jsonl", "parquet"):
        return pairs
    if kind == "tmx":
        return [
            tuple(re.sub("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text) for text in pair) for pair in pairs
        ]  # type: ignore[misc]
    breaks = "[\r\n\t]+" if kind == "tsv" else "[\r\n]+"
    plain = [[re.sub(breaks, " ", text).replace("\0", "\ufffd") for text in pair] for pair in pairs]
    if plain:
        plain[0][0] = plain[0][0].lstrip("\ufeff")
        if kind != "tsv":
            plain[0][1] = plain[0][1].lstrip("\ufeff")
    return [(source, target) for source, target in plain]


@pytest.mark.parametrize("name", NAMES)
def test_a_corpus_of_difficult_sentences_comes_back(name: str, tmp_path: Path) -> None:
    out, done = written(tmp_path, name, SENTENCES)
    assert found(out) == expected(name, SENTENCES)
    changed = sum(
        a != b
        for old, new in zip(SENTENCES, expected(name, SENTENCES), strict=True)
        for a, b in zip(old, new, strict=True)
    )
    assert (done.pairs, done.altered) == (len(SENTENCES), changed)
    assert not list(tmp_path.glob("*.partial*"))


ODD = ["\t", "\n", "\r", "a\r\nb", "\0", "\ufeff", "]]>", "\x1f"]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(ODD)


@settings(max_examples=40)
@given(
    pairs=st.lists(st.tuples(TEXT, TEXT), max_size=5), names=st.lists(st.sampled_from([*NAMES]), min_size=1, max_size=3)
)
def test_any_row_of_conversions_keeps_what_the_formats_can_hold(
    pairs: list[Pair], names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("row")
    corpus, _ = written(directory, "jsonl", pairs)
    kept = pairs
    for place, name in enumerate(names):
        out = files(directory / str(place), name)
        done = convert_corpus(corpus, out, LANGUAGES)
        after = expected(name, kept)
        assert done.pairs == len(pairs)
        assert done.altered == sum(
            a != b for old, new in zip(kept, after, strict=True) for a, b in zip(old, new, strict=True)
        )
        assert found(out) == after
        corpus, kept = out, after


def test_blocks_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def contents(directory: Path) -> list[bytes]:
        outs = [written(directory, name, SENTENCES)[0] for name in ("tsv", "moses", "jsonl", "tmx")]
        return [Path(path).read_bytes() for out in outs for path in out.paths]

    whole = contents(tmp_path / "a")
    monkeypatch.setattr(convert.blocks_of, "__defaults__", (1,))
    assert contents(tmp_path / "b") == whole


def test_pyarrow_reads_our_parquet_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 3)
    out, _ = written(tmp_path, "parquet", SENTENCES)
    table = pq.read_table(out.paths[0])
    assert table.column("translation").to_pylist() == [{"en": source, "de": target} for source, target in SENTENCES]
    plain = PairFiles("parquet", (str(tmp_path / "plain.parquet"),))
    convert_corpus(PairFiles("jsonl", (str(tmp_path / "start.jsonl"),)), plain)
    assert pq.read_table(plain.paths[0]).to_pylist() == [{"source": s, "target": t} for s, t in SENTENCES]


def test_csv_json_and_zipfile_read_our_files(tmp_path: Path) -> None:
    out, _ = written(tmp_path, "tsv.gz", SENTENCES)
    with gzip.open(out.paths[0], "rt", encoding="utf-8", newline="\n") as file:
        text = io.StringIO(file.read(), newline="")
    rows = [tuple(row) for row in csv.reader(text, "excel-tab", quoting=csv.QUOTE_NONE)]
    assert rows == expected("tsv", SENTENCES)
    out, _ = written(tmp_path, "jsonl", SENTENCES)
    lines = Path(out.paths[0]).read_text(encoding="utf-8").split("\n")[:-1]
    assert [json.loads(line)["translation"] for line in lines] == [{"en": s, "de": t} for s, t in SENTENCES]
    out, _ = written(tmp_path, "zip", SENTENCES)
    with zipfile.ZipFile(out.paths[0]) as archive:
        assert archive.namelist() == ["a.en-de.en", "a.en-de.de"]
        sides = [archive.read(name).decode("utf-8").split("\n")[:-1] for name in archive.namelist()]
    assert [*zip(*sides, strict=True)] == expected("zip", SENTENCES)


def test_elementtree_reads_our_tmx_files(tmp_path: Path) -> None:
    out, _ = written(tmp_path, "tmx", [*SENTENCES, ("\x00bell\x07", "\r line")])
    body = ElementTree.parse(out.paths[0]).getroot().find("body")
    assert body is not None
    language = "{http://www.w3.org/XML/1998/namespace}lang"
    units = [[(variant.get(language), variant.findtext("seg")) for variant in unit] for unit in body]
    assert units == [[("en", s), ("de", t)] for s, t in [*expected("tmx", SENTENCES), ("\ufffdbell\ufffd", "\r line")]]


def test_the_same_corpus_makes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("moses.gz", "zip", "parquet", "tmx.gz"):
        first, second = (written(tmp_path / part, name, SENTENCES)[0] for part in ("x", "y"))
        assert [Path(path).read_bytes() for path in first.paths] == [Path(path).read_bytes() for path in second.paths]


# What others write


def opus_zip(path: Path, entries: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return path


OPUS = {
    "README": "read me",
    "LICENSE": "free",
    "Books.de-en.de": "Haus\r\nHund\r\n",
    "Books.de-en.en": "house\ndog\n",
    "Books.de-en.ids": "1\t1\n",
}


def test_a_zip_file_of_opus_is_read_in_either_order(tmp_path: Path) -> None:
    path = opus_zip(tmp_path / "de-en.txt.zip", OPUS)
    assert list(read_pairs(pairs=path)) == [("Haus", "house"), ("Hund", "dog")]
    assert list(read_pairs(pairs=path, languages=("en", "de"))) == [("house", "Haus"), ("dog", "Hund")]
    assert list(read_pairs(pairs=path, languages=("en", None))) == [("house", "Haus"), ("dog", "Hund")]
    assert list(read_pairs(pairs=path, languages=(None, "de"))) == [("house", "Haus"), ("dog", "Hund")]
    done = convert_corpus(PairFiles("zip", (str(path),)), PairFiles("jsonl", (str(tmp_path / "o.jsonl"),)))
    assert done.languages == ("de", "en")


@pytest.mark.parametrize(
    ("table", "languages"),
    [
        (pa.table({"translation": [{"de": "Haus", "en": "house"}], "id": [1]}), LANGUAGES),
        (pa.table({"target": ["Haus"], "source": pa.array(["house"], pa.large_string()), "n": [2]}), (None, None)),
        (pa.table({"en": pa.array(["house"]).dictionary_encode(), "de_DE": ["Haus"]}), LANGUAGES),
        (pa.table({"en": pa.array(["house"], pa.string_view()), "de": ["Haus"]}), LANGUAGES),
    ],
)
def test_parquet_files_of_others(table: pa.Table, languages: tuple[str | None, str | None], tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "a.parquet")
    assert list(read_pairs(pairs=tmp_path / "a.parquet", languages=languages)) == [("house", "Haus")]


def test_jsonl_may_name_the_languages_at_the_top(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"de": "Haus", "en": "house"}\n', encoding="utf-8")
    assert list(read_pairs(pairs=tmp_path / "a.jsonl", languages=LANGUAGES)) == [("house", "Haus")]


def test_a_failure_in_the_middle_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.tsv").write_text("x\ty\n" * 5000, encoding="utf-8")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    for name in NAMES:
        out = files(tmp_path / "out", name)
        with monkeypatch.context() as patch:
            writer = {"jsonl": "JsonlText", "tmx": "TmxText", "parquet": "ParquetWriter", "tsv": "TsvText"}.get(
                out.kind, "MosesText"
            )
            patch.setattr(f"regard.data.writers.{writer}.write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                convert_corpus(PairFiles("tsv", (str(tmp_path / "a.tsv"),)), out, LANGUAGES)
        assert list((tmp_path / "out").iterdir()) == []


def test_a_zip_file_that_changes_is_noticed(tmp_path: Path) -> None:
    path = opus_zip(tmp_path / "a.zip", OPUS)
    with pytest.raises(DataError, match="its content has changed while it was read"):
        list(read_pairs(pairs=path, digests={str(path): "0" * 64}))


def test_entries_are_read_in_pieces() -> None:
    chunks = opus._Chunks(iter([b"abc", b"d", b"efgh"]))
    assert (chunks.read(2), chunks.read1(5), chunks.read(4), chunks.read1(9), chunks.read1(9)) == (
        b"ab",
        b"c",
        b"defg",
        b"h",
        b"",
    )


@pytest.mark.parametrize("fails", ["a.en", "a.de"])
def test_a_side_that_gets_no_name_takes_the_other_one_with_it(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.tsv").write_text("x\ty\n", encoding="utf-8")
    replace = os.replace

    def failing(source: Path, target: Path) -> None:
        if target.name == fails:
            raise PermissionError(errno.EPERM, "no")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    output = PairFiles("moses", (str(tmp_path / "out/a.en"), str(tmp_path / "out/a.de")))
    with pytest.raises(DiskError, match="not permitted"):
        convert_corpus(PairFiles("tsv", (str(tmp_path / "a.tsv"),)), output)
    assert list((tmp_path / "out").iterdir()) == []
