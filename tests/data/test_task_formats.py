"""The formats of tasks as pairs: what stands in small files of each, written by hand, and what is refused."""

import gzip
from pathlib import Path

import pytest

from regard.data.formats import PairFiles
from regard.data.groups import read_groups
from regard.data.task_formats import TASK_FORMATS, parted, spelled, take_corpus
from regard.errors import ConfigError, DataError

SCAN = "IN: jump twice OUT: I_JUMP I_JUMP\nIN: turn left after walk OUT: I_WALK I_TURN_LEFT\n"
CMUDICT = ";;; a comment\nread R EH1 D\nread(2) R IY1 D # present\n'bout B AW1 T\nrecord R EH1 K ER0 D\nrecord(2) R EH2 K ER0 D\n"


def pairs(kind: str, *paths: Path) -> list[tuple[str, str]]:
    files, read, rest = take_corpus([*map(str, paths), "out"], kind, "IN OUT")
    assert list(rest) == ["out"]
    return list(read(files, (None, None)))


def test_scan(tmp_path: Path) -> None:
    path = tmp_path / "tasks.txt.gz"
    path.write_bytes(gzip.compress(SCAN.encode()))
    assert pairs("scan", path) == [("jump twice", "I_JUMP I_JUMP"), ("turn left after walk", "I_WALK I_TURN_LEFT")]


def test_cmudict_with_and_without_stress(tmp_path: Path) -> None:
    path = tmp_path / "cmudict.dict"
    path.write_text(CMUDICT)
    stressed = pairs("cmudict", path)
    assert stressed[:3] == [("r e a d", "R EH1 D"), ("r e a d", "R IY1 D"), ("' b o u t", "B AW1 T")]
    assert len(stressed) == 5
    plain = pairs("cmudict-unstressed", path)
    assert plain[:3] == [("r e a d", "R EH D"), ("r e a d", "R IY D"), ("' b o u t", "B AW T")]
    assert plain[3:] == [("r e c o r d", "R EH K ER D")]  # both differ in stress alone


def test_code_and_its_description_have_the_same_pieces(tmp_path: Path) -> None:
    description, code = tmp_path / "all.anno", tmp_path / "all.code"
    description.write_text("  self._lock is a string 'it is  here'.\n if not x[0], don't stop.\n")
    code.write_text("     self . _lock = 'it is  here'\n\n")
    assert pairs("code", description, code) == [
        ("self . _lock is a string 'it is  here' .", "self . _lock = 'it is here'"),
        ("if not x [ 0 ] , don ' t stop .", ""),
    ]
    assert parted("f(\"a b\") == ''") == "f ( \"a b\" ) = = ''"


def test_spelled() -> None:
    assert spelled("a.m") == "a . m"


def test_cogs_and_its_groups(tmp_path: Path) -> None:
    path = tmp_path / "gen.tsv"
    path.write_text("A cat ran .\tcat ( x _ 1 )\tprim_to_subj\nTom ran .\trun ( Tom )\tpp\r\n")
    assert pairs("cogs", path) == [("A cat ran .", "cat ( x _ 1 )"), ("Tom ran .", "run ( Tom )")]
    sources = ["A cat ran .", "Tom ran ."]
    assert read_groups(str(path), sources, "gen.src") == ["prim_to_subj", "pp"]
    (tmp_path / "types").write_text("one\ntwo\n")
    assert read_groups(str(tmp_path / "types"), sources, "gen.src") == ["one", "two"]
    with pytest.raises(DataError, match=r"gen\.tsv:2: Tom ran \., and gen\.src:2 has A dog ran \.; the groups must be"):
        read_groups(str(path), ["A cat ran .", "A dog ran ."], "gen.src")
    with pytest.raises(DataError, match=r"types: 2 lines, and gen\.src has 1; give the group of each line"):
        read_groups(str(tmp_path / "types"), sources[:1], "gen.src")
    (tmp_path / "types").write_text("one\n \n")
    with pytest.raises(DataError, match=r"types:2: empty; give the group"):
        read_groups(str(tmp_path / "types"), sources, "gen.src")


def test_comments_of_cmudict_are_skipped_and_a_word_with_their_mark_is_not(tmp_path: Path) -> None:
    path = tmp_path / "cmudict.dict"
    path.write_text("# a comment\n # another\n\t#\n ;;; old\n#hash HH AE1 SH # a word\n  cat K AE1 T # it\n")
    assert pairs("cmudict", path) == [("# h a s h", "HH AE1 SH"), ("c a t", "K AE1 T")]


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("scan", "IN: jump OUT: I_JUMP\nIN: jump\n", r"bad:2: IN: jump is not of SCAN; each line must be IN: command"),
        ("scan", "jump\tI_JUMP\x1b[2J\n", r"bad:1: jump\\tI_JUMP\\x1b\[2J is not of SCAN"),
        ("cmudict", "cat K AE1 T\ndog\n", r"bad:2: no phonemes; each line must be a word and its phonemes"),
        ("cmudict", "cat k ae t\n", r"bad:1: k is no phoneme"),
        ("cogs", "a\tb\n", r"bad:1: 2 columns; each line must be sentence<TAB>logical form<TAB>type"),
        ("cogs", "a\n", r"bad:1: 1 column; each line"),
    ],
)
def test_a_line_of_another_kind_is_refused_with_its_number(tmp_path: Path, kind: str, text: str, message: str) -> None:
    path = tmp_path / "bad"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        pairs(kind, path)


def test_two_sides_of_unequal_length_are_refused(tmp_path: Path) -> None:
    for name, text in (("a.anno", "one\ntwo\n"), ("a.code", "1\n")):
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=r"a\.anno has 2 lines but .*a\.code has 1"):
        pairs("code", tmp_path / "a.anno", tmp_path / "a.code")


def test_names_that_are_missing_or_unknown() -> None:
    with pytest.raises(ConfigError, match=r"--from code: 2 file names; give DESCRIPTIONS CODE OUT"):
        take_corpus(["a", "b"], "code", "IN OUT")
    with pytest.raises(ConfigError, match=r"--from scan: 1 file name; give IN OUT"):
        take_corpus(["a"], "scan", "IN OUT")
    with pytest.raises(ConfigError, match=r"--from skan: not one of moses, tsv, .*, scan, cmudict,"):
        take_corpus(["a", "b"], "skan", "IN OUT")
    with pytest.raises(ConfigError, match=r"'-' can be read only once"):
        take_corpus(["-", "-", "o"], "code", "IN OUT")
    files, _, rest = take_corpus(["a.tsv", "o"], None, "IN OUT")
    assert (files, list(rest)) == (PairFiles("tsv", ("a.tsv",)), ["o"])
    assert set(TASK_FORMATS) >= {"scan", "cmudict", "cmudict-unstressed", "code", "cogs"}
