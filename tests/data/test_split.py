"""The parts of a corpus: nothing is lost, nothing is twice, a source is in one part, and its further targets are alternatives."""

import random
from pathlib import Path

import pytest

from regard.data.convert import read_files
from regard.data.formats import PairFiles
from regard.data.split import Order, SplitPart, check_split, split_corpus
from regard.errors import ConfigError, DataError, DiskError

Pair = tuple[str, str]
CORPUS: list[Pair] = [(f"word {n % 40}", " ".join(["t"] * (1 + n % 7)) + f" {n}") for n in range(60)]


def written(path: Path, pairs: list[Pair]) -> PairFiles:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return PairFiles("tsv", (str(path),))


def split(home: Path, name: str, pairs: list[Pair] = CORPUS, **options: int | Order) -> list[SplitPart]:
    files = written(home / f"{name}.tsv", pairs)
    return split_corpus(files, read_files, home / name, **options)  # type: ignore[arg-type]


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def pairs_of(home: Path, part: str) -> list[Pair]:
    """All pairs of a part, alternatives included."""
    sources = lines(home / f"{part}.src")
    targets = [lines(path) for path in sorted(home.glob(f"{part}.tgt*"))]
    return [(source, column[place]) for column in targets for place, source in enumerate(sources) if column[place]]


def test_a_random_split_has_every_pair_once_and_a_source_in_one_part(tmp_path: Path) -> None:
    parts = split(tmp_path, "a", valid=5, test=10, seed=3)
    found = {part: pairs_of(tmp_path / "a", part) for part in ("train", "valid", "test")}
    assert sorted(pair for part in found.values() for pair in part) == sorted(CORPUS)
    sources = [{source for source, _ in part} for part in found.values()]
    assert [len(part) for part in sources] == [25, 5, 10]
    assert len(set.union(*sources)) == 40
    assert [part.pairs for part in parts] == [len(part) for part in found.values()]
    for part in ("valid", "test"):  # once each
        assert len(lines(tmp_path / "a" / f"{part}.src")) == len({*lines(tmp_path / "a" / f"{part}.src")})
    assert len(lines(tmp_path / "a" / "train.src")) == len(found["train"])
    assert not (tmp_path / "a" / "train.tgt2").exists()


def test_the_seed_decides(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        split(tmp_path, name, valid=5, test=10, seed=seed)
    texts = [(tmp_path / name / "test.src").read_text() for name in "abc"]
    assert texts[0] == texts[1] != texts[2]


def test_alternatives_stand_in_files_of_their_own(tmp_path: Path) -> None:
    [train, test] = split(tmp_path, "a", [("a", "1"), ("a", "2"), ("a", "1"), ("b", "3"), ("c", " ")], valid=0, test=1)
    assert (train.sources, test.sources) == (1, 1)  # the pair without a target is left out
    one = tmp_path / "a"
    if lines(one / "test.src") == ["a"]:
        assert [lines(one / name) for name in ("test.tgt", "test.tgt2", "train.tgt")] == [["1"], ["2"], ["3"]]
    else:
        assert [lines(one / name) for name in ("test.tgt", "train.src", "train.tgt")] == [["3"], ["a", "a"], ["1", "2"]]


def test_the_given_order_keeps_repeats(tmp_path: Path) -> None:
    pairs = [("x", "1"), ("y", "2"), ("x", "1"), ("x", "3"), ("z", "4")]
    parts = split(tmp_path, "a", pairs, valid=1, test=2, order="given")
    assert [pairs_of(tmp_path / "a", part.name) for part in parts] == [pairs[:2], pairs[2:3], pairs[3:]]


def test_by_length_the_longest_targets_come_last(tmp_path: Path) -> None:
    split(tmp_path, "a", valid=10, test=5, order="length")
    lengths = [
        [len(target.split()) for _, target in pairs_of(tmp_path / "a", part)] for part in ("train", "valid", "test")
    ]
    assert max(lengths[0]) <= min(lengths[1]) <= max(lengths[1]) <= min(lengths[2])
    assert sorted(length for part in lengths for length in part) == sorted(len(target.split()) for _, target in CORPUS)


def test_languages_choose_the_sides(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"translation": {"en": "one", "de": "eins"}}\n{"translation": {"en": "two", "de": "zwei"}}\n')
    files = PairFiles("jsonl", (str(path),))
    split_corpus(files, read_files, tmp_path / "o", valid=1, test=0, order="given", languages=("de", "en"))
    assert pairs_of(tmp_path / "o", "valid") == [("zwei", "two")]


def test_what_does_not_fit_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.tsv: 40 different sources, and --valid 20 and --test 20 leave nothing"):
        split(tmp_path, "a", valid=20, test=20)
    with pytest.raises(DataError, match=r"b\.tsv: 60 pairs, and --valid 60"):
        split(tmp_path, "b", valid=60, test=0, order="given")
    assert not (tmp_path / "a").exists()
    (tmp_path / "c").mkdir()
    with pytest.raises(DiskError, match="it is there already"):
        split(tmp_path, "c", valid=1, test=1)
    with pytest.raises(ConfigError, match=r"--order lenght: not one of random, given, length"):
        check_split(1, 1, "lenght", None, ["a", "b"])
    with pytest.raises(ConfigError, match=r"--seed 4: the order given draws nothing"):
        check_split(1, 1, "given", 4, ["a", "b"])
    with pytest.raises(ConfigError, match=r"--valid 0 and --test 0: nothing is taken"):
        check_split(0, 0, "given", None, ["a", "b"])
    with pytest.raises(ConfigError, match="not standard output"):
        check_split(1, 0, "given", None, ["a", "-"])


def test_a_source_with_very_many_targets_makes_no_files_of_its_own(tmp_path: Path) -> None:
    several = [("many", str(number)) for number in range(16)] + [("one", "x")]
    [_, test] = split(tmp_path, "a", [*several, ("two", "y")], valid=0, test=2, seed=_seed_of_many())
    assert test.references == 16
    message = (
        r"b\.tsv: many has 17 different targets, and a source .* at most 16, .*; leave some out, or split with --order"
    )
    with pytest.raises(DataError, match=message):
        split(tmp_path, "b", [*several, ("two", "y"), ("many", "z")], valid=0, test=2, seed=_seed_of_many())
    assert not (tmp_path / "b").exists()


def _seed_of_many() -> int:
    """A seed that puts the first of three sources into the test text of two."""

    def shuffled(seed: int) -> list[int]:
        order = [0, 1, 2]
        random.Random(seed).shuffle(order)
        return order

    return next(seed for seed in range(100) if shuffled(seed)[0] != 0)
