"""`regard explain`, and the ways to align, as a user runs them."""

import json
import shutil
from pathlib import Path

import pytest

from regard.bundle.config import Languages
from regard.bundle.locate import find_bundle
from regard.bundle.rewriting import rewrite_config
from regard.metrics.alignment import flipped, joined, parse_pharaoh
from regard.settings import read_json
from regard.tasks.bundles import open_bundle
from regard.tasks.load import load_translator
from regard.tasks.translate.settings import TranslateBundle

SENTENCE = "le chat dort"


def test_told_in_a_terminal(command, small_run) -> None:
    result = command("explain", small_run, SENTENCE, "--target", "the cat sleeps", "--mask", "chat")
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert lines[0] == "the cat sleeps"
    assert lines[1].startswith("log-probability -")
    assert {line.split("\t")[3] for line in lines[2:] if line.count("\t") == 3} == {"attention", "norm", "zeroing"}
    assert lines[-1].startswith("without “chat”\t")


def test_files_by_their_suffix(command, small_run, tmp_path: Path) -> None:
    out = tmp_path / "data.json"
    result = command("explain", small_run, SENTENCE, "--out", out, "--beside", small_run, "--without", "cross.1.1")
    assert result.code == 0, result.err
    assert result.out == f"{out}\n"
    one, other = json.loads(out.read_text(encoding="utf-8"))["explanations"]
    assert one == other  # the same model twice
    assert [change["name"] for change in one["what_if"]] == ["without cross layer 1 head 1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "page.doc"], "page.doc: an explanation is written as .html"),
        (["--mask", "chien"], "no word 'chien'"),
        (["--replace", "chat"], "write WORD=OTHER"),
        (["--without", "cross.9.1"], "this model has"),
        (["--without", "nowhere.1.1"], "as in cross.3.1"),
    ],
)
def test_mistakes_are_told_in_a_line(command, small_run, arguments: list[str], words: str) -> None:
    result = command("explain", small_run, SENTENCE, *arguments)
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1


def test_the_best_way_to_align_is_picked_and_used(command, small_run, tmp_path: Path) -> None:
    (tmp_path / "fr").write_text("le chat dort\nje suis\n", encoding="utf-8")
    (tmp_path / "en").write_text("the cat sleeps\nI am\n", encoding="utf-8")
    (tmp_path / "gold").write_text("0-0 1-1 2-2\n0-0 1-1\n", encoding="utf-8")
    sides = ["--src", tmp_path / "fr", "--tgt", tmp_path / "en"]
    picked = command("align", small_run, *sides, "--pick", tmp_path / "gold", "--save", tmp_path / "how.json")
    assert picked.code == 0, picked.err
    table = [line.split() for line in picked.out.splitlines()]
    assert table[0][:3] == ["method", "choice", "AER"]
    assert {row[0] for row in table[1:]} == {"attention", "norm", "zeroing"}
    errors = [float(row[2]) for row in table[1:]]
    assert errors == sorted(errors)
    evaluated = command(
        *("evaluate", small_run, "--src", tmp_path / "fr", "--ref", tmp_path / "en", "--beam", "1", "--json"),
        *("--gold-align", tmp_path / "gold", "--align-method", tmp_path / "how.json"),
    )
    assert json.loads(evaluated.out)["aer"] == pytest.approx(errors[0], abs=1e-4)
    aligned = command("align", small_run, *sides, "--method", "zeroing")
    assert aligned.code == 0
    assert len(aligned.out.splitlines()) == 2
    translated = command("translate", small_run, "--align", "--align-method", "norm", stdin="je suis\n")
    assert "\t" in translated.out


def test_a_bundle_remembers_what_was_picked(command, small_run, tmp_path: Path) -> None:
    run = Path(shutil.copytree(small_run, tmp_path / "run"))
    (tmp_path / "fr").write_text("le chat dort\nje suis\n", encoding="utf-8")
    (tmp_path / "en").write_text("the cat sleeps\nI am\n", encoding="utf-8")
    (tmp_path / "gold").write_text(
        "2-0 1-1 0-2\n1-0 0-1\n", encoding="utf-8"
    )  # backwards, so that the best is not the mean
    sides = ["--src", tmp_path / "fr", "--tgt", tmp_path / "en"]
    picked = command("align", run, *sides, "--pick", tmp_path / "gold", "--save", tmp_path / "how.json", "--remember")
    assert picked.code == 0, picked.err
    assert load_translator(run).alignment.model_dump(mode="json") == json.loads((tmp_path / "how.json").read_text())
    named = command("align", run, *sides, "--method", tmp_path / "how.json")
    assert command("align", run, *sides).out == named.out
    assert command("align", small_run, *sides).out == command("align", run, *sides, "--method", "attention").out


