"""Learning rate schedules: warm-up and decay. Pure functions of the step and of the share of the run that is done."""

import math
from collections.abc import Callable

LONGEST_WARMUP = 0.2  # of a run


def linear(step: int, warmup: int, progress: float) -> float:
    """Linear decay to zero over the run."""
    return 1.0 - progress


def cosine(step: int, warmup: int, progress: float) -> float:
    """Cosine decay to zero (Loshchilov and Hutter 2017)."""
    return 0.5 * (1.0 + math.cos(math.pi * progress))


def inverse_sqrt(step: int, warmup: int, progress: float) -> float:
    """sqrt(warmup / step) after the warm-up."""
    return math.sqrt(max(warmup, 1) / max(step, warmup, 1))


def constant(step: int, warmup: int, progress: float) -> float:
    """No decay."""
    return 1.0


DECAYS: dict[str, Callable[[int, int, float], float]] = {
    "linear": linear,
    "cosine": cosine,
    "inverse_sqrt": inverse_sqrt,
    "constant": constant,
}


def noam(step: int, warmup: int, width: int) -> float:
    """width^-0.5 min(step^-0.5, step warmup^-1.5) (Vaswani et al. 2017, eq. 3)."""
    return float(width**-0.5 * min(step**-0.5, step * max(warmup, 1) ** -1.5))


def learning_rate(
    schedule: str, highest: float, *, step: int, warmup: int, progress: float, width: int, full_warmup: bool = False
) -> float:
    """The learning rate of a step, counted from 1, when the share `progress` (0 to 1) of the run is done.

    The warm-up takes `warmup` steps, but at most a fifth of the run unless `full_warmup`. Noam's formula has its own warm-up.
    """
    if schedule == "noam":
        return highest * noam(step, warmup, width)
    at_least = 0.0 if full_warmup else progress / LONGEST_WARMUP
    rise = min(1.0, max(step / warmup, at_least)) if warmup else 1.0
    return highest * rise * DECAYS[schedule](step, warmup, min(progress, 1.0))
