"""A small model of every task with random weights, and one that counts, for the routes that serve them."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from picture_files import LABELS, bars
from regard.bundle.bundle import save_bundle
from regard.settings import merged
from regard.tasks.fine_tuning import run_settings
from regard.tasks.table import TASKS
from tasks.transfer_bases import SMALL, Home, scrambled
from training.runs import run

VERSE = ["to be or not to be", "that is the question", "to be is to do"]


def small_bundles(folder: Path) -> dict[str, Path]:
    """Name -> directory of a model of each task but translation."""
    home = Home(folder)
    pictures, labels = bars(24)
    np.savez(folder / "bars.npz", images=pictures, labels=np.array(LABELS)[labels])
    wave = 50.0 + 10.0 * np.sin(2.0 * np.pi * np.arange(160) / 8)
    home.write("series.csv", ["t,a,b", *(f"{step},{value:.4f},{2 * value:.4f}" for step, value in enumerate(wave))])
    tiny = {"width": 8, "heads": 2, "feed_forward": 12, "layers": 1}
    made: dict[str, dict[str, Any]] = {
        "tagger": {
            "task": "classify",
            "data": {"labelled": home.file("tagged.tsv"), "labels_of": "token"},
            "text": {"kind": "word"},
            "model": SMALL,
        },
        "pictures": {
            "task": "classify",
            "data": {"images": home.file("bars.npz")},
            "model": {**tiny, "convolutions": 1},
        },
        "captioner": {
            "task": "caption",
            "data": {"scenes": 24},
            "text": {"kind": "word"},
            "model": {**tiny, "convolution_width": 4},
        },
        "forecaster": {
            "task": "forecast",
            "data": {"series": home.file("series.csv"), "horizon": 4, "context": 16, "season": 8},
            "model": {"kind": "patch", "patch": 4, "stride": 2, **tiny},
        },
    }
    paths = {name: home.base(name) for name in ("language", "classifier", "mask")}
    for name, values in made.items():
        paths[name] = folder / name
        _save(paths[name], values)
    home.write("verse.txt", VERSE * 3)
    counted = {
        "task": "generate",
        "data": {"text": home.file("verse.txt"), "valid_text": home.file("verse.txt"), "documents": "line"},
        "text": {"kind": "word"},
        "model": {"kind": "markov", "order": 2, "smoothing": "none"},
    }
    run(counted, folder / "counted")
    return {**paths, "counted": folder / "counted"}


def _save(out: Path, values: dict[str, Any]) -> None:
    """A bundle of a network before its first step, moved at random."""
    settings = run_settings(merged(values, {"train": {"max_steps": 1}}))
    objective: Any = TASKS[settings.task].objective(settings, None, lambda *_: None)
    torch.manual_seed(len(str(out.name)))
    network = scrambled(objective.bundle.network())
    save_bundle(out, network.state_dict(), objective.bundle, objective.codecs)
