"""`regard classify` and `regard evaluate --data` as a user runs them."""

import json
from pathlib import Path

import pytest

SMALL = [
    *("--set", "text.kind=word", "--set", "model.kind=recurrent", "--set", "model.width=16", "--set", "model.layers=1"),
    *("--set", "train.max_steps=40", "--set", "train.batch_tokens=64", "--set", "train.learning_rate=0.02"),
    *("--set", "train.warmup=2"),
]


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    path = tmp_path / "tagged.tsv"
    path.write_text("the\tD\ncan\tN\n\nthey\tP\ncan\tV\n\n" * 10, encoding="utf-8")
    return path


def test_words_are_printed_with_their_labels(command, tagged: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    trained = command("train", "--task", "classify", "--data", tagged, "--labels-of", "token", "--out", out, *SMALL)
    assert trained.code == 0, trained.err
    result = command("classify", out, stdin="they can\n\nthe can\n")
    assert result.out == "they\tP\ncan\tV\n\n\nthe\tD\ncan\tN\n\n"
    [one] = [json.loads(line) for line in command("classify", out, "--json", stdin="the can\n").out.splitlines()]
    assert (one["words"], one["labels"]) == (["the", "can"], ["D", "N"])
    values = json.loads(command("evaluate", out, "--data", tagged, "--json").out)
    assert (values["accuracy"], sum(map(sum, values["confusion"]))) == (1.0, 40)
    assert json.loads(command("info", out, "--json").out)["labels_of"] == "token"
    other = tmp_path / "other.tsv"
    other.write_text("the\tD\nold\tJ\n", encoding="utf-8")
    assert (
        f"{other}:2: no such label as 'J'; the labels are D, N, P, V" in command("evaluate", out, "--data", other).err
    )
