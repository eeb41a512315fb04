"""Calibration of forecast quantiles on windows that were not trained on: conformalised quantile regression, step by step.

An interval misses a true value y by E = max(low - y, y - high), which is negative inside. Widened on both sides by the k-th smallest of n
such scores, k = ceil((n + 1) share), it covers the share of new values that come from where the scores do (Romano et al. 2019). A quantile
without a mirror image is moved in the same way on its own side; the median stays.

Shapes: N windows, H steps of the horizon, Q quantiles.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regard.metrics.forecasting import intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_SCORES = 100
"""Scores that a correction needs. A step with fewer windows shares its correction with its neighbours, at most with all steps."""


def conformal_quantile(scores: "NDArray[Any]", share: float) -> float:
    """The k-th smallest score, k = ceil((n + 1) share). With too few scores for the share it is the largest."""
    import numpy as np

    place = min(len(scores), math.ceil((len(scores) + 1) * share - 1e-9)) - 1
    return float(np.partition(scores, place)[place])


def corrections(
    truth: "NDArray[Any]", levels: "NDArray[Any]", scale: "NDArray[Any]", quantiles: Sequence[float]
) -> "NDArray[Any]":
    """[H, Q] what to add to each quantile at each step, in units of the scale of a window.

    truth [N, H]; levels [N, H, Q]: forecast quantiles; scale [N]: the unit of each window, so that wide windows get wide corrections.
    """
    import numpy as np

    windows, horizon = truth.shape
    unit = scale[:, None]
    found = np.zeros((horizon, len(quantiles)))
    groups = np.array_split(np.arange(horizon), max(1, horizon // math.ceil(LEAST_SCORES / windows)))
    pairs = intervals(quantiles)
    for share, (low, high) in pairs.items():
        scores = np.maximum(levels[..., low] - truth, truth - levels[..., high]) / unit
        for group in groups:
            wider = conformal_quantile(scores[:, group].ravel(), share)
            found[group, low], found[group, high] = -wider, wider
    paired = {place for pair in pairs.values() for place in pair}
    for place, level in enumerate(quantiles):
        if place in paired or level == 0.5:
            continue
        side = 1.0 if level > 0.5 else -1.0
        scores = side * (truth - levels[..., place]) / unit
        for group in groups:
            found[group, place] = side * conformal_quantile(scores[:, group].ravel(), max(level, 1.0 - level))
    return found
