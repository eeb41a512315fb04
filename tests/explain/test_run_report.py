"""The report of a run: generic for every task, with more views for a translator."""

import json
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from torch import nn

from regard.bundle.bundle import save_bundle
from regard.bundle.config import BundleSettings
from regard.bundle.locate import write_pointer
from regard.explain.report import page_data
from regard.explain.run_report import write_run_report
from regard.models.config import ModelConfig
from regard.tasks.interface import ResultFile
from regard.tasks.table import TASKS
from tasks.bundles import SPLIT, random_bundle

CHECKPOINT = "checkpoints/step-00000002"


class ToyModel(ModelConfig):
    kind: Literal["toy"] = "toy"


class ToyBundle(BundleSettings):
    task: str = "toy"
    model: ToyModel = ToyModel()

    def network(self) -> nn.Module:
        return nn.Linear(2, 2)


class ToyTask:
    """A task of an extension: only what a report may ask of it."""

    name = "toy"
    scores = ()
    bundle = ToyBundle
    results = ResultFile("toys.jsonl", None, ("toys", "toys"))
    loads: ClassVar[list[Any]] = []

    def load(self, *arguments: Any) -> Any:
        self.loads.append(arguments)
        raise AssertionError("the generic page needs no model")


def write_run(run: Path, task: str, rows_file: str, rows: list[dict[str, Any]]) -> None:
    sample = {"source": "a b", "reference": "c", "hypothesis": "d"}
    events = [
        {"event": "step", "step": 1, "loss": 3.0, "seconds": 1.0, "tokens": 5},
        {"event": "validated", "step": 1, "loss": 2.0, "samples": [sample]},
    ]
    run.mkdir(parents=True, exist_ok=True)
    (run / "log.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    (run / "config.json").write_text(json.dumps({"format": 2, "task": task, "seed": 7}), encoding="utf-8")
    (run / "metrics.json").write_text(json.dumps({"set": "test", "accuracy": 0.75}), encoding="utf-8")
    (run / rows_file).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The data of the page that is written."""
    data: dict[str, Any] = {}
    monkeypatch.setattr("regard.explain.report.page_data", lambda report: data.update(page_data(report)) or dict(data))
    return data


@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_an_extensions_task_gets_the_generic_page(
    has_checkpoint: bool, tmp_path: Path, page: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TASKS, "toy", ToyTask())
    write_run(tmp_path, "toy", "toys.jsonl", [{"anything": 1}])
    (tmp_path / "translations.jsonl").write_text("not of this task", encoding="utf-8")
    if has_checkpoint:
        save_bundle(tmp_path / CHECKPOINT, nn.Linear(2, 2).state_dict(), ToyBundle(), None)
        write_pointer(tmp_path, "latest", CHECKPOINT)
    assert write_run_report(tmp_path) == tmp_path / "report.html"
    assert ToyTask.loads == []
    assert page["curves"]["loss"] == [[1, 3.0]]
    assert page["curves"]["validation_loss"] == [[1, 2.0]]
    assert page["metrics"]["accuracy"] == 0.75
    assert page["samples"][0]["attempts"] == [{"first": 1, "last": 1, "hypothesis": "d"}]
    assert ["seed", "7"] in page["settings"]
    assert (page["worst"], page["alignments"], page["beam_tree"], page["explanation"]) == ([], [], None, None)
    assert bool(page["version"]) == has_checkpoint


def test_a_metric_of_an_extension_that_is_not_loaded_is_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASKS, "toy", ToyTask())
    write_run(tmp_path, "toy", "toys.jsonl", [])
    used = {"name": "mine.py", "sha256": "0", "adds": ["mixer toy", "metric loudness"]}
    (tmp_path / "config.json").write_text(
        json.dumps({"format": 2, "task": "toy", "extensions": [used]}), encoding="utf-8"
    )
    with pytest.warns(UserWarning, match=r"the report lacks the metric 'loudness'; give --extension mine\.py$") as told:
        write_run_report(tmp_path)
    assert len(told) == 1


def test_a_translator_gets_its_sentences_maps_search_and_heads(tmp_path: Path, page: dict[str, Any]) -> None:
    rows = [
        {"source": pair.french, "reference": pair.english, "hypothesis": pair.english, "score": -1.0}
        for pair in SPLIT.test[:20]
    ]
    rows[3]["hypothesis"] = "nothing alike"
    write_run(tmp_path, "translate", "translations.jsonl", rows)
    random_bundle(tmp_path / CHECKPOINT)
    write_pointer(tmp_path, "latest", CHECKPOINT)
    write_run_report(tmp_path)
    assert page["worst"][0]["source"] == rows[3]["source"]
    assert page["best"][0]["chrf"] == 100.0
    lengths = [len(drawn["source_words"]) for drawn in page["alignments"]]
    assert len(lengths) == 8
    assert lengths == sorted(lengths, reverse=True)
    assert page["beam_tree"]["beam"] == 3
    assert page["beam_tree"]["source"] == page["explanation"]["source"]["text"]


def test_a_translator_without_a_checkpoint_shows_its_sentences_only(tmp_path: Path, page: dict[str, Any]) -> None:
    row = {"source": "un deux trois quatre cinq", "reference": "one", "hypothesis": "one", "score": -1.0}
    write_run(tmp_path, "translate", "translations.jsonl", [row])
    write_run_report(tmp_path)
    assert [sentence["chrf"] for sentence in page["worst"]] == [100.0]
    assert (page["alignments"], page["beam_tree"], page["explanation"]) == ([], None, None)
