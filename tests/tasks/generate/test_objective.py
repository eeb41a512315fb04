"""Language models through the same loop: trained, killed and resumed to the last bit, averaged, counted, and judged."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.errors import ConfigError, TrainError
from regard.tasks.load import load_writer
from regard.tasks.settings import parse_settings
from regard.training.events import Validated
from training.runs import logged, run, steps, stop_after

VERSE = ["to be or not to be", "that is the question", "", "whether tis nobler in the mind to suffer"]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{VERSE[n % 4]} {n}\n" for n in range(60)), encoding="utf-8")
    return path


def settings(text: Path, **model: Any) -> dict[str, Any]:
    size = {"layers": 1, "width": 16, "dropout": 0.2, **model}
    if size.get("kind") != "recurrent":
        size |= {"heads": 2, "feed_forward": 16}
    return {
        "task": "generate",
        "data": {"text": str(text), "max_length": 16},
        "text": {"kind": "char"},
        "model": size,
        "train": {"max_steps": 8, "batch_tokens": 128, "validate_every": 4, "save_every": 3, "warmup": 2, "samples": 1},
    }


@pytest.mark.parametrize(
    "model", [{"positions": "rotary"}, {"kind": "recurrent", "cell": "gru"}], ids=["transformer", "gru"]
)
def test_a_run_goes_on_where_it_was_stopped(text: Path, tmp_path: Path, model: dict[str, Any]) -> None:
    changes = {"ema": 0.5, "accumulate": 2, "consistency": 1.0}
    whole, events = run(settings(text, **model), tmp_path / "whole", **changes)
    with pytest.raises(KeyboardInterrupt):
        run(settings(text, **model), tmp_path / "cut", stop_after(5), **changes)
    run(settings(text, **model), tmp_path / "cut", **changes)
    assert steps(tmp_path / "cut") == steps(tmp_path / "whole")
    validations = [event for event in events if isinstance(event, Validated)]
    assert validations[-1].loss < validations[0].loss
    assert whole.metrics is not None
    assert whole.metrics["task"] == "generate"
    assert whole.metrics["nats_per_token"] < 5.8, "less than of 319 equally probable characters"


def test_what_a_run_leaves(text: Path, tmp_path: Path) -> None:
    found, _ = run(settings(text), tmp_path / "run", average=2)
    metrics = json.loads((tmp_path / "run/metrics.json").read_text(encoding="utf-8"))
    assert found.metrics == metrics
    assert metrics["evaluated_tokens"] == metrics["evaluated_bytes"], "one character, one byte, one token"
    assert metrics["perplexity"] == pytest.approx(metrics["perplexity_byte"])
    assert metrics["bits_per_byte"] == pytest.approx(metrics["nats_per_token"] / 0.693147, rel=1e-4)
    rows = [json.loads(line) for line in (tmp_path / "run/samples.jsonl").read_text(encoding="utf-8").splitlines()]
    assert 6 < len({row["prompt"] for row in rows}) == len(rows) <= 12
    assert rows[0].keys() == {"prompt", "reference", "text"}
    validated = logged(tmp_path / "run", "validated")
    assert {"loss", "perplexity", "perplexity_word", "bits_per_byte", "samples"} <= validated[-1].keys()
    writer = load_writer(tmp_path / "run")
    assert writer.texts.context == 16
    again, _ = run(settings(text), tmp_path / "run", average=2)
    assert again.reason == "finished"


@pytest.mark.parametrize("model", [{"order": 3}, {"order": 2, "skips": 4, "mask": 0.05}], ids=["order-3", "skips"])
def test_counting_is_a_run_too(text: Path, tmp_path: Path, model: dict[str, Any]) -> None:
    values = {**settings(text), "model": {"kind": "markov", **model}}
    found, events = run(values, tmp_path / "run", samples=2)
    assert found.reason == "counted"
    assert [event.to_json()["event"] for event in events if event.step] == ["validated", "saved", "stopped"]
    assert found.metrics is not None
    assert found.metrics["nats_per_token"] < 2.0, "the verses are repeated"
    assert found.metrics["nats_per_token"] == pytest.approx(logged(tmp_path / "run", "validated")[0]["loss"])
    again, _ = run(values, tmp_path / "run", samples=2)
    assert again.reason == "finished"
    assert load_writer(tmp_path / "run").generate(["to be or n"], sample=False, max_length=2)[0].text == "ot"


def test_lines_as_texts_end(text: Path, tmp_path: Path) -> None:
    values = {**settings(text), "model": {"kind": "markov", "order": 4}}
    values["data"] = {"text": str(text), "documents": "line"}
    run(values, tmp_path / "run")
    writer = load_writer(tmp_path / "run")
    [found] = writer.generate(["that is the question 4"], sample=False, max_length=20)
    assert found.finished
    assert "\n" not in found.text


def complaint(values: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_settings(values)
    return str(caught.value)


def test_settings_that_a_task_does_not_have(text: Path) -> None:
    assert "needs a text" in complaint({"task": "generate"})
    assert "data.text has no meaning for task 'translate'" in complaint({"data": {"text": str(text)}})
    assert "cannot do task 'translate'" in complaint({"model": {"kind": "markov"}})
    values = settings(text)
    assert "data.src has no meaning" in complaint({**values, "data": {"text": "t", "src": "a", "tgt": "b"}})
    assert "model.encoder_layers has no meaning" in complaint({**values, "model": {"encoder_layers": 3}})
    for setting in ({"attention": False}, {"score": "dot"}, {"score_width": 8}):
        wrong = {**values, "model": {"kind": "recurrent", **setting}}
        assert f"model.{next(iter(setting))} has no meaning for task 'generate' of a recurrent network" in complaint(
            wrong
        )
    parse_settings({**values, "model": {"kind": "transformer", "score": "additive", "score_width": 8}})
    assert "train.select 'bleu' is for translations" in complaint({**values, "train": {"select": "bleu"}})
    assert "translate" in complaint({**values, "task": "paint"})


def test_another_text_is_another_run(text: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(settings(text), tmp_path / "run", stop_after(7))
    text.write_text("something else\nand more\n", encoding="utf-8")
    with pytest.raises(TrainError, match="content of the data files has changed"):
        run(settings(text), tmp_path / "run")
