"""The directory of a cleaning: what it is called, whose it is, and what a kill in its last moments leaves."""

import json
from pathlib import Path

import pytest

from regard.data.clean import clean_corpus
from regard.data.clean_files import CleanFiles
from regard.data.filters import CleanSettings
from regard.data.formats import PairFiles
from regard.data.readers import read_pairs
from regard.errors import ConfigError, DiskError

PAIRS = [(f"le chat {word} dort ici", f"the cat {word} sleeps here") for word in ("noir", "petit", "grand", "vieux")]
ALL = CleanSettings(without=("ratio", "copy", "numbers", "language", "near-duplicate"))


class _Killed(BaseException):
    pass


def corpus(directory: Path, names: tuple[str, str] = ("a.fr", "a.en")) -> PairFiles:
    """Four pairs in two files."""
    directory.mkdir(exist_ok=True)
    for side, name in enumerate(names):
        (directory / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS), encoding="utf-8")
    return PairFiles("moses", (str(directory / names[0]), str(directory / names[1])))


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize(
    ("names", "languages"),
    [(("a.en", "b.en"), (None, None)), (("a.txt", "b.txt"), ("EN", "en")), (("a.txt", "b.txt"), ("tgt", None))],
)
def test_sides_of_one_language_are_two_files(
    names: tuple[str, str], languages: tuple[str | None, str | None], tmp_path: Path
) -> None:
    done = clean_corpus(corpus(tmp_path / "in", names), tmp_path / "out", languages=languages, settings=ALL)
    assert done.kept == 4
    assert names_in(tmp_path / "out") == ["clean.src", "clean.tgt", "dropped.tsv", "summary.json"]
    assert list(read_pairs(tmp_path / "out/clean.src", tmp_path / "out/clean.tgt")) == PAIRS


def test_a_directory_that_no_cleaning_has_made_is_not_touched(tmp_path: Path) -> None:
    files = corpus(tmp_path / "in")
    partial = tmp_path / "out.partial"
    partial.mkdir()
    (partial / "dropped.tsv").write_text("mine\n", encoding="utf-8")
    (partial / "thesis.txt").write_text("mine\n", encoding="utf-8")
    with pytest.raises(DiskError) as caught:
        clean_corpus(files, tmp_path / "out", settings=ALL)
    assert str(caught.value).startswith(f"{partial}: holds dropped.tsv, and no state.json of a cleaning; choose")
    assert names_in(partial) == ["dropped.tsv", "thesis.txt"]
    assert (partial / "dropped.tsv").read_text(encoding="utf-8") == "mine\n"
    assert not (tmp_path / "out").exists()


def test_an_error_before_the_first_pairs_leaves_what_others_put_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def putting(files: CleanFiles, pairs: int) -> None:
        (files.partial / "thesis.txt").touch()
        raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr(CleanFiles, "commit", putting)
        with pytest.raises(_Killed):
            clean_corpus(corpus(tmp_path / "in"), tmp_path / "out", settings=ALL)
    assert names_in(tmp_path / "out.partial") == ["thesis.txt"]


def test_a_kill_before_the_first_pairs_is_gone_on_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = corpus(tmp_path / "in")

    def killed(files: CleanFiles, pairs: int) -> None:
        for file in files._files.values():
            file.flush()
        raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr(CleanFiles, "commit", killed)
        patch.setattr(CleanFiles, "abandon", lambda files: False)
        with pytest.raises(_Killed):
            clean_corpus(files, tmp_path / "out", settings=ALL)
    assert (tmp_path / "out.partial/dropped.tsv").exists()
    (tmp_path / "out.partial/state.json.partial-12345678").touch()
    clean_corpus(files, tmp_path / "out", settings=ALL)
    assert (tmp_path / "out/dropped.tsv").read_text(encoding="utf-8") == "line\tfilter\tvalue\tsource\ttarget\n"
    assert list(read_pairs(tmp_path / "out/clean.fr", tmp_path / "out/clean.en")) == PAIRS


@pytest.mark.parametrize("kind", ["moses", "tmx"])
@pytest.mark.parametrize("name", ["kept.jsonl", "hashes.bin", "state.json", "rename"])
def test_a_kill_while_the_files_are_cleared_away_loses_nothing(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = corpus(tmp_path / "in")
    clean_corpus(files, tmp_path / "whole", kind, settings=ALL)  # type: ignore[arg-type]
    unlink, rename = Path.unlink, Path.rename

    def dying(path: Path, missing_ok: bool = False) -> None:
        if path.name == name:
            raise _Killed
        unlink(path, missing_ok=missing_ok)

    def dying_rename(path: Path, target: Path) -> Path:
        if name == "rename" and path.name == "out.partial":
            raise _Killed
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", dying)
        patch.setattr(Path, "rename", dying_rename)
        with pytest.raises(_Killed):
            clean_corpus(files, tmp_path / "out", kind, settings=ALL)  # type: ignore[arg-type]
    if not (tmp_path / "out").exists():
        clean_corpus(files, tmp_path / "out", kind, settings=ALL)  # type: ignore[arg-type]
    assert not (tmp_path / "out.partial").exists()
    for path in (tmp_path / "whole").iterdir():
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


def test_the_summary_counts_what_the_last_format_has_changed(tmp_path: Path) -> None:
    row = {"source": "le chat\ufffe dort", "target": "the cat sleeps"}  # XML has no U+FFFE
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(row)}\n", encoding="utf-8")
    settings = CleanSettings(without=(*ALL.without, "encoding"))
    done = clean_corpus(
        PairFiles("jsonl", (str(tmp_path / "a.jsonl"),)), tmp_path / "out", "tmx", ("fr", "en"), settings
    )
    assert done.altered == 1
    assert json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))["altered"] == 1


def test_an_output_that_cannot_be_written_is_called_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = corpus(tmp_path / "in", ("a.txt", "b.txt"))
    with pytest.raises(ConfigError, match=r"^out: tmx names both languages; give --src-lang and --tgt-lang$"):
        clean_corpus(files, Path("out"), "tmx", settings=ALL)
    (tmp_path / "clean.new.src").touch()  # nobody's business
    assert clean_corpus(files, Path("out"), settings=ALL).kept == 4


def test_the_format_decides_of_line_breaks(tmp_path: Path) -> None:
    pair = ("le chat\ndort ici", "the cat\nsleeps here")
    row = {"source": pair[0], "target": pair[1]}
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(row)}\n", encoding="utf-8")
    files = PairFiles("jsonl", (str(tmp_path / "a.jsonl"),))
    settings = CleanSettings(without=ALL.without)
    kept = clean_corpus(files, tmp_path / "same", settings=settings)
    assert (kept.kept, kept.altered) == (1, 0)
    assert json.loads((tmp_path / "same/clean.jsonl").read_text(encoding="utf-8")) == row
    changed = clean_corpus(files, tmp_path / "lines", "tsv", settings=settings)
    assert changed.altered == 2
    (tmp_path / "a.tsv").write_bytes(b"le chat\rdort ici\tthe cat sleeps here\n")  # no format of sentences with breaks
    assert clean_corpus(PairFiles("tsv", (str(tmp_path / "a.tsv"),)), None).dropped["encoding"] == 1
    assert (tmp_path / "lines/clean.tsv").read_text(encoding="utf-8") == "le chat dort ici\tthe cat sleeps here\n"
