"""Made-up finished runs: the files that a comparison reads, without any training."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.explain.comparison import RunResult, read_result
from regard.settings import leaves, merged
from regard.tasks.settings import parse_settings

WORDS = ("un", "chien", "noir", "dort", "sur", "le", "toit", "de", "la", "maison", "rouge", "ce", "soir")
PAIRS = [(" ".join(WORDS[: 1 + n % 13]), f"sentence {n} has " + " ".join(WORDS[: n % 13])) for n in range(26)]


def finished_run(
    directory: Path,
    changes: dict[str, Any] | None = None,
    *,
    wrong: Sequence[int] = (),
    pairs: Sequence[tuple[str, str]] = PAIRS,
    metrics: dict[str, Any] | None = None,
) -> Path:
    """A run of these settings that translated all sentences but the `wrong` ones as their reference."""
    directory.mkdir(parents=True, exist_ok=True)
    config = parse_settings(changes or {})
    (directory / "config.json").write_text(config.model_dump_json(), encoding="utf-8")
    rows = [
        {"source": source, "reference": reference, "hypothesis": "something else" if n in wrong else reference}
        for n, (source, reference) in enumerate(pairs)
    ]
    (directory / "translations.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    values = {
        "bleu": 1.0,
        "chrf": 50.0 + len(wrong),
        "ter": 40.0,
        "perplexity": 2.5,
        "aer": None,
        "exact_match": 1 - len(wrong) / len(pairs),
        "set": "test",
        "sentences": len(pairs),
        "parameters": 1_000_000,
        "tokens": 20_000,
        "seconds": 75.0,
        "steps": 300,
        "decoding_seconds": 2.0,
        "languages": {"source": "fr", "target": "en"},
    }
    (directory / "metrics.json").write_text(json.dumps(merged(values, metrics or {})), encoding="utf-8")
    return directory


def result(directory: Path) -> RunResult:
    """The run as it is compared."""
    settings = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    return read_result(directory, dict(leaves(settings)))


def finished_classifier(directory: Path, changes: dict[str, Any] | None = None, *, wrong: Sequence[int] = ()) -> Path:
    """A run of a classifier that told the labels of 20 texts, all but the `wrong` ones; with data.labels_of token, of two words each."""
    settings = merged({"task": "classify", "data": {"labelled": "texts.tsv"}}, changes or {})
    directory.mkdir(parents=True, exist_ok=True)
    config = parse_settings(settings)
    (directory / "config.json").write_text(config.model_dump_json(), encoding="utf-8")
    rows: list[dict[str, Any]] = []
    for n in range(20):
        right, said = "ab"[n % 2], "ab"[(n + (n in wrong)) % 2]
        told = (["a", right], ["a", said]) if config.data.labels_of == "token" else (right, said)
        rows.append({"text": " ".join(WORDS[: 1 + n % 13]), "expected": told[0], "found": told[1]})
    (directory / "predictions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    values = {"task": "classify", "accuracy": 1 - len(wrong) / 20, "f1": 0.5, "set": "test", "texts": 20}
    costs = {"parameters": 100, "tokens": 20_000, "seconds": 7.0, "steps": 30, "decoding_seconds": 2.0}
    (directory / "metrics.json").write_text(json.dumps({**values, **costs}), encoding="utf-8")
    return directory


def finished_writer(directory: Path, changes: dict[str, Any] | None = None, **metrics: Any) -> Path:
    """A run of a language model."""
    directory.mkdir(parents=True, exist_ok=True)
    config = parse_settings(merged({"task": "generate", "data": {"text": "text.txt"}}, changes or {}))
    (directory / "config.json").write_text(config.model_dump_json(), encoding="utf-8")
    (directory / "samples.jsonl").write_text('{"prompt": "a", "reference": "b", "text": "c"}\n', encoding="utf-8")
    values = {"task": "generate", "perplexity": 5.0, "perplexity_word": 90.0, "bits_per_byte": 1.5, "set": "validation"}
    sizes = {
        "evaluated_tokens": 400,
        "evaluated_words": 1200,
        "evaluated_bytes": 6000,
        "parameters": 100,
        "seconds": 7.0,
    }
    (directory / "metrics.json").write_text(json.dumps({**values, **sizes, **metrics}), encoding="utf-8")
    return directory
