"""The table of scores: its rows as texts, and a row that is added at run time, in every place that shows or tests a score."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from explain.made import PAIRS, finished_run, result
from regard.cli.compare import metric_choices
from regard.cli.progress import TrainingProgress, shown_scores
from regard.cli.train import metrics_summary
from regard.errors import DataError
from regard.explain.comparison import Comparison, compare_runs
from regard.explain.curves import training_curves
from regard.explain.figures import vertical_axes
from regard.explain.records import Report
from regard.explain.report import page_data
from regard.explain.tables import to_markdown
from regard.metrics.classification import evaluate_labels
from regard.metrics.evaluation import evaluate_translations
from regard.metrics.scores import BUILT_IN, METRICS, Metric, counted_names, value_to_maximise, with_added
from regard.metrics.significance import counted_metric
from regard.tasks.table import TASKS
from regard.training.events import Validated


def longest_common(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """The words at the start that each hypothesis shares with its reference, as a share of the reference."""
    scores = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        words = reference.split()
        shared = 0
        while hypothesis.split()[: shared + 1] == words[: shared + 1] and shared < len(words):
            shared += 1
        scores.append(shared / len(words))
    return scores


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Metric:
    """One row and one function, as an extension adds them."""
    row = Metric("longest_common", "common start", unit="%", digits=1, highest=1.0, sentence_scores=longest_common)
    monkeypatch.setitem(METRICS, row.name, row)
    return row


def comparison(home: Path) -> Comparison:
    runs = [
        finished_run(home / "post", {"model": {"norm": "post"}}, wrong=range(5, 20), metrics={"longest_common": 0.1}),
        finished_run(home / "pre", wrong=[3], metrics={"longest_common": 0.9}),
    ]
    return compare_runs([result(run) for run in runs], metric="longest_common", resamples=50)


def test_every_score_of_a_task_has_a_row() -> None:
    for task in TASKS.values():
        assert set(task.scores) <= METRICS.keys()
        assert with_added(task.scores) == task.scores
    assert METRICS.keys() == BUILT_IN
    assert all(name == row.name for name, row in METRICS.items())


def test_scores_as_a_line() -> None:
    values = {
        "aer": 0.0831,
        "bleu": 31.204,
        "chrf": 50.0,
        "ter": 40.0,
        "exact_match": 0.12345,
        "length_ratio": 1.0,
        "perplexity": 7.1234,
        "perplexity_word": 40.126,
        "perplexity_byte": 2.0,
        "bits_per_byte": 1.0,
        "accuracy": 0.9,
        "f1": 0.8765,
        "set": "test",
    }
    assert ", ".join(shown_scores(values)) == (
        "BLEU 31.20, chrF 50.00, exact match 12.3 %, perplexity 7.123 per token, 40.13 per word, 2.000 per byte, 1.000 bits per byte, "
        "accuracy 90.0 %, F1 0.876, alignment error rate 0.083"
    )


def test_what_can_be_tested_is_counted_by_sentence() -> None:
    usual, on_request = ("bleu", "chrf", "ter", "exact_match"), ("per", "wer", "valid_brackets")
    on_request += ("rouge1", "rouge2", "rougeL", "answer_match", "answer_f1")
    assert counted_names() == (*usual, *on_request, "cider", "accuracy", "f1")
    assert metric_choices() == (
        "bleu (the default), chrf, ter, exact_match, per, wer, valid_brackets, rouge1, rouge2, rougeL, answer_match or answer_f1 "
        "of translations, cider (the default) of captions, "
        "accuracy (the default) or f1 of labels"
    )


def test_computed_and_counted_agree() -> None:
    hypotheses, references = ["a b c d e", "x y"], ["a b c d f", "x y"]
    for name in ("bleu", "chrf", "ter", "exact_match"):
        counted = counted_metric(name)
        assert METRICS[name].of_corpus(hypotheses, references) == pytest.approx(
            counted.score(counted.count(hypotheses, references).sum(axis=0))
        )


def test_the_best_value_is_the_largest() -> None:
    assert value_to_maximise("bleu", 31.0) == 31.0
    for name in ("ter", "perplexity", "perplexity_word", "perplexity_byte", "bits_per_byte", "aer"):
        assert value_to_maximise(name, 2.0) == -2.0


def test_an_added_row_is_computed(added: Metric) -> None:
    values = evaluate_translations(["a b c", "d x"], ["a b c", "d e"], total_nll=1.0, tokens=1)
    assert values[added.name] == pytest.approx((1.0 + 0.5) / 2)
    cased = evaluate_translations(["A b"], ["a b"], total_nll=1.0, tokens=1, lowercase=True)
    assert cased[added.name] == 1.0
    assert added.name not in evaluate_labels(["a"], ["a"], ["a"])


@pytest.mark.parametrize("way", ["compute", "sentence_scores"])
def test_a_row_that_reads_the_sources_gets_them(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The share of hypotheses that differ from their source: 1 of 2, wherever it is computed."""

    def changed(hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> list[float]:
        return [float(one != source) for one, source in zip(hypotheses, sources, strict=True)]

    def share(hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> float:
        return float(np.mean(changed(hypotheses, references, sources)))

    row = Metric("changed", "changed", reads_sources=True, **{way: share if way == "compute" else changed})
    monkeypatch.setitem(METRICS, row.name, row)
    hypotheses, references, sources = ["a", "b"], ["x", "b"], ["a", "c"]
    values = evaluate_translations(hypotheses, references, sources=sources, total_nll=1.0, tokens=1)
    assert values["changed"] == 0.5
    assert "changed" not in evaluate_translations(hypotheses, references, total_nll=1.0, tokens=1)
    with pytest.raises(DataError, match="changed: this score reads the sources, and none are given"):
        row.of_corpus(hypotheses, references)
    if way == "sentence_scores":
        counted = counted_metric("changed", sources=sources)
        assert counted.score(counted.count(hypotheses, references).sum(axis=0)) == 0.5


def test_an_added_row_of_labels_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Metric("errors", "errors", "lower", "labels", compute=lambda found, expected: float(found != expected))
    monkeypatch.setitem(METRICS, row.name, row)
    assert evaluate_labels(["a", "b"], ["a", "a"], ["a", "b"])["errors"] == 1.0
    assert row.name not in counted_names()  # a function of the whole corpus: shown, but not tested
    assert with_added(TASKS["classify"].scores) == ("accuracy", "f1", "errors")


def test_an_added_row_is_shown_while_training(added: Metric, capsys: pytest.CaptureFixture[str]) -> None:
    with TrainingProgress() as progress:
        progress(
            Validated(
                step=10,
                seconds=1.0,
                loss=1.0,
                perplexity=2.7,
                scores={added.name: 0.756, "bleu": 3.0},
                samples=(),
                best=True,
            )
        )
    line = (
        "step 10: validation loss 1.000, perplexity 2.70, BLEU 3.00, common start 75.6 % by greedy search (best so far)"
    )
    assert line in capsys.readouterr().err
    assert (
        metrics_summary({"set": "test", "sentences": 5, added.name: 0.5})
        == "test set, 5 sentences: common start 50.0 %"
    )


def test_an_added_row_is_compared(added: Metric, tmp_path: Path) -> None:
    compared = comparison(tmp_path)
    truth = [reference for _, reference in PAIRS]
    assert compared.rows[1].scores[added.name] == pytest.approx(  # not metrics.json's
        [sum(longest_common(compared.rows[1].runs[0].hypotheses, truth)) / len(truth)]
    )
    against = compared.rows[1].against
    assert against is not None
    assert against.difference == pytest.approx((25 - 11) / 26)
    assert against.p_value == 1 / 51
    text = to_markdown(compared, by_length=True)
    assert "| BLEU | chrF | TER | exact % | perplexity | common start % | difference | p |" in text
    assert " | 96.2 | +53.8 | 0.020 |" in text
    assert "| common start % by source words | 1-3 |" in text
    assert "difference and p: common start % against norm=post" in text
    assert "common start %" in to_markdown(compare_runs(compared.rows[0].runs))  # of metrics.json
    of_translations, *_ = metric_choices().split(" of translations")
    assert of_translations.startswith("bleu (the default), chrf, ter, exact_match, per, ")
    assert of_translations.endswith(" or longest_common")


def test_an_added_row_is_on_the_page(added: Metric) -> None:
    events = [
        {
            "event": "validated",
            "step": step,
            "loss": 1.0,
            "perplexity": 2.7,
            "bleu": 3.0,
            added.name: step / 100,
            "best": True,
        }
        for step in (10, 20)
    ]
    assert training_curves(events)["scores"] == {"bleu": [(10, 3.0), (20, 3.0)], added.name: [(10, 0.1), (20, 0.2)]}
    data = json.loads(json.dumps(page_data(Report("added", events=events, metrics={added.name: 0.25, "set": "test"}))))
    assert data["logged_scores"] == ["perplexity", "bleu", added.name]
    assert [event[added.name] for event in data["validations"]] == [0.1, 0.2]
    assert data["cards"][2] == {
        "key": added.name,
        "label": "common start",
        "value": 0.25,
        "kind": "percent",
        "note": "test set",
    }
    shown = data["scores"][added.name]
    assert (shown["heading"], shown["unit"], shown["digits"], shown["better"]) == ("common start", "%", 1, "higher")
    assert vertical_axes()[added.name] == "validation common start %"
