"""Recipes: named settings for `--recipe`. A config file and `--set` override them."""

from typing import Any

RECIPES: dict[str, dict[str, Any]] = {
    "2017": {
        # Vaswani et al. 2017, section 5: post-norm, Adam with Noam's schedule. The size is the preset's.
        "model": {"norm": "post", "positions": "sinusoidal", "activation": "relu", "dropout": 0.1},
        "train": {
            "optimizer": "adam",
            "beta1": 0.9,
            "beta2": 0.98,
            "schedule": "noam",
            "learning_rate": 1.0,
            "warmup": 4000,
            "clip": 0.0,
            "label_smoothing": 0.1,
            "batch_tokens": 4096,
        },
    },
}
