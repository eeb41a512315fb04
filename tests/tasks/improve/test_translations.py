"""The filters of translations, on lines of which each has one fault; and the texts that are translated."""

import json
from pathlib import Path

import pytest

from regard.data.loops import loop_in
from regard.data.pocket.corpus import pocket_split
from regard.errors import DataError
from regard.tasks.improve.arguments import OWN_FILTERS, ImproveArguments
from regard.tasks.improve.monolingual import check_language, read_sentences
from regard.tasks.improve.plan import SUMMARY, TEXT, TRANSLATIONS, TranslateStage
from regard.tasks.improve.translations import counts_line, filter_translations

SPLIT = pocket_split(train=400, valid=0, test=60)
REAL = [(pair.french, pair.english) for pair in SPLIT.train]
NEW = next((pair.french, pair.english) for pair in SPLIT.test if len(pair.french) > 30 and len(pair.english) > 30)
LANGUAGES = ("fr", "en")
BACK = TranslateStage("round-1/back", "back", ("reverse",), False, True, 9, 0.0, seed=1)


def written(out: Path, rows: list[dict[str, object]], stage: TranslateStage = BACK) -> Path:
    text, home = out / TEXT, out / stage.place
    text.mkdir(exist_ok=True)
    home.mkdir(parents=True)
    for side, name in enumerate(("src", "tgt")):
        (text / f"train.{name}").write_text("".join(f"{pair[side]}\n" for pair in REAL), encoding="utf-8")
    corpora = {"corpora": [{"name": "train", "pairs": len(REAL), "weight": 1.0}]}
    (text / SUMMARY).write_text(json.dumps(corpora), encoding="utf-8")
    lines = [{"score": -0.1, "finished": True, **row} for row in rows]
    (home / TRANSLATIONS).write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return home


def row(source: str, translation: str, **more: object) -> dict[str, object]:
    return {"source": source, "translation": translation, **more}


FAULTS: dict[str, dict[str, object]] = {
    "unfinished": row(NEW[1], NEW[0], finished=False),
    "score": row(NEW[1], NEW[0], score=-4.5),
    "repetition": row(NEW[1], "le chat noir le chat noir le chat noir dort"),
    "empty": row(NEW[1], ""),
    "ratio": row(NEW[1], "oui"),
    "copy": row(NEW[1], NEW[1]),
    "language": row(NEW[1], "I never know what the old woman wants to hear from them today, and you know it"),
    "duplicate": row(REAL[0][1], REAL[0][0]),
}


def test_each_filter_finds_its_fault(tmp_path: Path) -> None:
    assert set(OWN_FILTERS) < set(FAULTS)
    home = written(tmp_path, [row(NEW[1], NEW[0]), *FAULTS.values()])
    summary = filter_translations(BACK, ImproveArguments(mono_tgt="x", min_score=-4.0), LANGUAGES, tmp_path)
    dropped = [line.split("\t") for line in (home / "dropped.tsv").read_text(encoding="utf-8").splitlines()]
    assert dropped[0] == ["line", "filter", "value", "src", "tgt"]
    assert [line[:2] for line in dropped[1:]] == [[str(n), name] for n, name in enumerate(FAULTS, 2)]
    sides = [(home / f"kept.{side}").read_text(encoding="utf-8") for side in ("src", "tgt")]
    assert sides == [f"{NEW[0]}\n", f"{NEW[1]}\n"]  # in the order of RUN, though it was translated back
    assert summary["kept"] == 1
    assert summary["sentences"] == 9
    assert {name: count for name, count in summary["dropped"].items() if count} == dict.fromkeys(FAULTS, 1)
    assert counts_line(summary).startswith("1 of 9 kept; dropped: unfinished 1, score 1, repetition 1, ")


def test_a_line_break_in_a_translation_is_a_space(tmp_path: Path) -> None:
    french, english = NEW
    broken = french.replace(" ", "\r", 1).replace(" ", "\u2028", 1).replace(" ", "\r\n", 1)
    home = written(tmp_path, [row(f"{english}\r", broken)])
    arguments = ImproveArguments(mono_tgt="x", language_check=False, without=("encoding",))
    assert filter_translations(BACK, arguments, LANGUAGES, tmp_path)["kept"] == 1
    assert (home / "kept.src").read_bytes() == f"{french}\n".encode()
    assert (home / "kept.tgt").read_bytes() == f"{english}\n".encode()


def test_filters_can_be_left_out(tmp_path: Path) -> None:
    written(tmp_path, [FAULTS[name] for name in ("unfinished", "score", "repetition", "copy", "language")])
    without = ("unfinished", "repetition", "copy", "ratio", "near-duplicate", "duplicate")
    arguments = ImproveArguments(mono_tgt="x", without=without, language_check=False)
    assert filter_translations(BACK, arguments, LANGUAGES, tmp_path)["kept"] == 5


def test_what_an_earlier_stage_has_kept_is_a_duplicate(tmp_path: Path) -> None:
    arguments = ImproveArguments(own_text=True)
    written(tmp_path, [row(NEW[1], NEW[0])])
    filter_translations(BACK, arguments, LANGUAGES, tmp_path)
    place = "round-1/forward"
    forward = TranslateStage(place, "forward", ("",), True, False, 2, 0.0, seed=1, earlier=(BACK.place,))
    other = (SPLIT.test[0].french, SPLIT.test[0].english)
    written(tmp_path, [row(*NEW), row(*other)], forward)
    summary = filter_translations(forward, arguments, LANGUAGES, tmp_path)
    assert (summary["kept"], summary["dropped"]["duplicate"]) == (1, 1)


def test_a_stage_that_keeps_nothing_is_refused(tmp_path: Path) -> None:
    home = written(tmp_path, [FAULTS["copy"], FAULTS["copy"], FAULTS["empty"]])
    with pytest.raises(DataError, match=r"no translation is left of 3, 2 of them dropped as 'copy'.*--without copy"):
        filter_translations(BACK, ImproveArguments(mono_tgt="x"), LANGUAGES, tmp_path)
    assert not (home / SUMMARY).exists()  # the stage is not done


def test_loops() -> None:
    assert loop_in(["a", "b", "a", "b", "a", "b"]) == "a b"
    assert loop_in(["no", "no", "no"]) == "no"
    assert loop_in(["a", "b", "a", "b", "a"]) is None
    assert loop_in([]) is None


def test_text_in_another_language_is_refused_with_counts(tmp_path: Path) -> None:
    french, english = ([pair[side] for pair in REAL[:200]] for side in (0, 1))
    check_language("a.fr", "--mono-src", french, "fr", ())
    check_language("a.fr", "--mono-src", french, "fr-FR", ())
    check_language("a.fr", "--mono-src", french, None, french)  # the language is that of the run's own text
    check_language("a", "--mono-src", ["1 2 3"] * 9, "fr", ())  # which tells nothing
    for language, like in (("fr", ()), (None, french)):
        with pytest.raises(DataError, match=r"--mono-src a.fr: 1\d\d of 1\d\d sentences look like en, and \d+ like fr"):
            check_language("a.fr", "--mono-src", english, language, like)


def test_an_empty_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("\n  \n", encoding="utf-8")
    with pytest.raises(DataError, match=r"--mono-src .*a: no sentences in it"):
        read_sentences(str(tmp_path / "a"), "--mono-src")
    (tmp_path / "a").write_text(" one \n\ntwo\n", encoding="utf-8")
    assert read_sentences(str(tmp_path / "a"), "--mono-src") == ["one", "two"]
