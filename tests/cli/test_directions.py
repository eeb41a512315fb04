"""Several directions on the command line: training, every verb with --to, resumable output, and the errors of one line."""

import json
from pathlib import Path
from random import Random

import pytest

TINY = ["--set", "text.kind=char", "--set", "model.layers=1", "--set", "model.width=16", "--set", "model.heads=2"]
TINY += ["--set", "train.max_steps=2", "--set", "train.batch_tokens=256"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("directions")
    numbers = [str(Random(1).randint(1, 99) + n) for n in range(60)]
    for language, word in (("en", "house"), ("de", "Haus"), ("fr", "maison")):
        (home / f"a.{language}").write_text("".join(f"{word} {n}\n" for n in numbers), encoding="utf-8")
        (home / f"test.{language}").write_text("".join(f"{word} {n}\n" for n in numbers[:7]), encoding="utf-8")
    rows = f'[[data.corpora]]\nsrc = "{home}/a.en"\ntgt = "{home}/a.de"\nboth = true\n'
    rows += f'[[data.corpora]]\nsrc = "{home}/a.en"\ntgt = "{home}/a.fr"\n'
    (home / "run.toml").write_text(rows, encoding="utf-8")
    return home


@pytest.fixture(scope="module")
def trained(command, home: Path) -> tuple[Path, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(home / "cache"))
        result = command("train", home / "run.toml", "--out", home / "run", *TINY)
    assert result.code == 0, result.err
    return home / "run", result.err


def complaint(result) -> str:
    assert result.code == 2, (result.code, result.out, result.err)
    [line] = [line for line in result.err.splitlines() if line.startswith("regard: ")]
    return line


def test_training_tells_the_directions_and_the_scores_of_each(trained: tuple[Path, str]) -> None:
    run, err = trained
    assert "note: 3 directions in one model; the share of each in an epoch: en-de 59 pairs, 33.3 %; de-en 59" in err
    assert [line for line in err.splitlines() if line.startswith("    de-en: BLEU ")]
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert list(metrics["directions"]) == ["en-de", "de-en", "en-fr"]
    assert metrics["languages"] == {"source": None, "target": None}
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "The scores are the means of 3 directions. en-de: BLEU " in page
    best = (run / "best").read_text(encoding="utf-8").strip()
    text = (run / best / "README.md").read_text(encoding="utf-8")
    assert "English to German, German to English, English to French" in text
    assert "| en-fr | " in text


@pytest.mark.filterwarnings("always::regard.tasks.translate.directions.DirectionWarning")
@pytest.mark.parametrize("engine", ["torch", "ct2"])
def test_translating_needs_a_language_that_the_model_knows(command, trained: tuple[Path, str], engine: str) -> None:
    run, _ = trained
    options = ["--engine", engine]
    result = command("translate", run, "--to", "fr", "--beam", "1", "--max-length", "4", *options, stdin="house 3\n\n")
    assert (result.code, result.out.count("\n")) == (0, 2), result.err
    assert "translates to de, en or fr; say to which with --to" in complaint(command("translate", run, *options))
    assert "does not translate to 'it'" in complaint(command("translate", run, "--to", "it", *options))
    assert "does not read 'it'" in complaint(command("translate", run, "--to", "de", "--from", "it", *options))
    unseen = command("translate", run, "--to", "fr", "--from", "de", "--beam", "1", *options, stdin="Haus 3\n")
    assert unseen.code == 0
    assert "warning: " in unseen.err
    assert "was never trained from de to fr, so expect little; it was from en to de, de to en, en to fr" in unseen.err


def test_an_output_file_goes_on_in_its_own_direction_only(command, trained: tuple[Path, str], tmp_path: Path) -> None:
    run, _ = trained
    base = ["translate", run, "-i", run.parent / "test.en", "-o", tmp_path / "out", "--beam", "1", "--max-length", "5"]
    assert command(*base, "--to", "de").code == 0
    first = (tmp_path / "out").read_text(encoding="utf-8")
    assert command(*base, "--to", "de").code == 0
    assert (tmp_path / "out").read_text(encoding="utf-8") == first
    other = command(*base, "--to", "fr")
    assert other.code == 2 or (tmp_path / "out").read_text(encoding="utf-8") != first


def test_the_other_verbs_take_a_direction(command, trained: tuple[Path, str], tmp_path: Path) -> None:
    run, _ = trained
    sides = ["--src", run.parent / "test.en", "--tgt", run.parent / "test.de"]
    score = command("score", run, *sides, "--to", "de")
    assert score.code == 0, score.err
    assert score.out != command("score", run, *sides, "--to", "fr").out
    evaluated = command(
        "evaluate", run, "--src", run.parent / "test.en", "--ref", run.parent / "test.de", "--to", "de", "--json"
    )
    assert json.loads(evaluated.out)["sentences"] == 7
    assert command("align", run, *sides, "--to", "de").out.count("\n") == 7
    both = command("align", run, *sides, "--to", "de", "--from", "en", "--reverse", run)
    assert both.out.count("\n") == 7, both.err
    shown = command("explain", run, "house 3", "--to", "de", "--out", tmp_path / "page.json")
    assert shown.code == 0, shown.err
    assert '">>de<<"' in (tmp_path / "page.json").read_text(encoding="utf-8")
    for verb in (["score", run, *sides], ["align", run, *sides], ["explain", run, "house"]):
        assert "say to which with --to" in complaint(command(*verb))
    evaluation = ["evaluate", run, "--src", run.parent / "test.en", "--ref", run.parent / "test.de"]
    assert "say to which with --to" in complaint(command(*evaluation))
    assert "a shortlist is for a model of one direction" in complaint(command("shortlist", run, *sides))
    described = json.loads(command("info", run, "--json").out)
    assert [(one["source"], one["target"]) for one in described["directions"]] == [
        ("en", "de"),
        ("de", "en"),
        ("en", "fr"),
    ]
    checked = command("data", "check", *sides, "--model", run)
    assert checked.code == 0, checked.err
    (tmp_path / "pairs.tsv").write_text("house 1\tHaus 1\nhouse 2\tHaus 2\n", encoding="utf-8")
    pairs = ["data", "check", "--pairs", tmp_path / "pairs.tsv", "--model", run]
    assert complaint(command(*pairs)).endswith("say which of them the pairs have, with --tgt-lang de")
    assert command(*pairs, "--tgt-lang", "de").code == 0


def test_a_model_of_one_direction_refuses_another_language(command, small_run: Path) -> None:
    plain = command("translate", small_run, "--beam", "1", stdin="le chat\n")
    assert (
        command("translate", small_run, "--beam", "1", "--to", "en", "--from", "fr", stdin="le chat\n").out == plain.out
    )
    assert "translates to 'en' only, not 'de'" in complaint(command("translate", small_run, "--to", "de"))
    assert "reads 'fr' only, not 'de'" in complaint(command("translate", small_run, "--from", "de"))


def test_a_temperature_of_zero_and_an_unknown_corpus_key_are_one_line(command, home: Path) -> None:
    bad = command("train", home / "run.toml", "--set", "data.temperature=0", "--out", home / "bad")
    assert "data.temperature = 0: input should be greater than 0" in complaint(bad)
    pocket = command("train", "--set", "data.temperature=2", "--out", home / "bad")
    assert "balances several directions, and there is one" in complaint(pocket)
