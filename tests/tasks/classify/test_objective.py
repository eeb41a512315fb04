"""Classifiers: features by hand, what padding must not change, runs through the same loop, and what users get wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.data.config import LabelledData
from regard.data.labelled import PreparedLabelled, prepare_labelled
from regard.errors import BundleError, DataError
from regard.metrics.classification import evaluate_labels
from regard.models.build import build_classifier
from regard.models.config import BagConfig, ClassifierRecurrentConfig, ClassifierTransformerConfig, ModelConfig
from regard.tasks.load import load_classifier, load_served, load_writer
from regard.text.config import TextConfig
from training.runs import run, steps, stop_after

WORD = TextConfig(kind="word")
SIZE: dict[str, Any] = {"layers": 1, "width": 16, "dropout": 0.0}
MODELS: dict[str, ModelConfig] = {
    "bag": BagConfig(),
    "bigrams": BagConfig(ngrams=2, weighting="tfidf", buckets=500),
    "gru": ClassifierRecurrentConfig(**SIZE, cell="gru", bidirectional=False),
    "lstm": ClassifierRecurrentConfig(**SIZE),
    "mean": ClassifierTransformerConfig(**SIZE, heads=2, feed_forward=16),
    "max": ClassifierTransformerConfig(**SIZE, heads=2, feed_forward=16, pooling="max", positions="relative"),
    "class": ClassifierTransformerConfig(**SIZE, heads=2, feed_forward=16, pooling="class", positions="rotary"),
}


def network(config: ModelConfig, vocabulary: int = 20, labels: int = 3) -> Any:
    torch.manual_seed(1)
    made = build_classifier(config, vocabulary, labels)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return made.eval()


@torch.no_grad()
@pytest.mark.parametrize("name", MODELS)
def test_padding_changes_nothing_and_order_where_it_should(name: str) -> None:
    made = network(MODELS[name])
    text, turned = torch.tensor([[3, 7, 5, 9, 0]]), torch.tensor([[9, 5, 7, 3, 0]])
    longer = torch.cat([text, torch.full((1, 4), 19)], dim=1)
    torch.testing.assert_close(made(longer), made(text), rtol=1e-5, atol=1e-5)
    same = torch.allclose(made(text), made(turned), atol=1e-5)
    assert same == (name == "bag"), "a bag of words alone does not know the order"


@torch.no_grad()
def test_a_bag_is_a_sum_over_a_length() -> None:
    made = network(MODELS["bag"])
    weights, bias = made.embedding.weight, made.bias
    expected = (2 * weights[4] + weights[6]) / 5**0.5 + bias
    torch.testing.assert_close(made(torch.tensor([[4, 6, 4, 0]]))[0], expected)
    torch.testing.assert_close(made(torch.tensor([[0]]))[0], bias)
    made.binary = True
    torch.testing.assert_close(made(torch.tensor([[4, 6, 4, 0]]))[0], (weights[4] + weights[6]) / 2**0.5 + bias)


@torch.no_grad()
def test_bigrams_and_openings_have_places_of_their_own() -> None:
    words = 200
    made = network(BagConfig(ngrams=2, opening=2), vocabulary=words + 2)
    every = torch.cartesian_prod(*[torch.arange(1, words + 1)] * 2)
    word_ids, pairs, first, firsts = made.features_of(every).split([2, 1, 1, 1], dim=1)
    assert torch.equal(word_ids, every)
    assert min(int(pairs.min()), int(first.min()), int(firsts.min())) > words + 1
    by_chance = len(every) ** 2 / 2 / made.buckets  # pairs that share a place
    for found in (pairs, firsts, torch.cat([pairs, firsts])):
        assert len(found) - len(found.unique()) < 1.2 * by_chance * (len(found) / len(every)) ** 2
    assert len(first.unique()) == words
    short = made.features_of(torch.tensor([[5, 0, 201]]))[0].tolist()
    assert short[:5] == [5, 201, 201, 201, 201]
    assert (short[5] == first[every[:, 0] == 5]).all()
    assert short[6:] == [201]


@torch.no_grad()
def test_a_bucket_belongs_to_the_bigram_that_came_first() -> None:
    made = network(BagConfig(ngrams=2, buckets=1))
    made.learn_features([torch.tensor([3, 4]), torch.tensor([4, 3])], [0, 1])
    assert made.features_of(torch.tensor([[3, 4, 3, 0]]))[0].tolist() == [3, 4, 3, 19, 20, 19, 19]


@torch.no_grad()
def test_bayes_begins_as_naive_bayes() -> None:
    torch.manual_seed(1)
    made: Any = build_classifier(BagConfig(weighting="bayes"), 9, 2).eval()
    made.learn_features([torch.tensor([3, 4, 3]), torch.tensor([3, 5]), torch.tensor([5])], [0, 1, 1])
    given = {3: (2 / 5, 2 / 6), 4: (2 / 5, 1 / 6), 5: (1 / 5, 3 / 6)}  # of the texts of each label, and one more
    for word, (one, two) in given.items():
        ratio = torch.log(torch.tensor(one / two))
        torch.testing.assert_close(made(torch.tensor([[word, 0]]))[0], torch.stack([ratio, -ratio]))
    assert made(torch.tensor([[7, 0]])).tolist() == [[0.0, 0.0]], "what no text had counts nothing"


@torch.no_grad()
def test_the_length_is_that_of_the_vector_of_features() -> None:
    made = network(MODELS["bigrams"])
    made.rarity.uniform_(0.5, 2.0)
    texts = torch.randint(1, 6, (3, 12))  # few words, so that words and pairs are repeated
    texts[1, 8:], texts[2] = 19, 19
    vectors = torch.zeros(3, made.features)
    for row, features in enumerate(made.features_of(texts).tolist()):
        for feature in features:
            vectors[row, feature] += made.rarity[feature] * (feature != 19)
    lengths = vectors.norm(dim=1, keepdim=True).clamp_min(1e-6)
    expected = vectors / lengths @ made.embedding.weight + made.bias
    torch.testing.assert_close(made(texts), expected)


@torch.no_grad()
def test_rare_words_count_more() -> None:
    made = network(MODELS["bigrams"])
    made.learn_features([torch.tensor([3, 4]), torch.tensor([3, 5]), torch.tensor([3, 6])], [0, 1, 1])
    rarity = made.rarity
    assert rarity[3] == pytest.approx(1.0)
    assert rarity[4] == rarity[5] == pytest.approx(1.0 + torch.log(torch.tensor(2.0)))


def test_scores_by_hand() -> None:
    found = evaluate_labels(list("aabbbc"), list("aaabbb"), "abc")
    assert found["accuracy"] == pytest.approx(4 / 6)
    assert found["confusion"] == [[2, 1, 0], [0, 2, 1], [0, 0, 0]]
    assert found["by_label"]["a"] == {
        "precision": 1.0,
        "recall": pytest.approx(2 / 3),
        "f1": pytest.approx(0.8),
        "texts": 3,
        "found": 2,
    }
    assert found["f1"] == pytest.approx((0.8 + 2 / 3 + 0.0) / 3)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """What a text is about is the word before its last: order is needed."""
    path = tmp_path / "data.tsv"
    rows = [f"{one} then {other}\t{one}" for one in ("red", "blue") for other in ("red", "blue", "green")]
    path.write_text("".join(f"{row}\n" for row in rows * 8), encoding="utf-8")
    return path


def settings(data: Path, model: dict[str, Any]) -> dict[str, Any]:
    train = {
        "max_steps": 40,
        "batch_tokens": 64,
        "validate_every": 20,
        "save_every": 7,
        "warmup": 2,
        "label_smoothing": 0.0,
    }
    return {
        "task": "classify",
        "data": {"labelled": str(data)},
        "text": {"kind": "word"},
        "model": {**model},
        "train": {**train, "learning_rate": 0.02},
    }


@pytest.mark.parametrize("name", ["bigrams", "lstm", "class"])
def test_a_run_learns_and_goes_on_where_it_was_stopped(data: Path, tmp_path: Path, name: str) -> None:
    values = settings(data, MODELS[name].model_dump())
    whole, _ = run(values, tmp_path / "whole")
    assert whole.metrics is not None
    assert whole.metrics["accuracy"] == 1.0
    assert whole.metrics["labels"] == ["blue", "red"]
    with pytest.raises(KeyboardInterrupt):
        run(values, tmp_path / "cut", stop_after(30))
    run(values, tmp_path / "cut")
    assert steps(tmp_path / "cut") == steps(tmp_path / "whole")
    rows = [
        json.loads(line) for line in (tmp_path / "whole/predictions.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert all(row["expected"] == row["found"] for row in rows)
    classifier = load_classifier(tmp_path / "whole")
    [one, nothing] = classifier.classify(["blue then red", ""])
    assert one.label == "blue"
    assert sum(one.probabilities.values()) == pytest.approx(1.0)
    assert nothing.label in classifier.labels
    assert load_served(tmp_path / "whole").classify(["red then green"])[0].label == "red"  # type: ignore[union-attr]
    with pytest.raises(BundleError, match="use `regard classify`"):
        load_writer(tmp_path / "whole")


def prepared(home: Path, content: str, **options: Any) -> PreparedLabelled:
    (home / "some.tsv").write_text(content, encoding="utf-8")
    return prepare_labelled(LabelledData.parse({"labelled": str(home / "some.tsv"), **options}), WORD, home / "cache")


def test_a_label_that_occurs_once_is_trained_on(tmp_path: Path) -> None:
    found = prepared(tmp_path, "only\trare\n" + "many words\tusual\n" * 30)
    assert found.labels == ("rare", "usual")
    assert found.train.labels.tolist().count(0) == 1
    assert (len(found.train), len(found.valid)) == (28, 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no labelled texts in it"),
        ("a\tx\nb\tx\n", "only one label, 'x'"),
        ("a\tx\nb\ty\n", "every text has a label that no other has"),
        ("a\tx\nb\n", r"some\.tsv:2: no label"),
        ("a\tx\nb\t \n", r"some\.tsv:2: no label"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        prepared(tmp_path, content)


def test_a_strange_label_is_named(tmp_path: Path) -> None:
    (tmp_path / "valid.tsv").write_text("a\tx\nb\tz\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"valid\.tsv:2: label 'z' is not in the training texts"):
        prepared(tmp_path, "a\tx\nb\ty\n", valid_labelled=str(tmp_path / "valid.tsv"))
