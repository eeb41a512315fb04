"""The training objective of `forecast`: windows of series, squared errors of the value, pinball loss of the quantiles.

loss = sum over steps of (y - value)^2 + weight * mean over q of pinball_q(y - quantile_q)

The quantiles read the hidden states and the value without a gradient (`layers/series.py`). So the value is trained by squared errors
alone, as in the published results that are compared with, and the quantiles learn how far the truth lies from it.
"""

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import nn

from regard.data.batches import Batch
from regard.data.scales import SeriesScales
from regard.extras import install_command, is_installed
from regard.models.forecasters import ForecastNetwork
from regard.ops.series import pinball
from regard.tasks.forecast.baselines import FITTED, HEADINGS
from regard.tasks.forecast.evaluate import ForecastTest, validate_forecaster
from regard.tasks.forecast.forecaster import Forecaster
from regard.tasks.forecast.prepare import Parts, PreparedSeries
from regard.tasks.forecast.settings import ForecastBundle, ForecastSettings
from regard.tasks.select import best_value, selecting
from regard.training.events import Sample
from regard.training.objective import Loss, Measured, StepInfo

FEW_WINDOWS = 20
"""Fewer windows of validation are told: 19 independent errors are the fewest that place the ends of an interval of 90 %."""
SHOWN_STEPS = 6
"""Steps of a forecast in a line of samples."""


class ForecastObjective:
    """Series and the loss of their forecasts."""

    vocabulary: tuple[int, ...] = ()

    def __init__(self, settings: ForecastSettings, prepared: PreparedSeries) -> None:
        self.settings, self.prepared = settings, prepared
        data = settings.data
        self.examples, self.notes = prepared.examples, (*prepared.notes, *_notes(settings, prepared.parts))
        self.bundle = ForecastBundle(
            model=settings.model,
            horizon=data.horizon,
            context=data.context,
            quantiles=data.quantiles,
            known=prepared.table.columns,
            frequency=prepared.table.frequency.name,
            season=prepared.season,
            scale=data.scale,
            time=data.time,
            targets=data.targets,
            missing=data.missing,
        )

    @property
    def key(self) -> str:
        """The hash of the file and of the settings of the windows."""
        return self.prepared.key

    @property
    def codecs(self) -> SeriesScales:
        """The scales of the series, for the bundles of the run."""
        return self.prepared.scales

    @property
    def left_out(self) -> dict[str, int]:
        """Nothing: notes name the series that are too short to train on."""
        return {}

    @property
    def test(self) -> ForecastTest:
        """The test part of every series."""
        data, parts = self.settings.data, self.prepared.parts
        spans = [(part.valid, part.test) for part in parts]
        table = self.prepared.table.known_at([part.valid for part in parts], data.missing)
        return ForecastTest(table, spans, "test", 1, data.baselines, data.baseline_windows)

    def begin(self, network: nn.Module) -> None:
        """Nothing: all weights are learned by gradients."""

    def loss(self, network: nn.Module, batch: Batch, step: StepInfo) -> Loss:
        outputs = cast(ForecastNetwork, network)(batch.source, batch.known, batch.target_out)
        squared = (outputs[..., 0] - batch.target_out).square().sum()
        total, parts = squared, {"squared": squared.item()}
        data, weight = self.settings.data, self.settings.train.quantile_weight
        if data.quantiles and weight:
            levels = torch.tensor(data.quantiles, dtype=outputs.dtype, device=outputs.device)
            by_quantile = pinball(outputs[..., 1:], batch.target_out, levels).mean(dim=-1).sum()
            total, parts = squared + weight * by_quantile, {**parts, "pinball": by_quantile.item()}
        return Loss(total, parts, batch.tokens)

    def validate(self, network: nn.Module) -> Measured:
        assert isinstance(network, ForecastNetwork)
        served = Forecaster(network, self.bundle, self.codecs)
        # a series without a training part has the scale of its validation part
        spans = [(part.train, part.valid if part.train else 0) for part in self.prepared.parts]
        found = validate_forecaster(served, ForecastTest(self.prepared.table, spans, "validation"))
        every = found.errors.scores()
        if not math.isfinite(every["mse"]):
            return Measured(math.nan, -math.inf, {}, ())
        scores = {name: value for name, value in every.items() if value is not None}
        train = self.settings.train
        samples = tuple(
            Sample(f"{row['series']} from {row['origin']} on", _numbers(row["truth"]), _numbers(row["forecast"]))
            for row in found.rows[: train.samples]
        )
        value = best_value(train.select, "mse", every["mse"], scores)
        by = selecting(train.select, "mse")
        calibration = found.calibration if train.calibrate else None
        codecs = self.codecs.model_copy(update={"calibration": calibration})
        return Measured(every["mse"], value, scores, samples, by, is_likelihood=False, codecs=codecs)


def _notes(settings: ForecastSettings, parts: Sequence[Parts]) -> list[str]:
    """Notes before training: how far its intervals can be trusted, and what the final evaluation waits for."""
    data, notes = settings.data, []
    windows = sum(max(0, part.valid - part.train - data.horizon + 1) for part in parts)
    if data.quantiles and settings.train.calibrate and windows < FEW_WINDOWS:
        notes.append(
            f"the intervals are calibrated on {windows} validation windows, which is few; with longer series raise data.valid_steps"
        )
    if fitted := [HEADINGS[name] for name in FITTED if name in data.baselines]:
        named = " and ".join(fitted)
        tested = sum(max(0, part.test - part.valid - data.horizon + 1) for part in parts)
        notes.append(
            f"the final evaluation also fits {named}, at {min(tested, data.baseline_windows)} of {tested:,} windows; without them: "
            '--set \'data.baselines=["last", "seasonal"]\''
            if is_installed("statsforecast")
            else f"{named} are not computed beside the forecasts: they need statsforecast, {install_command('statsforecast')}"
        )
    return notes


def _numbers(values: list[float]) -> str:
    return " ".join(f"{value:.4g}" for value in values[:SHOWN_STEPS]) + (" .." if len(values) > SHOWN_STEPS else "")
