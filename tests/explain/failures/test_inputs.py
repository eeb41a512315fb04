"""The texts of runs in several directions: the training and test pairs of the one direction that is probed."""

import json
from pathlib import Path

import pytest

from regard.bundle.config import Languages
from regard.data.config import PairData
from regard.explain.failures import inputs
from regard.explain.failures.inputs import GivenTexts

DIRECTIONS = [("de", "en"), ("fr", "en"), ("en", "de")]


@pytest.fixture
def mixed(tmp_path: Path) -> PairData:
    """A run of two corpora: two files from French to English, and one whose pairs name their languages."""
    (tmp_path / "a.fr").write_text("le chat\nla table\n", encoding="utf-8")
    (tmp_path / "a.en").write_text("the cat\nthe table\n", encoding="utf-8")
    rows = [
        ("der Hund", "the dog", "de", "en"),
        ("das Pferd", "the horse", "de", "en"),
        ("a fish", "ein Fisch", "en", "de"),
    ]
    (tmp_path / "b.tsv").write_text("".join("\t".join(line) + "\n" for line in rows), encoding="utf-8")
    return PairData.model_validate(
        {
            "corpora": [
                {"src": str(tmp_path / "a.fr"), "tgt": str(tmp_path / "a.en")},
                {"pairs": str(tmp_path / "b.tsv"), "directions": [["de", "en"], ["en", "de"]]},
            ]
        }
    )


def test_training_pairs_of_files_whose_pairs_name_their_languages(mixed: PairData) -> None:
    def read(source: str | None, target: str) -> list[tuple[str, str]]:
        training = inputs._training_pairs(mixed, Languages(source=source, target=target))
        return list(zip(training.sources, training.targets, strict=True))

    assert read("de", "en") == [("der Hund", "the dog"), ("das Pferd", "the horse")]
    assert read("fr", "en") == [("le chat", "the cat"), ("la table", "the table")]
    assert read("en", "de") == [("a fish", "ein Fisch")]
    assert len(read(None, "en")) == 4  # every source


@pytest.mark.parametrize(("source", "kept"), [("de", ["d"]), ("fr", ["f", "g"]), (None, ["d", "f", "g"])])
def test_validation_pairs_are_those_of_both_languages(
    source: str | None, kept: list[str], mixed: PairData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directions = [DIRECTIONS[0], DIRECTIONS[1], DIRECTIONS[2], DIRECTIONS[1]]
    found = (["d", "f", "e", "g"], ["1", "2", "3", "4"], directions)
    monkeypatch.setattr("regard.tasks.translate.validation.validation_pairs", lambda run: found)
    sources, references, name = inputs._test_pairs(tmp_path, mixed, GivenTexts(), Languages(source=source, target="en"))
    assert (sources, name) == (kept, "the run's validation set")
    assert references == [dict(zip(*found[:2], strict=True))[one] for one in kept]


def test_a_script_is_no_language_of_the_results() -> None:
    directions = (("en", "sr-Latn"), ("en", "Latn"))
    own = Languages(target="Latn")
    assert not inputs._is_of("en-sr-Latn", own, directions)
    assert inputs._is_of("en-Latn", own, directions)
    assert inputs._is_of(None, own, ())


def test_settings_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"task": "translate", "data": {"nonsense": 1}}), encoding="utf-8")
    data, reason = inputs._data_settings(tmp_path)
    assert data is None
    assert "nonsense" in reason
    assert "nonsense" in inputs._training(None, GivenTexts(), "translate", Languages(), reason)[1]
    assert inputs._data_settings(tmp_path / "none") == (None, "")
