"""Each filter on planted pairs; what is written, in every format; and a cleaning that is killed goes on to the same bytes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from regard.data import clean as clean_module
from regard.data import clean_files
from regard.data.clean import clean_corpus, table
from regard.data.filters import FILTERS, CleanSettings
from regard.data.formats import PairFiles
from regard.data.pocket.corpus import pocket_split
from regard.data.readers import Pair, read_pairs
from regard.data.seen import similar_hash
from regard.errors import ConfigError, DataError, DiskError, RegardError


@pytest.fixture(scope="module")
def pocket() -> list[Pair]:
    """French and English pairs, none twice."""
    pairs = [(pair.french, pair.english) for pair in pocket_split(train=5000, valid=1, test=1, seed=1).train]
    seen: dict[int, Pair] = {}
    for pair in pairs:
        seen.setdefault(similar_hash(*pair), pair)
    return list(seen.values())[:3000]


def moses(directory: Path, pairs: list[Pair]) -> PairFiles:
    directory.mkdir(exist_ok=True)
    for side, name in enumerate(("a.fr", "a.en")):
        (directory / name).write_bytes(
            b"".join(pair[side].encode("utf-8", "surrogateescape") + b"\n" for pair in pairs)
        )
    return PairFiles("moses", (str(directory / "a.fr"), str(directory / "a.en")))


def dropped(out: Path) -> dict[int, tuple[str, str]]:
    rows = [line.split("\t") for line in (out / "dropped.tsv").read_text(encoding="utf-8").split("\n")[:-1]]
    assert rows[0] == ["line", "filter", "value", "source", "target"]
    assert all(len(row) == 5 for row in rows)
    return {int(row[0]): (row[1], row[2]) for row in rows[1:]}


LONG = " ".join(["mot"] * 151)
PLANTED: list[tuple[Pair, str]] = [
    (("", "an empty side of the pair"), "empty"),
    (("deux cotés \udce9 bytes", "not utf-8 here"), "unreadable"),
    (("Ã©tait-il lÃ\xa0 hier soir", "was he there last night"), "encoding"),
    (("il \ufffdtait ici", "he was here"), "encoding"),
    (("il \x07sonne", "it rings"), "encoding"),
    (("le chаt dort ici", "the cat sleeps here"), "encoding"),
    (("le chat<br/>dort", "the cat sleeps"), "html"),
    (("le&nbsp;chat dort", "the cat sleeps"), "html"),
    ((LONG, LONG.replace("mot", "word")), "length"),
    (("le chat " + "x" * 51, "the cat " + "y" * 50), "length"),
    (("le chat dort sur le grand tapis de la maison rouge", "it does"), "ratio"),
    (("le chat dort sur le tapis", "le chat dort sur le tapis"), "copy"),
    (("le chat dort sur le grand tapis", "le chat dort sur le tapis"), "copy"),
    (("voir www.exemple.fr/chat", "see the page of the cat"), "links"),
    (("il est né en 1985 à Paris", "he was born in 1958 in Paris"), "numbers"),
    (("der Hund schläft auf dem Teppich", "the dog sleeps on the carpet"), "language"),
    (("le chien dort sur le tapis", "il cane dorme sul tappeto del salotto"), "language"),
]


def test_each_filter_finds_what_was_planted_and_little_else(pocket: list[Pair], tmp_path: Path) -> None:
    pairs = list(pocket)
    wanted: dict[int, str] = {}
    for place, (pair, name) in enumerate(PLANTED):
        pairs[100 * place + 50] = pair
        wanted[100 * place + 51] = name
    pairs += [pocket[0], (pocket[1][0].upper(), f"{pocket[1][1]} !!")]
    wanted |= {len(pocket) + 1: "duplicate", len(pocket) + 2: "near-duplicate"}
    done = clean_corpus(moses(tmp_path, pairs), tmp_path / "out")
    found = {line: name for line, (name, _) in dropped(tmp_path / "out").items()}
    assert {line: found.get(line) for line in wanted} == wanted
    assert len(found) - len(wanted) <= 2  # of 3,000
    assert done.languages == ("fr", "en")
    assert (done.pairs, done.kept) == (len(pairs), len(pairs) - len(found))
    assert done.dropped == {
        name: [*found.values()].count(name) for name in FILTERS if name not in ("misaligned", "model")
    }
    kept = [pair for line, pair in enumerate(pairs, 1) if line not in found]
    assert list(read_pairs(tmp_path / "out/clean.fr", tmp_path / "out/clean.en")) == kept
    assert json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8")) == done.to_dict()
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "clean.fr",
        "clean.en",
        "dropped.tsv",
        "summary.json",
    }


def test_a_filter_that_is_left_out_drops_nothing(pocket: list[Pair], tmp_path: Path) -> None:
    corpus = moses(tmp_path, [*pocket, *(pair for pair, _ in PLANTED), pocket[0]])
    names = {name for _, name in PLANTED} | {"duplicate"}
    everything = clean_corpus(corpus, None)
    for name in sorted(names - {"unreadable", "empty"}):
        done = clean_corpus(corpus, None, settings=CleanSettings(without=(name,)))
        assert name not in done.dropped
        assert done.kept >= everything.kept
    optional = tuple(name for name in FILTERS if name not in ("unreadable", "empty"))
    assert clean_corpus(corpus, None, settings=CleanSettings(without=optional)).kept == len(pocket) + len(PLANTED) - 1


@pytest.mark.parametrize("kind", ["moses", "tsv", "jsonl", "parquet", "tmx", "zip"])
def test_the_kept_pairs_are_the_same_in_every_format(kind: str, pocket: list[Pair], tmp_path: Path) -> None:
    chosen = [pair for pair in pocket if 30 < len(pair[0]) < 80][:300]
    pairs = [*chosen, ("le chat\tdort", "the cat\tsleeps"), PLANTED[6][0]]
    done = clean_corpus(moses(tmp_path, pairs), tmp_path / "out", kind)  # type: ignore[arg-type]
    names = ("clean.fr", "clean.en") if kind == "moses" else (f"clean.{kind}",)
    paths = [tmp_path / "out" / name for name in names]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*names, "dropped.tsv", "summary.json"}
    back = list(
        read_pairs(*paths, languages=("fr", "en"))
        if kind == "moses"
        else read_pairs(pairs=paths[0], languages=("fr", "en"))
    )
    tab = ("le chat dort", "the cat sleeps") if kind == "tsv" else ("le chat\tdort", "the cat\tsleeps")
    assert back == [*chosen, tab]
    assert done.altered == (2 if kind == "tsv" else 0)


# Going on


def bytes_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


class _Killed(BaseException):
    pass


@pytest.fixture
def planted(pocket: list[Pair], tmp_path: Path) -> PairFiles:
    pairs = [*pocket[:500], *pocket[:100], *(pair for pair, _ in PLANTED), *pocket[400:900]]
    return moses(tmp_path / "in", pairs)


@pytest.mark.parametrize("kind", ["moses", "tsv", "parquet"])
@pytest.mark.parametrize("when", [1, 4, 9, 11])
def test_a_cleaning_that_stops_anywhere_goes_on_to_the_same_bytes(
    when: int, kind: str, planted: PairFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean_module, "BLOCK", 100)
    monkeypatch.setattr(clean_module, "COMMIT_SECONDS", -1.0)
    whole = clean_corpus(planted, tmp_path / "whole", kind)  # type: ignore[arg-type]
    commit, calls = clean_files.CleanFiles.commit, 0

    def dying(files: clean_files.CleanFiles, pairs: int) -> None:
        nonlocal calls
        calls += 1
        if calls == when:
            for file in files._files.values():  # more has reached the disk than the state says
                file.flush()
            raise _Killed
        commit(files, pairs)

    with monkeypatch.context() as patch:
        patch.setattr(clean_files.CleanFiles, "commit", dying)
        with pytest.raises(_Killed):
            clean_corpus(planted, tmp_path / "out", kind)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "out.partial").exists() == (when > 1)
    again = clean_corpus(planted, tmp_path / "out", kind)  # type: ignore[arg-type]
    assert again.resumed == 100 * (when - 1)
    assert (again.kept, again.dropped, again.altered) == (whole.kept, whole.dropped, whole.altered)
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "whole")
    assert not (tmp_path / "out.partial").exists()


def test_a_killed_process_is_gone_on_with(planted: PairFiles, tmp_path: Path) -> None:
    """SIGKILL between two blocks, in a process of its own."""
    clean_corpus(planted, tmp_path / "whole")
    code = (
        "import sys; from pathlib import Path; from regard.data import clean; from regard.data.formats import PairFiles\n"
        "clean.BLOCK, clean.COMMIT_SECONDS = 50, -1.0\n"
        "judge = clean.Judge.__call__\n"
        "def slow(self, block, first):\n"
        "    if first == 600: print('here', flush=True); import time; time.sleep(600)\n"
        "    return judge(self, block, first)\n"
        "clean.Judge.__call__ = slow\n"
        "clean.clean_corpus(PairFiles('moses', tuple(sys.argv[1:3])), Path(sys.argv[3]))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, *planted.paths, str(tmp_path / "out")], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        process.send_signal(signal.SIGKILL)
    assert clean_corpus(planted, tmp_path / "out").resumed == 600
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "whole")


def stopped(corpus: PairFiles, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a cleaning that was stopped after its first block."""
    with monkeypatch.context() as patch:
        patch.setattr(clean_module, "COMMIT_SECONDS", -1.0)
        patch.setattr(clean_module, "BLOCK", 100)
        judged = iter([True])
        call = clean_module.Judge.__call__

        def once(*arguments: object) -> object:
            if not next(judged, False):
                raise KeyboardInterrupt
            return call(*arguments)  # type: ignore[arg-type]

        patch.setattr(clean_module.Judge, "__call__", once)
        with pytest.raises(KeyboardInterrupt):
            clean_corpus(corpus, out)


