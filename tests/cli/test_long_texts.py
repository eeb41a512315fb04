"""Texts of thousands of tokens with mixers that do not compare all pairs, as a user trains, classifies and explains them."""

import json
from pathlib import Path

import pytest

from regard.data.recall import LABELS, far_lines, far_question

LENGTH = 1_400  # above the 1,024 tokens that any model reads
MODEL = [
    *("--set", 'model.mixer=["hyena", "delta"]', "--set", "model.layers=2", "--set", "model.width=16"),
    *("--set", "model.heads=2", "--set", "model.feed_forward=16", "--set", "text.kind=word"),
    *("--set", f"data.max_length={LENGTH}", "--set", f"model.max_positions={LENGTH + 2}"),
    *("--set", "train.max_steps=2", "--set", "train.batch_tokens=1500", "--set", "train.samples=0"),
]


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "questions.tsv"
    path.write_text("".join(f"{line}\n" for line in far_lines([LENGTH], 12 * LENGTH, 3)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(command, labelled: Path) -> Path:
    out = labelled.parent / "run"
    result = command("train", "--task", "classify", "--data", labelled, "--out", out, *MODEL)
    assert result.code == 0, result.err
    return out


def test_a_classifier_reads_texts_as_long_as_those_of_training(command, run: Path) -> None:
    text = far_question(LENGTH, 2, 0)[0]
    whole = command("classify", run, "--json", stdin=f"{text}\n")
    assert (whole.code, whole.err) == (0, "")
    assert json.loads(whole.out)["truncated"] is False
    longer = command("classify", run, "--json", stdin=f"{text} a b c\n")
    assert f"line 1 is longer than {LENGTH} tokens; its end was not read" in longer.err
    assert json.loads(longer.out)["probabilities"] == json.loads(whole.out)["probabilities"]


def test_the_end_of_a_long_text_is_read(command, run: Path) -> None:
    words = far_question(LENGTH, 2, 0)[0].split()
    other = [*words[:-1], "alpha"]
    answers = command("classify", run, "--json", stdin=f"{' '.join(words)}\n{' '.join(other)}\n").out.splitlines()
    first, second = (json.loads(line)["probabilities"] for line in answers)
    assert first != second


def test_a_classifier_is_explained_in_lines_and_as_data(command, run: Path, tmp_path: Path) -> None:
    result = command("explain", run, "a b alpha c")
    assert result.code == 0, result.err
    label, logprob, first, second = result.out.splitlines()
    assert label in LABELS
    assert logprob.startswith("log-probability -")
    assert first.startswith("encoder 1\thyena\t90 % of its receptive field within ")
    assert second.startswith("encoder 2\tdelta\t90 % of its")
    assert "decay, head 1 0." in second
    assert command("explain", run, "a b alpha c", "--out", tmp_path / "page.json").code == 0
    [data] = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))["explanations"]
    assert [layer["mixer"] for layer in data["mixing"]] == ["hyena", "delta"]
    assert data["task"] == "classify"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--target", "x"], "--target: "),
        (["--mask", "a", "--mask", "b"], "--mask: "),
        (["--out", "figure.png"], "figure.png: only a translation is drawn; write .html or .json"),
    ],
)
def test_what_only_translators_have_is_refused(command, run: Path, flags: list[str], words: str) -> None:
    result = command("explain", run, "a b", *flags)
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("task", "settings", "words"),
    [
        ("classify", ["model.mixer=linformer", "model.rank=600"], "model.rank 600 is above model.max_positions 512"),
        ("classify", ["model.mixer=window", "model.window=8"], "model.window 8 is even"),
        ("classify", ['model.mixer=["hyena"]'], "model.mixer lists 1 mixers, but the encoder has 4 layers"),
        (
            "classify",
            ["model.mixer=hyena", "data.max_length=512"],
            "model.max_positions 512 is shorter than the longest",
        ),
        ("classify", ["model.mixer=delta", "model.heads=1"], "'delta' in an encoder needs an even number of heads"),
        ("classify", ["model.kind=bag", "model.mixer=hyena"], "unknown key 'model.mixer'; it needs model.kind = "),
        ("generate", ["model.mixer=linformer"], "model.mixer 'linformer' mixes all positions into each of its keys"),
    ],
)
def test_mixers_that_a_task_cannot_use_are_refused(
    command, labelled: Path, tmp_path: Path, task: str, settings: list[str], words: str
) -> None:
    flags = [part for setting in settings for part in ("--set", setting)]
    data = ["--data" if task == "classify" else "--text", labelled]
    result = command("train", "--task", task, *data, "--out", tmp_path / "run", *flags)
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1
    assert not (tmp_path / "run").exists()
