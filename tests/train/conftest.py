"""A corpus small enough to train on in seconds."""

from pathlib import Path
from typing import Any

import pytest

LETTERS = "abcdefgh"


@pytest.fixture
def corpus(tmp_path: Path) -> dict[str, str]:
    """Words of a made-up language and the same words reversed and in upper case: learnable, and never the identity."""
    lines = [" ".join(_word(i * 7 + j) for j in range(1 + i % 4)) for i in range(120)]
    (tmp_path / "train.xx").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "train.yy").write_text("".join(f"{line[::-1].upper()}\n" for line in lines), encoding="utf-8")
    return {"src": str(tmp_path / "train.xx"), "tgt": str(tmp_path / "train.yy")}


@pytest.fixture
def settings(corpus: dict[str, str]) -> dict[str, Any]:
    """A run of a few dozen steps, with everything on that could disturb an exact resume."""
    return {
        "data": corpus,
        "text": {"kind": "bpe", "vocabulary": 320, "dropout": 0.2},
        "model": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 32, "dropout": 0.2},
        "train": {"max_steps": 12, "batch_tokens": 120, "validate_every": 5, "save_every": 3, "warmup": 2, "keep": 2},
    }


def _word(number: int) -> str:
    return "".join(LETTERS[(number // 8**place + place) % 8] for place in range(2 + number % 3))
