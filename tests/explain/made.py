"""Made-up finished runs: the files that a comparison reads, without any training."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.explain.comparison import RunResult, read_result
from regard.settings import leaves, merged
from regard.train.config import RunConfig

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
    config = RunConfig.parse(changes or {})
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
