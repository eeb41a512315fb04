"""`Forecaster`: series in, forecasts out. It joins a network and the scales of its series.

A series that is shorter than the context is preceded by copies of its first value; the result says so (`padded`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.activity import activity
from regard.bundle.describe import summary
from regard.bundle.opened import OpenBundle
from regard.data.examples import Numbers
from regard.data.frequency import shown_time
from regard.data.scales import SeriesScale, SeriesScales
from regard.data.series import Series, SeriesTable, series_of
from regard.data.series_files import SeriesForm, read_series
from regard.data.series_windows import ScaledSeries
from regard.engine.resident import Resident
from regard.errors import DataError, InputTypeError
from regard.models.forecasters import ForecastNetwork
from regard.tasks.forecast.series_forecast import SeriesForecast
from regard.tasks.forecast.settings import ForecastBundle

WINDOWS_AT_ONCE = 1024
Floats = NDArray[np.float32]


class Forecaster:
    """Forecasts series. Made by `regard.load`, or around a network that is being trained."""

    def __init__(
        self,
        network: ForecastNetwork,
        config: ForecastBundle,
        scales: SeriesScales,
        *,
        bundle: OpenBundle | None = None,
    ) -> None:
        self._resident = Resident(network)
        self.config, self.scales, self.bundle = config, scales, bundle

    def __repr__(self) -> str:
        return summary(type(self).__name__, self.bundle, self._resident.loaded)

    @property
    def network(self) -> ForecastNetwork:
        """The network."""
        return self._resident.network

    def read(self, path: str | Path, *, repair: bool = False) -> SeriesTable:
        """The series of a file, read as the training file was. A file of another frequency is refused."""
        config = self.config
        form = SeriesForm(
            config.time, config.targets, config.known, None, config.missing, repair, expected=config.frequency
        )
        return read_series(path, form)

    def forecast(
        self,
        series: "str | Path | SeriesTable | Mapping[str, Sequence[float]] | Sequence[Any]",
        *,
        repair: bool = False,
    ) -> list[SeriesForecast]:
        """The forecast after the end of each series.

        `series`: the path of a CSV file, numbers by name, a list of lists of numbers, or one list. `repair`: of a file, sort its times
        and fill its gaps.
        """
        table = self.table_of(series, repair=repair)
        return [self._after_end(one) for one in table.series]

    def table_of(self, series: Any, *, repair: bool = False) -> SeriesTable:
        """The table of what `forecast` takes."""
        if isinstance(series, SeriesTable):
            return series
        if isinstance(series, str | Path):
            return self.read(series, repair=repair)
        names: list[str] | None = None
        if isinstance(series, Mapping):
            names, rows = [str(name) for name in series], list(series.values())
        elif isinstance(series, Sequence | np.ndarray) and len(series):
            rows = list(series) if np.ndim(series[0]) else [series]
        else:
            raise InputTypeError(
                "expected the path of a CSV file, numbers by name, or lists of numbers: write [[112, 118, 132]]"
            )
        if self.config.known:
            raise DataError(
                f"the model reads the known columns {', '.join(self.config.known)}; give a CSV file with them"
            )
        try:
            return series_of(rows, names)
        except (TypeError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise InputTypeError(f"expected lists of numbers: {error}; write [[112, 118, 132]]") from None

    def _after_end(self, series: Series) -> SeriesForecast:
        config, scale = self.config, self.scale(series)
        last, ahead = len(series.values), len(series.known) - len(series.values)
        if config.known and ahead < config.horizon:
            raise DataError(
                f"series {series.name!r}: the known columns {', '.join(config.known)} end {ahead} steps after its last value, and "
                f"the forecast needs {config.horizon}; add rows with the future times and an empty value"
            )
        outputs = self.outputs(self.scaled(series), np.array([last]))[0]
        values = scale.unscaled(outputs)
        return SeriesForecast(
            series.name,
            [shown_time(series.time(last + step)) for step in range(config.horizon)],
            values[:, 0].tolist(),
            {level: values[:, 1 + place].tolist() for place, level in enumerate(config.quantiles)},
            padded=last < config.context,
        )

    def scale(self, series: Series, until: int | None = None) -> SeriesScale:
        """The scale of a series: that of training, or if it is new of its values, or of those before the step `until`."""
        standard = self.config.scale == "standard"
        return self.scales.of(series, self.config.season, standard=standard, until=until)

    def scaled(self, series: Series, scale: SeriesScale | None = None) -> ScaledSeries:
        """The series as the network reads it, standardised by `scale` if that is given."""
        return ScaledSeries.of(series, scale or self.scale(series), self.scales.known, self.config.context)

    def outputs(self, scaled: ScaledSeries, origins: Numbers) -> Floats:
        """[N, H, 1 + Q] values and calibrated quantiles from each origin on, standardised. Quantiles are sorted, so that none cross."""
        return self.calibrated(*self.learned_outputs(scaled, origins))

    def calibrated(self, outputs: Floats, window_scales: Floats) -> Floats:
        """The outputs [N, H, 1 + Q] with their quantiles corrected by what the validation windows have shown, and sorted."""
        if self.scales.calibration is None:
            return outputs
        corrections = np.asarray(self.scales.calibration.corrections, dtype=np.float32)
        corrected = outputs.copy()
        corrected[..., 1:] += corrections * window_scales[:, None, None]
        corrected[..., 1:].sort(axis=-1)
        return corrected

    def learned_outputs(self, scaled: ScaledSeries, origins: Numbers) -> tuple[Floats, Floats]:
        """The outputs [N, H, 1 + Q] as the network has learned them, quantiles sorted, and the unit of each window [N]."""
        results, scales = [], []
        with activity("forecasting", len(origins), "windows") as progress:
            for first in range(0, len(origins), WINDOWS_AT_ONCE):
                chosen = origins[first : first + WINDOWS_AT_ONCE]
                with self._resident.evaluating() as network:
                    inputs = self._inputs(scaled, chosen)
                    outputs = network(*inputs).float().cpu().numpy()
                    scales.append(network.window_scale(*inputs).float().cpu().numpy())
                outputs[..., 1:].sort(axis=-1)
                results.append(outputs)
                progress.advance(len(chosen))
        return np.concatenate(results), np.concatenate(scales)

    def attended(self, scaled: ScaledSeries, origin: int) -> tuple[str, Floats] | None:
        """The weight of each past step, in rows, for the forecast from an origin on: the meaning of a row, and [R, L]."""
        with self._resident.evaluating() as network:
            found = network.attended(*self._inputs(scaled, np.array([origin])))
        return None if found is None else (found[0], found[1][0].float().cpu().numpy())

    def _inputs(self, scaled: ScaledSeries, origins: Numbers) -> tuple[torch.Tensor, torch.Tensor | None]:
        device = self._resident.device
        known = scaled.known_around(origins, self.config.horizon)
        return (
            torch.from_numpy(scaled.past(origins)).to(device),
            None if known is None else torch.from_numpy(known).to(device),
        )
