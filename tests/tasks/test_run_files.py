"""The JSON files of a run: a wrong shape is one line that names file, line and key; values stay as they are in the file."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from regard.errors import DataError
from regard.foreign import LINE_BYTES
from regard.tasks.run_files import TranslationRow, read_events, read_metrics, read_rows, row_with

METRICS = {"bleu": 31.5, "chrf": None, "steps": 12, "seconds": 1, "languages": {"source": "fr"}, "own": [1, {"a": 2}]}


def test_metrics_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text(json.dumps(METRICS))
    assert read_metrics(tmp_path) == METRICS


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"steps": "many"}, "steps = 'many'"),
        ({"steps": -1}, "steps = -1"),
        ({"steps": True}, "steps = True"),
        ({"seconds": "1"}, "seconds = '1'"),
        ({"bleu": "31"}, "bleu = '31'"),
        ({"bleu": [31]}, "bleu = [31]"),
        ({"languages": 3}, "languages = 3"),
        ({"languages": {"source": 3}}, "languages.source = 3"),
        ({"confusion": [[1, "x"]]}, "confusion.0.1 = 'x'"),
        ({"notes": None}, "notes = None"),
    ],
)
def test_metrics_of_another_shape(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    (tmp_path / "metrics.json").write_text(json.dumps({**METRICS, **change}))
    with pytest.raises(DataError) as caught:
        read_metrics(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'metrics.json'}: {reason}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"garbage", b"[]", b"\xff", b"[" * 100_000, b'{"bleu": 1, "bleu": 2}'])
def test_metrics_of_garbage(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "metrics.json").write_bytes(content)
    with pytest.raises(DataError, match=r"metrics\.json: .*; leave .* out$"):
        read_metrics(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "metrics.json")
    os.mkfifo(tmp_path / "log.jsonl")
    with pytest.raises(DataError, match=r"metrics\.json: a named pipe"):
        read_metrics(tmp_path)
    with pytest.raises(DataError, match=r"log\.jsonl: a named pipe"):
        read_events(tmp_path / "log.jsonl")


ROW = {"source": "a", "reference": "b", "hypothesis": "c", "score": -1.5}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"source": "a"}, "reference: field required"),
        ({**ROW, "source": None}, "source = None"),
        ({**ROW, "score": "x"}, "score = 'x'"),
        ({**ROW, "gold": 1}, "gold = 1"),
        (["source"], "expected an object, found a list"),
    ],
)
def test_rows_without_their_keys(tmp_path: Path, line: Any, reason: str) -> None:
    path = tmp_path / "translations.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n\n{json.dumps(line)}\n")
    with pytest.raises(DataError) as caught:
        read_rows(path, TranslationRow)
    assert str(caught.value).startswith(f"{path}:3: {reason}")


def test_rows_of_texts_and_of_tags(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    rows = [{"text": "a b", "found": ["X", "Y"], "more": 1}, {"text": "a", "found": "X"}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert read_rows(path, row_with(("text", "found"))) == rows
    path.write_text('{"text": "a", "found": [1]}\n')
    with pytest.raises(DataError, match=r"predictions\.jsonl:1: found"):
        read_rows(path, row_with(("text", "found")))


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"event": "step", "step": None}, "step = None"),
        ({"event": "step", "step": 1e400}, "step = inf"),
        ({"event": "step", "step": 1, "tokens": "x"}, "tokens = 'x'"),
        ({"event": "validated", "step": 1, "samples": [1]}, "samples.0 = 1"),
        ({"event": "validated", "step": 1, "samples": [{"source": 1}]}, "samples.0.source = 1"),
        ({"event": "diagnosed", "step": 1}, "parts: field required"),
        ({"event": "diagnosed", "step": 1, "parts": [{}]}, "parts.0.name: field required"),
        ({"event": ["step"]}, "event = ['step']"),
    ],
)
def test_events_of_another_shape(tmp_path: Path, event: dict[str, Any], reason: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"event": "started", "step": 0}) + "\n" + json.dumps(event) + "\n")
    with pytest.raises(DataError) as caught:
        read_events(path)
    assert str(caught.value).startswith(f"{path}:2: {reason}")


def test_a_line_of_a_log_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"event": "started"}\n' + b" " * (LINE_BYTES + 1) + b"{}\n")
    with pytest.raises(DataError, match=r"log\.jsonl:2: a line of more than 1,048,576 bytes"):
        read_events(path)
