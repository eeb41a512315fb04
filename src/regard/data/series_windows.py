"""Windows of series: the part that is read and the part that is forecast. `SeriesWindows` is the `ExampleSet` of forecasting.

Shapes: N windows, B of a batch, L steps of the context, H of the horizon, F known columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.batches import Batch
from regard.data.examples import Numbers
from regard.data.scales import Scale
from regard.data.series import Series

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class ScaledSeries:
    """A series as a network reads it: standardised, and preceded by `context` copies of its first step.

    So a window whose context begins before the series reads the first value there.
    """

    values: Floats
    """[L + T]"""
    known: Floats
    """[L + K, F]"""
    context: int

    @staticmethod
    def of(series: Series, scale: Scale, known: Sequence[Scale], context: int) -> "ScaledSeries":
        """The series with its scale and those of the known columns."""
        columns = [one.scaled(series.known[:, place]) for place, one in enumerate(known)]
        table = np.stack(columns, axis=1) if columns else np.zeros((len(series.known), 0), dtype=np.float32)
        return ScaledSeries(_padded(scale.scaled(series.values), context), _padded(table, context), context)

    def past(self, origins: Numbers) -> Floats:
        """[N, L] the context before each origin, which is the step of the first forecast."""
        result: Floats = self.values[origins[:, None] + np.arange(self.context)]
        return result

    def truth(self, origins: Numbers, horizon: int) -> Floats:
        """[N, H] the values from each origin on."""
        result: Floats = self.values[origins[:, None] + self.context + np.arange(horizon)]
        return result

    def known_around(self, origins: Numbers, horizon: int) -> Floats | None:
        """[N, L + H, F] the known columns of context and horizon; None without known columns."""
        if not self.known.shape[1]:
            return None
        result: Floats = self.known[origins[:, None] + np.arange(self.context + horizon)]
        return result


def _padded(values: Floats, context: int) -> Floats:
    return np.concatenate([np.repeat(values[:1], context, axis=0), values])


class SeriesWindows:
    """All windows of training: their forecasts lie in the training part, and their contexts too."""

    def __init__(self, series: Sequence[ScaledSeries], names: Sequence[str], ends: Sequence[int], horizon: int) -> None:
        """ends: the number of training steps of each series."""
        self._names, self.horizon = names, horizon
        self.context = series[0].context
        counts = [max(0, end - self.context - horizon + 1) for end in ends]
        self._series = np.repeat(np.arange(len(series)), counts)
        origins = [np.arange(self.context, self.context + count) for count in counts]
        self._origins = np.concatenate(origins) if origins else np.zeros(0, dtype=np.int64)
        lengths = [len(one.values) for one in series]
        self._starts = np.cumsum([0, *lengths[:-1]])
        self._values = np.concatenate([one.values for one in series])
        known = [one.known[: len(one.values)] for one in series]
        self._known = np.concatenate(known) if known[0].shape[1] else None
        self.costly = False

    def __len__(self) -> int:
        return len(self._origins)

    def plan(self, batch_tokens: int, seed: int, epoch: int) -> list[Numbers]:
        """Batches of windows in random order. A window counts as many tokens as its longer part has steps."""
        size = max(1, batch_tokens // max(self.context, self.horizon))
        order = np.random.default_rng([seed, epoch]).permutation(len(self))
        return [order[first : first + size].astype(np.int64) for first in range(0, len(order), size)]

    def split(self, batch: Numbers, parts: int, seed: int, epoch: int) -> list[Numbers]:
        """Equal parts of a batch."""
        return [np.asarray(part, dtype=np.int64) for part in np.array_split(batch, parts)]

    def batch(self, numbers: Sequence[int] | Numbers, seed: int, epoch: int, readings: int = 1) -> Batch:
        """The tensors of these windows: `source` is the past [B, L], `target_out` the future [B, H]."""
        chosen = np.asarray(numbers, dtype=np.int64)
        first = self._starts[self._series[chosen]] + self._origins[chosen]
        places = first[:, None] + np.arange(self.context + self.horizon)
        window = torch.from_numpy(self._values[places])
        future = window[:, self.context :]
        return Batch(
            source=window[:, : self.context],
            target_in=future,
            target_out=future,
            indices=tuple(chosen.tolist()),
            tokens=future.numel(),
            known=None if self._known is None else torch.from_numpy(self._known[places]),
        )

    def where(self, batches: Sequence[Numbers], seed: int, epoch: int) -> str:
        """The series and the first forecast steps of these windows."""
        places = [
            (self._names[self._series[number]], int(self._origins[number]) + 1) for batch in batches for number in batch
        ]
        listed = ", ".join(f"{name} from step {step} on" for name, step in places[:3])
        return f"windows of {listed}{', ..' if len(places) > 3 else ''}"
