"""The value that selects the best checkpoint, by `train.select`."""

from collections.abc import Mapping

from regard.errors import ConfigError
from regard.metrics.scores import value_to_maximise

ENOUGH_FOR_BLEU = 100
"""Validation sentences below which BLEU is noise, and `select = "auto"` means the loss."""


def auto_for_translations(sentences: int) -> str:
    """The score that `select = "auto"` stands for, with so many validation sentences."""
    return "bleu" if sentences >= ENOUGH_FOR_BLEU else "loss"


def selecting(select: str, auto: str) -> str:
    """The score, or `loss`, that selects the best checkpoint. `auto`: what `select = "auto"` stands for."""
    return auto if select == "auto" else select


def best_value(select: str, auto: str, loss: float, scores: Mapping[str, float]) -> float:
    """The value of a validation: larger is better. `auto`: the score, or `loss`, that `select = "auto"` stands for."""
    chosen = selecting(select, auto)
    if chosen != "loss" and chosen not in scores:
        raise ConfigError(f"train.select = {chosen!r}: not measured at a validation, only {', '.join(scores)}")
    return -loss if chosen == "loss" else value_to_maximise(chosen, scores[chosen])