def reversed_copy(run: Path, copy: Path) -> Path:
    """The same model, which says that it translates the other way round."""
    shutil.copytree(run, copy)
    bundle = find_bundle(copy)
    config = TranslateBundle.parse(read_json(bundle / "config.json"))
    languages = Languages(source=config.languages.target, target=config.languages.source)
    assert languages != config.languages
    rewrite_config(open_bundle(bundle), config.model_copy(update={"languages": languages}))
    return copy


@pytest.mark.parametrize("rule", [None, "both", "either"])
def test_the_links_of_two_directions_are_joined(command, small_run, tmp_path: Path, rule: str | None) -> None:
    (tmp_path / "fr").write_text("le petit chat dort\nje suis\n\n", encoding="utf-8")
    (tmp_path / "en").write_text("the little cat is asleep\nI am\nyes\n", encoding="utf-8")
    forward, backward = (
        [parse_pharaoh(line)[0] for line in command("align", small_run, *sides).out.splitlines()]
        for sides in (
            ("--src", tmp_path / "fr", "--tgt", tmp_path / "en"),
            ("--src", tmp_path / "en", "--tgt", tmp_path / "fr", "--method", "norm"),
        )
    )
    assert forward[0]
    backwards = reversed_copy(small_run, tmp_path / "backwards")
    asked = ["--reverse-method", "norm", *([] if rule is None else ["--join", rule])]
    result = command(
        "align", small_run, "--src", tmp_path / "fr", "--tgt", tmp_path / "en", "--reverse", backwards, *asked
    )
    assert result.code == 0, result.err
    expected = [joined(one, flipped(other), rule or "grow-diag") for one, other in zip(forward, backward, strict=True)]
    assert [parse_pharaoh(line)[0] for line in result.out.split("\n")[:-1]] == expected


def test_a_method_that_does_not_exist(command, small_run, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n", encoding="utf-8")
    sides = ["--src", tmp_path / "a", "--tgt", tmp_path / "a"]
    result = command("align", small_run, *sides, "--method", "magic")
    assert (result.code, "attention, norm, zeroing" in result.err) == (2, True)
    result = command("align", small_run, *sides, "--save", tmp_path / "b")
    assert (result.code, "--pick" in result.err) == (2, True)
    result = command("align", small_run, *sides, "--remember")
    assert (result.code, "--remember: there is nothing to keep" in result.err) == (2, True)
    result = command("align", small_run, *sides, "--join", "both")
    assert (result.code, "--join both: there is nothing to join without --reverse" in result.err) == (2, True)
    result = command("align", small_run, *sides, "--reverse", small_run, "--join", "all")
    assert (result.code, "--join all: not one of both, either, grow-diag" in result.err) == (2, True)
    result = command("align", small_run, *sides, "--reverse-method", "norm")
    assert (result.code, "--reverse-method norm: there is nothing to join" in result.err) == (2, True)
    result = command("align", small_run, *sides, "--reverse", small_run)
    assert (result.code, "it translates from fr to en; give a model from en to fr" in result.err) == (2, True)
    other = reversed_copy(small_run, tmp_path / "other")
    result = command("align", small_run, *sides, "--reverse", other, "--reverse-method", "magic")
    assert (result.code, "--reverse-method magic: not one of" in result.err) == (2, True)
    (tmp_path / "how.json").write_text('{"heads": [[9, 0]]}', encoding="utf-8")
    result = command("align", small_run, *sides, "--method", tmp_path / "how.json")
    assert (result.code, "alignment by layer 9, head 0: this model has" in result.err) == (2, True)
    result = command("align", small_run, *sides, "--reverse", small_run, "--pick", tmp_path / "a")
    assert (result.code, "pick the way of each model by itself" in result.err) == (2, True)


def test_a_pair_that_is_too_long_is_told_by_its_line(command, small_run, tmp_path: Path) -> None:
    lines = ["je suis"] * 300
    (tmp_path / "en").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    lines[280] = "chat " * 5000
    (tmp_path / "fr").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    result = command("align", small_run, "--src", tmp_path / "fr", "--tgt", tmp_path / "en")
    assert result.code == 0, result.err
    assert len(result.out.splitlines()) == 300
    assert result.err.count("\n") == 1
    assert "line 281 is longer than" in result.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--mask", "chien"], "no word 'chien'"),
        (["--replace", "chien=chat"], "no word 'chien'"),
        (["--without", "cross.9.1"], "this model has"),
        (["--target", "the cat", "--beam", "0"], "beam = 0"),
        (["--target", "the cat", "--alpha", "-1"], "alpha"),
        (["--out", "folder.html"], "a directory is there"),
        (["--out", "file/page.html"], "is a file and not a directory"),
    ],
)
def test_mistakes_are_told_before_the_work(
    command,
    small_run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    def work(*_: object) -> None:
        raise AssertionError("it has begun to explain")

    monkeypatch.setattr("regard.explain.explain.capture", work)  # the first thing after the translation
    monkeypatch.setattr("regard.tasks.translate.translator.Translator.search", work)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "file").touch()
    result = command("explain", small_run, SENTENCE, "--beside", small_run, *arguments)
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1
