"""The report of a corpus whose every fault was put there by hand."""

import gzip
import json
import statistics

import numpy as np
import pytest

from regard.data.check import check_corpus
from regard.data.check_report import SHOWN
from regard.data.readers import read_pairs
from regard.errors import DataError


def files(directory, source, target):
    (directory / "a.en").write_bytes(b"".join(line + b"\n" for line in source))
    (directory / "a.de").write_bytes(b"".join(line + b"\n" for line in target))
    return str(directory / "a.en"), str(directory / "a.de")


FAULTY = [
    (b"a small house", b"ein kleines Haus"),  # 1
    (b"", b"leer"),  # 2
    (b"caf\xe9", b"Kaffee"),  # 3
    (b"a small house", b"ein kleines Haus"),  # 4 a duplicate of 1
    (b"a small house", b"ein kleines Heim"),  # 5 repeats the source of 1
    (b"two", b" \t"),  # 6
    (b"the same", b"the same"),  # 7
    (b"this sentence is much too long for its translation", b"ja"),  # 8 a ratio outlier
    (b"\xff\xfe", b"\xe9"),  # 9
    (b"ok\r", "Straße \u2028 frei".encode()),  # 10
    (b"word " * 300, b"Wort " * 300),  # 11 over-long
]


def test_every_fault_is_found_at_its_line(tmp_path):
    report = check_corpus(*files(tmp_path, *zip(*FAULTY, strict=True)))
    assert (report.pairs, report.sound, report.unequal, report.usable) == (11, 7, False, False)
    assert (report.source.empty.first, report.target.empty.first) == ((2,), (6,))
    assert (report.source.misencoded.first, report.target.misencoded.first) == ((3, 9), (9,))
    assert (report.source.over_long.first, report.target.over_long.first) == ((11,), (11,))
    assert report.duplicates.first == (4,)
    assert report.repeated_sources.first == (4, 5)
    assert report.copies.first == (7,)
    assert report.outliers.first == (8,)
    assert report.malformed.total == 0


def test_lengths_are_those_of_the_sound_pairs(tmp_path):
    report = check_corpus(*files(tmp_path, *zip(*FAULTY, strict=True)))
    sound = [FAULTY[line - 1][1].decode().strip() for line in (1, 4, 5, 7, 8, 10, 11)]
    words, characters = [len(text.split()) for text in sound], [len(text) for text in sound]
    side = report.target
    for found, expected in ((side.words, words), (side.characters, characters)):
        assert found.mean == pytest.approx(statistics.mean(expected))
        assert found.median == statistics.median(expected)
        assert found.percentile_95 == pytest.approx(np.percentile(expected, 95))
        assert (found.longest, found.longest_line) == (max(expected), 11)


def test_a_clean_corpus_is_accepted(tmp_path):
    pairs = [(b"house %d" % i, b"Haus %d" % i) for i in range(100)]
    report = check_corpus(*files(tmp_path, *zip(*pairs, strict=True)))
    assert report.usable
    assert report.sound == 100
    totals = [report.duplicates, report.copies, report.outliers, report.source.empty, report.target.over_long]
    assert [lines.total for lines in totals] == [0] * 5
    assert report.to_text().endswith("training will accept it")
    assert "not a pair" not in report.to_text()
    assert "--json lists all" not in report.to_text()


def test_one_pair_is_too_few_without_validation_files(tmp_path):
    report = check_corpus(*files(tmp_path, [b"house"], [b"Haus"]))
    assert "training will accept it with validation files beside it" in report.to_text()


def test_the_advice_on_encodings_is_that_of_training(tmp_path):
    paths = files(tmp_path, ["Straße „so“".encode("cp1252"), b"a"], [b"street", b"b"])
    with pytest.raises(DataError, match="iconv -f WINDOWS-1252 -t UTF-8, a guess") as refused:
        list(read_pairs(*paths))
    report = check_corpus(*paths)
    assert report.source.advice is not None
    assert report.source.advice in str(refused.value)
    assert f"not UTF-8         1 (line 1): {report.source.advice}" in report.to_text()
    assert report.target.advice is None


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_refused_as_training_refuses_it(tmp_path, encoding):
    """UTF-16 of ASCII text is UTF-8 too, but for a byte-order mark."""
    (tmp_path / "a.tsv").write_bytes("a house\tein Haus\nyes\tja\n".encode(encoding))
    report = check_corpus(pairs=tmp_path / "a.tsv")
    assert not report.usable
    advice = {"utf-16": "UTF-16", "utf-16-le": "UTF-16LE", "utf-16-be": "UTF-16BE"}[encoding]
    assert f"all lines, as UTF-16: convert the file (iconv -f {advice} -t UTF-8" in report.to_text()


def test_only_over_long_lines_are_refused_as_training_refuses_them(tmp_path):
    report = check_corpus(*files(tmp_path, [b"word " * 300, b"", b"short"], [b"Wort", b"leer", b"Wort " * 300]))
    assert (report.sound, report.kept, report.usable) == (2, 0, False)
    verdict = "no pair is left (2 longer than 256 tokens, 1 with an empty side): training will refuse it"
    assert report.to_text().endswith(verdict)


