"""The learning rate of a step, as a factor of the highest one. Pure functions of the step and of how far the run has come."""

import math
from collections.abc import Callable

LONGEST_WARMUP = 0.2  # of a run


def linear(step: int, warmup: int, progress: float) -> float:
    """Down to zero in a straight line over the run."""
    return 1.0 - progress


def cosine(step: int, warmup: int, progress: float) -> float:
    """Down to zero along half a cosine (Loshchilov and Hutter 2017)."""
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


def learning_rate(schedule: str, highest: float, *, step: int, warmup: int, progress: float, width: int) -> float:
    """The rate of the step numbered `step` from 1, when `progress` (0 to 1) of the run is behind.

    It rises over `warmup` steps, or over a fifth of the run where that is shorter; Noam's formula has its own rise.
    """
    if schedule == "noam":
        return highest * noam(step, warmup, width)
    rise = min(1.0, max(step / warmup, progress / LONGEST_WARMUP)) if warmup else 1.0
    return highest * rise * DECAYS[schedule](step, warmup, min(progress, 1.0))
