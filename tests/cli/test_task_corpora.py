"""Corpora of tasks as a user has them: converted, split, generated, trained on, and scored by group."""

import json
from pathlib import Path

import pytest

from regard.bundle.locate import find_bundle

TINY = [
    *("--set", "text.kind=word", "--set", "model.layers=1", "--set", "model.width=16", "--set", "model.heads=2"),
    *("--set", "model.feed_forward=16", "--set", "train.max_steps=2", "--set", "train.batch_tokens=512"),
]


def test_scan_from_its_file_to_pairs(command, tmp_path: Path) -> None:
    actions = [f"IN: walk {word} OUT: {' '.join(['I_WALK'] * times)}\n" for times, word in enumerate("abcdefgh", 1)]
    (tmp_path / "tasks.txt").write_text("".join(actions))
    result = command(
        "data", "split", "--from", "scan", tmp_path / "tasks.txt", tmp_path / "scan", "--valid", 2, "--order", "length"
    )
    assert result.code == 0, result.err
    assert result.err == f"{tmp_path}/scan/train.src, .tgt: 6 pairs\n{tmp_path}/scan/valid.src, .tgt: 2 pairs\n"
    assert (tmp_path / "scan" / "valid.src").read_text() == "walk g\nwalk h\n"
    converted = command("data", "convert", "--from", "scan", tmp_path / "tasks.txt", "-")
    assert converted.out.splitlines()[1] == "walk b\tI_WALK I_WALK"
    for arguments, message in (
        (("split", tmp_path / "tasks.txt", "--valid", 1), "a directory for the parts is missing"),
        (("split", tmp_path / "t.fr", tmp_path / "t.en"), "t.en: a directory for the parts is missing"),
        (("split", "--from", "scan", tmp_path / "tasks.txt", tmp_path / "scan", "--valid", 1), "it is there already"),
        (("split", "--from", "scan", tmp_path / "tasks.txt", tmp_path / "o"), "nothing is taken"),
        (("convert", "--from", "cmudict", tmp_path / "tasks.txt", "-"), "tasks.txt:1: walk is no phoneme"),
        (("grammar", tmp_path / "scan"), "it is there already"),
    ):
        refused = command("data", *map(str, arguments))
        assert refused.code == 2, arguments
        assert refused.err.count("\n") == 1
        assert message in refused.err


@pytest.fixture(scope="module")
def brackets(command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated corpus and a run that has seen hardly any of it."""
    home = tmp_path_factory.mktemp("brackets")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(home / "cache"))
        made = command(
            *("data", "grammar", home / "g", "--train", "200", "--valid", "3", "--test", "20", "--each", "3"),
        )
        assert made.code == 0, made.err
        assert made.err.endswith(f"{home}/g/gen.tsv: 18 sentences\n")
        trained = command(
            *("train", "--pairs", home / "g" / "train.tsv", "--out", home / "run"),
            *("--set", f"data.valid_pairs={home / 'g' / 'valid.tsv'}", *TINY),
        )
        assert trained.code == 0, trained.err
        for part in ("gen.src", "gen.tgt"):
            (home / part).write_text(
                "".join(
                    line.split("\t")[part == "gen.tgt"] + "\n"
                    for line in (home / "g" / "gen.tsv").read_text().splitlines()
                )
            )
    return home


def test_outputs_may_be_as_long_as_those_of_training(brackets: Path) -> None:
    config = json.loads((find_bundle(brackets / "run") / "config.json").read_text())
    assert 6 <= config["output_per_source"] <= 8  # a tree has five to six tokens for each word


def test_scores_by_type(command, brackets: Path) -> None:
    files = ("--src", brackets / "gen.src", "--ref", brackets / "gen.tgt", "--groups", brackets / "g" / "gen.tsv")
    chosen = ("--metric", "exact_match", "--metric", "valid_brackets", "--max-length", "8", "--resamples", "0")
    result = command("evaluate", brackets / "run", *files, *chosen, "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert len(found["groups"]) == 6
    assert {own["sentences"] for own in found["groups"].values()} == {3}
    for name in ("exact_match", "valid_brackets"):
        assert found[name] == pytest.approx(sum(own[name] for own in found["groups"].values()) / 6)
    shown = command("evaluate", brackets / "run", *files, *chosen)
    assert shown.out.splitlines()[0].startswith("exact_match")
    assert shown.out.splitlines()[-1].split()[:2] == ["structural_deeper_clause", "3"]


def test_groups_that_do_not_fit_are_refused(command, brackets: Path) -> None:
    files = ("--src", brackets / "gen.src", "--ref", brackets / "gen.tgt")
    for arguments, message in (
        ((brackets / "run", *files, "--groups", brackets / "g" / "test.tsv"), "the groups must be those of the same"),
        ((brackets / "run", *files, "--groups", brackets / "gone"), "gone"),
        (
            (brackets / "run", "--src", "-", "--ref", brackets / "gen.tgt", "--groups", "-"),
            "standard input '-' can be read only once; give --groups as a file",
        ),
        (("--hyp", brackets / "gen.src", "--ref", brackets / "gen.tgt", "--groups", "g"), "scored without a model"),
        ((brackets / "run", *files, "--metric", "perr"), "--metric perr: not one of bleu"),
    ):
        refused = command("evaluate", *arguments)
        assert refused.code == 2, refused.out
        assert refused.err.count("\n") == 1, refused.err
        assert message in refused.err