def test_the_verdict_counts_the_pairs_that_training_drops(tmp_path):
    source = [b"word " * 300, b"", b"a", b"b", b"c"]
    target = [b"Wort " * 300, b"", b"", b"x", b"y"]
    report = check_corpus(*files(tmp_path, source, target))
    assert report.usable
    verdict = "training will accept it without 3 pairs (1 longer than 256 tokens, 2 with an empty side)"
    assert report.to_text().endswith(verdict)


def test_unequal_files_are_counted_to_the_end(tmp_path):
    report = check_corpus(*files(tmp_path, [b"a", b"b"], [b"c", b"d", b"e", b"\xff", b""]))
    assert (report.source.lines, report.target.lines, report.pairs, report.sound) == (2, 5, 2, 2)
    assert report.unequal
    assert not report.usable
    assert report.target.misencoded.first == (4,)
    assert "2 lines in" in report.to_text()


def test_long_lists_are_capped_but_counted(tmp_path):
    report = check_corpus(*files(tmp_path, [b""] * 500 + [b"x"], [b"y"] * 501))
    assert report.source.empty.total == 500
    assert report.source.empty.first == tuple(range(1, SHOWN + 1))
    assert f"500 (line {', '.join(map(str, range(1, SHOWN + 1)))}, ..)" in report.to_text()
    assert "the first 20 of each row; --json lists all" in report.to_text()
    assert report.to_dict()["source"]["empty"] == {"total": 500, "lines": list(range(1, 501))}


def test_ratios_are_judged_against_the_corpus(tmp_path):
    """Where every target is four times as long, the pair of equal lengths is the odd one."""
    source = [b"x" * 30] * 9 + [b"x" * 30]
    target = [b"y" * 120] * 9 + [b"y" * 30]
    report = check_corpus(*files(tmp_path, source, target))
    assert report.ratio == 0.25
    assert report.outliers.first == (10,)


def test_short_lines_are_no_outliers(tmp_path):
    report = check_corpus(*files(tmp_path, [b"house"] * 9 + [b"no"], [b"Haus."] * 9 + [b"aber nicht doch"]))
    assert report.outliers.total == 0


def test_a_line_without_spaces_can_be_over_long_too(tmp_path):
    report = check_corpus(*files(tmp_path, [b"ok", b"x" * 100_000], [b"gut", b"kurz"]), max_length=100)
    assert report.source.over_long.first == (2,)
    assert report.target.over_long.total == 0
    assert report.source.characters.longest == 100_000


def test_tsv_and_jsonl_list_the_lines_that_hold_no_pair(tmp_path):
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"a\tb\nalone\n\xff\tc\n\nd\te\n"))
    report = check_corpus(pairs=tmp_path / "a.tsv.gz")
    assert (report.pairs, report.sound, report.malformed.first) == (5, 2, (2,))
    assert report.source.misencoded.first == (3,)
    assert report.target.empty.first == (4,)
    assert not report.usable
    (tmp_path / "a.jsonl").write_text('{"source": "a", "target": "\\ud800"}\n{"source": "a"}\n[\n')
    report = check_corpus(pairs=tmp_path / "a.jsonl")
    assert (report.sound, report.malformed.first) == (1, (2, 3))
    assert "a.jsonl:2: no text under 'target'" in report.to_text()


def test_columns_that_are_not_read_are_told(tmp_path):
    (tmp_path / "a.tsv").write_text("1\ta small house\tein kleines Haus\nyes\tja\n")
    report = check_corpus(pairs=tmp_path / "a.tsv")
    assert (report.sound, report.wide.first, report.usable) == (2, (1,), True)
    assert "more columns        1 (line 1): the first two are read" in report.to_text()


def test_an_empty_file_has_no_longest_line(tmp_path):
    report = check_corpus(*files(tmp_path, [], [])).to_text()
    assert "line 0" not in report
    assert report.endswith("there is no line in it: training will refuse it")


def test_tmx_is_checked_by_unit(tmp_path):
    unit = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="de"><seg>{}</seg></tuv></tu>'
    body = unit.format("a", "b") + unit.format("", "c") + unit.format("a", "b")
    (tmp_path / "a.tmx").write_text(f"<tmx><body>{body}</body></tmx>")
    report = check_corpus(pairs=tmp_path / "a.tmx", languages=("en", "de"))
    assert (report.pairs, report.sound, report.duplicates.first, report.source.empty.first) == (3, 2, (3,), (2,))


def test_nothing_at_all_is_reported_not_divided_by(tmp_path):
    report = check_corpus(*files(tmp_path, [], []))
    assert (report.pairs, report.sound, report.usable) == (0, 0, False)
    assert report.to_text().startswith("pairs               0 (0 sound)")


def test_the_report_is_json(tmp_path):
    report = check_corpus(*files(tmp_path, *zip(*FAULTY, strict=True)))
    values = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert values["pairs"] == 11
    assert values["usable"] is False
    assert values["source"]["misencoded"] == {"total": 2, "lines": [3, 9]}
    assert values["target"]["words"]["longest_line"] == 11


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        check_corpus(tmp_path / "a.en", tmp_path / "a.de")