def test_other_settings_and_another_input_do_not_go_on(
    planted: PairFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    stopped(planted, out, monkeypatch)
    before = bytes_of(tmp_path / "out.partial")
    with pytest.raises(ConfigError, match=r"begun with another input or other settings \(ratio 3.0 -> 2.0\)"):
        clean_corpus(planted, out, settings=CleanSettings(ratio=2.0))
    with pytest.raises(ConfigError, match=r"begun with .* \(kind moses -> tsv\)"):
        clean_corpus(planted, out, "tsv")
    for path in planted.paths:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write("plus\n")
    with pytest.raises(ConfigError, match=r"begun with .* \(input "):
        clean_corpus(planted, out)
    assert bytes_of(tmp_path / "out.partial") == before
    (tmp_path / "out.partial" / "state.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"state\.json: damaged; delete .*out\.partial to start anew"):
        clean_corpus(planted, out)


def test_two_processes_do_not_write_one_directory(planted: PairFiles, tmp_path: Path) -> None:
    (tmp_path / "out.partial").mkdir()
    handle = os.open(tmp_path / "out.partial", os.O_RDONLY)
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(DiskError, match="another process is writing it"):
        clean_corpus(planted, tmp_path / "out")
    os.close(handle)


@pytest.mark.parametrize(
    ("arrange", "message"),
    [
        (lambda d: (d / "out").mkdir(), "it is there already"),
        (lambda d: (d / "out").symlink_to("nowhere"), "it is there already"),
        (lambda d: (d / "in/a.en").write_text("one\n"), r"a\.en: it has 1 lines, and the other side has more"),
        (lambda d: (d / "in/a.en").unlink(), "no such file"),
    ],
)
def test_what_cannot_be_cleaned_is_refused(arrange: object, message: str, planted: PairFiles, tmp_path: Path) -> None:
    arrange(tmp_path)  # type: ignore[operator]
    with pytest.raises(RegardError, match=message):
        clean_corpus(planted, tmp_path / "out")
    assert not (tmp_path / "out.partial").exists()


def test_a_setting_out_of_range_is_named() -> None:
    with pytest.raises(ConfigError, match="'lenght' is no filter; they are empty, encoding"):
        CleanSettings.parse({"without": ("lenght",)}, "the filters")
    with pytest.raises(ConfigError, match="ratio"):
        CleanSettings.parse({"ratio": 0.5}, "the filters")
    with pytest.raises(ConfigError, match="min_words = 10 is above max_words = 5"):
        CleanSettings.parse({"min_words": 10, "max_words": 5}, "the filters")


def test_unusual_corpora(tmp_path: Path) -> None:
    empty = moses(tmp_path / "empty", [])
    with pytest.raises(DataError, match="no pairs"):
        clean_corpus(empty, tmp_path / "nothing")
    assert not (tmp_path / "nothing.partial").exists()
    (tmp_path / "bad.jsonl").write_text(
        '{"source": "un chat noir", "target": "a black cat"}\nno json\n{}\n\n', encoding="utf-8"
    )
    done = clean_corpus(PairFiles("jsonl", (str(tmp_path / "bad.jsonl"),)), tmp_path / "out")
    assert (done.kept, done.dropped["unreadable"], done.dropped["empty"]) == (1, 2, 1)
    assert dropped(tmp_path / "out")[2][1].startswith(f"{tmp_path}/bad.jsonl:2: not JSON")
    assert "language" not in done.dropped  # too few sentences to tell, and no names
    with pytest.raises(ConfigError, match="standard input is read once"):
        clean_corpus(PairFiles("tsv", ("-",)), tmp_path / "other")


def test_control_characters_are_escaped_in_the_file_of_dropped_pairs(tmp_path: Path) -> None:
    corpus = moses(tmp_path / "in", [("a\x1b[31mred\ttab", "b\u202eright"), ("x\r", "\r")])
    clean_corpus(corpus, tmp_path / "out")
    text = (tmp_path / "out/dropped.tsv").read_text(encoding="utf-8")
    assert text.split("\n")[1] == "1\tencoding\tcontrol U+001B\ta\\x1b[31mred\\ttab\tb\\u202eright"
    assert text.split("\n")[2] == "2\tempty\ttarget\tx\t"


def test_the_model_judges_by_what_the_source_adds(pocket: list[Pair], tmp_path: Path) -> None:
    pairs = list(pocket[:200])
    first, second = [place for place, (source, _) in enumerate(pairs) if 28 <= len(source) <= 32][:2]
    pairs[first], pairs[second] = (pairs[first][0], pairs[second][1]), (pairs[second][0], pairs[first][1])
    truth = dict(pocket[:200])

    def score(sources: object, targets: object) -> list[float]:
        return [-1.0 if truth[source] == target else -3.0 for source, target in zip(sources, targets, strict=True)]  # type: ignore[call-overload]

    corpus = moses(tmp_path / "in", pairs)
    done = clean_corpus(corpus, tmp_path / "out", settings=CleanSettings(gain=0.5), model=score, model_name="m")
    assert {line for line, (name, _) in dropped(tmp_path / "out").items() if name == "model"} == {first + 1, second + 1}
    assert done.dropped["model"] == 2
    assert table(done)[-1].split()[:2] == ["kept", str(200 - sum(done.dropped.values()))]


def test_misaligned_pairs_are_found_by_their_words(pocket: list[Pair], tmp_path: Path) -> None:
    pairs = list(pocket)
    for place in range(0, 600, 20):
        pairs[place] = (pairs[place][0], pocket[(place + 1500) % len(pocket)][1])
    done = clean_corpus(moses(tmp_path / "in", pairs), tmp_path / "out", settings=CleanSettings(misaligned=True))
    lines = {line for line, (name, _) in dropped(tmp_path / "out").items() if name == "misaligned"}
    assert done.dropped["misaligned"] == len(lines)
    right = sum((line - 1) % 20 == 0 and line <= 600 for line in lines)
    assert right >= 12  # of 30
    assert len(lines) - right <= 15  # of 3,000
    settings = CleanSettings(misaligned=True, without=("misaligned",))
    assert clean_corpus(moses(tmp_path / "in", pairs), None, settings=settings).kept == done.kept + len(lines)


def test_a_pair_without_another_to_compare_with_is_kept(tmp_path: Path) -> None:
    done = clean_corpus(
        moses(tmp_path / "in", [("le chat dort ici", "the cat sleeps here")]),
        None,
        settings=CleanSettings(without=("language",)),
        model=lambda *_: [-9.0],
    )
    assert (done.kept, done.dropped["model"]) == (1, 0)
