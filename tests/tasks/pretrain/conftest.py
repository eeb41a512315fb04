"""Pretrained models that know a few sentences by heart, one of each objective, trained once."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import small_run
from regard import train
from regard.settings import merged
from regard.tasks.load import load_filler
from regard.tasks.pretrain.filler import Filler

__all__ = ["small_run"]  # a fixture that both folders use

SENTENCES = (
    "the old sailor saw lighthouses.",
    "my sister bakes bread daily.",
    "his green parrot repeats rude jokes!",
    "nobody ever visits that abandoned castle.",
    "Quiet rivers carry cold mountain water.",
)
"""No word is in two of them, so what is left of one says which it is."""
WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
COUNTED = [WORDS[first : first + count] for first in range(8) for count in range(3, 11 - first)] * 4
"""What a model of prefixes learns: to count on from any number, without knowing where it ends."""
OBJECTIVES: dict[str, dict[str, Any]] = {
    "mask": {"objective": {"kind": "mask"}},
    "denoise": {"objective": {"kind": "denoise", "deletion": 0.1}},
    "span": {"objective": {"kind": "span", "rate": 0.25, "mean_span": 1.0}, "text": {"reserved": {"mask": True}}},
    "prefix": {
        "objective": {"kind": "prefix"},
        "model": {"layers": 2},
        "train": {"max_steps": 80, "batch_tokens": 512},
    },
}


def settings_of(objective: str, text: Path) -> dict[str, Any]:
    """A run that learns the sentences in seconds."""
    common = {
        "task": "pretrain",
        "data": {"text": str(text), "valid_text": str(text), "max_length": 64},
        "text": {"kind": "word"},
        "model": {"layers": 1, "width": 32, "heads": 2, "feed_forward": 64, "dropout": 0.0},
        "train": {
            "max_steps": 240,
            "batch_tokens": 200,
            "warmup": 10,
            "learning_rate": 0.02,
            "label_smoothing": 0.0,
            "validate_every": 80,
            "save_every": 80,
            "samples": 1,
            "precision": "float32",
        },
    }
    values = merged(common, OBJECTIVES[objective])
    if objective == "prefix":
        del values["train"]["learning_rate"]  # the default
    return values


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Any, Filler]]:
    """`learned("mask")`: (run, filler)"""
    home = tmp_path_factory.mktemp("learned")

    @cache
    def make(objective: str) -> tuple[Any, Filler]:
        lines = map(" ".join, COUNTED) if objective == "prefix" else SENTENCES * 8
        text = home / f"{objective}.txt"
        text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("REGARD_CACHE", str(home / "cache"))
            run = train(settings_of(objective, text), home / objective, progress=False)
        return run, load_filler(home / objective)

    return make
