"""Tagging: a label of every word, from the words around it, through the same loop; where words end in tokens; and what users get wrong."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.data.config import LabelledData
from regard.data.examples import LabelledExamples
from regard.data.labelled import PreparedLabelled, prepare_labelled
from regard.errors import ConfigError, DataError
from regard.models.build import build_classifier
from regard.models.config import ClassifierRecurrentConfig, ClassifierTransformerConfig, ModelConfig
from regard.tasks.classify.tagger import Tagger
from regard.tasks.load import load_served
from regard.tasks.settings import parse_settings
from regard.text.config import TextConfig
from regard.text.tokenizer import word_ends
from training.runs import run, steps, stop_after

SIZE: dict[str, Any] = {"layers": 1, "width": 16, "dropout": 0.0}
MODELS: dict[str, ModelConfig] = {
    "gru": ClassifierRecurrentConfig(**SIZE, cell="gru", bidirectional=False),
    "lstm": ClassifierRecurrentConfig(**SIZE),
    "convolutional": ClassifierRecurrentConfig(**SIZE, encoder="convolutional"),
    "transformer": ClassifierTransformerConfig(**SIZE, heads=2, feed_forward=16),
}


def written(path: Path, texts: list[list[tuple[str, str]]]) -> Path:
    path.write_text("\n".join("".join(f"{word}\t{label}\n" for word, label in one) for one in texts), encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """What `like` is tells the word before it, what `park` is the word behind it: neither tells it alone."""
    before, behind = {"they": "verb", "its": "noun"}, {"cars": "verb", "lies": "noun"}
    texts = [
        [(one, "word"), ("like", before[one]), ("park", behind[other]), (other, "word")]
        for one in before
        for other in behind
    ]
    return written(tmp_path / "data.tsv", texts * 10)


def settings(data: Path, model: ModelConfig) -> dict[str, Any]:
    train = {"max_steps": 60, "batch_tokens": 64, "validate_every": 20, "save_every": 7, "warmup": 2}
    return {
        "task": "classify",
        "data": {"labelled": str(data), "labels_of": "token"},
        "text": {"kind": "word"},
        "model": model.model_dump(),
        "train": {**train, "label_smoothing": 0.0, "learning_rate": 0.02},
    }


@torch.no_grad()
@pytest.mark.parametrize("name", MODELS)
def test_padding_changes_nothing_and_each_sees_what_it_can(name: str) -> None:
    torch.manual_seed(1)
    made: Any = build_classifier(MODELS[name], 20, 3, tagging=True).eval()
    text, changed = torch.tensor([[3, 7, 5, 9, 0]]), torch.tensor([[3, 7, 5, 8, 0]])
    longer = torch.cat([text, torch.full((1, 4), 19)], dim=1)
    torch.testing.assert_close(made(longer)[:, :5], made(text), rtol=1e-5, atol=1e-5)
    same = torch.isclose(made(text), made(changed), atol=1e-6).all(dim=-1)[0]
    assert same[:3].tolist() == {"gru": [True] * 3, "convolutional": [True, True, False]}.get(name, [False] * 3)


@pytest.mark.parametrize("name", ["lstm", "transformer"])
def test_a_run_learns_from_both_sides_and_goes_on_where_it_was_stopped(data: Path, tmp_path: Path, name: str) -> None:
    values = settings(data, MODELS[name])
    whole, _ = run(values, tmp_path / "whole")
    assert whole.metrics is not None
    assert (whole.metrics["accuracy"], whole.metrics["f1"]) == (1.0, 1.0)
    assert whole.metrics["labels"] == ["noun", "verb", "word"]
    with pytest.raises(KeyboardInterrupt):
        run(values, tmp_path / "cut", stop_after(30))
    run(values, tmp_path / "cut")
    assert steps(tmp_path / "cut") == steps(tmp_path / "whole")
    lines = (tmp_path / "whole/predictions.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(len(row["found"]) == len(row["probabilities"]) == 4 for row in map(json.loads, lines))
    tagger = load_served(tmp_path / "whole")
    assert isinstance(tagger, Tagger)
    [one, nothing] = tagger.classify(["its  like park cars", ""])
    assert (one.words, one.labels) == (["its", "like", "park", "cars"], ["word", "noun", "verb", "word"])
    assert [sum(of_word.values()) for of_word in one.probabilities] == pytest.approx([1.0] * 4)
    assert (nothing.words, nothing.labels, nothing.parted) == ([], [], False)


def test_what_comes_later_is_unknown_to_one_direction(data: Path, tmp_path: Path) -> None:
    run(settings(data, MODELS["gru"]), tmp_path / "run")
    tagger: Any = load_served(tmp_path / "run")
    found = tagger.classify([f"{one} like park {other}" for one in ("they", "its") for other in ("cars", "lies")])
    assert [one.labels[1] for one in found] == ["verb", "verb", "noun", "noun"]
    for one, other in ((found[0], found[1]), (found[2], found[3])):  # only the last word differs
        assert one.probabilities[2] == pytest.approx(other.probabilities[2])


def test_a_long_text_is_read_in_parts(data: Path, tmp_path: Path) -> None:
    run(settings(data, MODELS["lstm"]), tmp_path / "run")
    tagger: Any = load_served(tmp_path / "run")
    whole = tagger.classify(["they like park lies"])[0]
    tagger.max_tokens = 4
    [one] = tagger.classify(["they like park lies they like park lies they like"])
    assert one.parted
    assert one.labels[:8] == whole.labels * 2
    assert len(one.labels) == 10


def prepared(home: Path, content: str, text: TextConfig, **options: Any) -> PreparedLabelled:
    (home / "some.tsv").write_text(content, encoding="utf-8")
    config = LabelledData.parse({"labelled": str(home / "some.tsv"), "labels_of": "token", **options})
    return prepare_labelled(config, text, home / "cache")


@pytest.mark.parametrize("kind", ["word", "char", "bpe", "unigram"])
def test_a_label_stands_where_its_word_ends(tmp_path: Path, kind: str) -> None:
    content = "Ein\tD\nétrange\t-\tA\n\n\nHund\tN\nbellt\tV\n.\t.\n\n" * 8 + "Ça\tD\r\nsuffit\tV\r\n" + "\nunseen\tA\n"
    found = prepared(tmp_path, content, TextConfig.parse({"kind": kind, "vocabulary": 300}))
    assert found.labels == (".", "A", "D", "N", "V")
    tokenizer, every = found.tokenizers.source, np.arange(len(found.train))
    expected = {
        "Ein": "D",
        "étrange": "A",
        "Hund": "N",
        "bellt": "V",
        ".": ".",
        "Ça": "D",
        "suffit": "V",
        "unseen": "A",
    }
    for ids, tags in zip(found.train.texts(every).rows(), found.train.tags(every).rows(), strict=True):
        words = tokenizer.decode(ids.tolist()).split()
        assert [found.labels[tag] for tag in tags.tolist() if tag < 5] == [expected[word] for word in words]
        ends = np.flatnonzero(tags < 5).tolist()
        assert ends == word_ends(tokenizer, ids.tolist())
        assert [tokenizer.decode(ids[: end + 1].tolist()) for end in ends] == [
            " ".join(words[: n + 1]) for n in range(len(words))
        ]


def test_a_batch_expects_a_label_where_a_word_ends(tmp_path: Path) -> None:
    found = prepared(tmp_path, "a\tX\nb\tY\n\nb\tY\n\n" * 10, TextConfig.parse({"kind": "word"}))
    texts = LabelledExamples(found.train, pad=99, end=0, labels=2)
    two, one = (next(n for n, length in enumerate(found.train.lengths) if length == wanted) for wanted in (2, 1))
    batch = texts.batch([two, one], seed=1, epoch=1)
    assert batch.target_out.tolist() == [[0, 1, 2], [1, 2, 2]]
    assert batch.tokens == 3
    assert batch.source[:, -1].tolist() == [0, 99]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n\n", "no labelled texts in it"),
        ("a\tX\nb\n", r"some\.tsv:2: no label; each line must be token<TAB>label"),
        ("a\tX\n\n\ntwo words\tX\n", r"some\.tsv:4: 'two words' is not one word"),
        ("\tX\n", r"some\.tsv:1: '' is not one word"),
        ("a\tX\nb\tX\n", "only one label, 'X'"),
        ("a\tX\nb\tY\n\na\tZ\n", "every text has a label that no other has"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        prepared(tmp_path, content, TextConfig(kind="word"))


def test_a_strange_label_is_named_by_its_own_line(tmp_path: Path) -> None:
    (tmp_path / "valid.tsv").write_text("a\tX\n\n\na\tX\nb\tZ\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"valid\.tsv:5: label 'Z' is not in the training texts"):
        prepared(tmp_path, "a\tX\nb\tY\n", TextConfig(kind="word"), valid_labelled=str(tmp_path / "valid.tsv"))


@pytest.mark.parametrize(
    ("model", "message"),
    [({"kind": "bag"}, "'bag' has no order"), ({"pooling": "max"}, "model.pooling 'max' has no meaning")],
)
def test_what_cannot_tag_is_refused(model: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_settings({"task": "classify", "data": {"labelled": "f", "labels_of": "token"}, "model": model})
