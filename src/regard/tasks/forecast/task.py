"""The task `forecast`: learn from series, and forecast how they go on."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from regard.bundle.opened import OpenBundle
from regard.extras import install_command
from regard.metrics.scores import METRICS
from regard.tasks.checks import torch_only
from regard.tasks.forecast.settings import ForecastBundle, ForecastSettings
from regard.tasks.interface import EvaluationFiles, PreparationListener, ResultFile, TestFlags

if TYPE_CHECKING:
    import torch

    from regard.tasks.forecast.evaluate import ForecastTest
    from regard.tasks.forecast.forecaster import Forecaster
    from regard.tasks.forecast.objective import ForecastObjective
    from regard.training.objective import Evaluation

SHOWN = ("mse", "mae", "smape", "mase")


class Forecast:
    """Forecasts series."""

    name = "forecast"
    run = ForecastSettings
    bundle = ForecastBundle
    scores = ("mse", "mae", "smape", "mase", "coverage")
    validated = ("mse", "mae", "smape", "mase", "coverage")
    results = ResultFile("forecasts.jsonl", None, ("windows", "windows"))
    advice = "use `regard forecast`, or evaluate with --series"
    evaluation_files = EvaluationFiles(("series",), "a forecaster")

    def objective(
        self, settings: ForecastSettings, base: OpenBundle | None, listener: PreparationListener
    ) -> "ForecastObjective":
        from regard.tasks.forecast.objective import ForecastObjective
        from regard.tasks.forecast.prepare import prepare_series

        listener("reading the series", 0)
        return ForecastObjective(settings, prepare_series(settings.data, None if base is None else base.codecs))

    def load(self, bundle: OpenBundle, device: "str | torch.device", engine: str, precision: str) -> "Forecaster":
        from regard.bundle.bundle import read_network
        from regard.models.forecasters import ForecastNetwork
        from regard.tasks.forecast.forecaster import Forecaster

        torch_only(engine, precision)
        network = read_network(bundle, device)
        assert isinstance(network, ForecastNetwork)
        return Forecaster(network, bundle.config, bundle.codecs, bundle=bundle)

    def test_set(self, served: "Forecaster", flags: TestFlags) -> "ForecastTest":
        from regard.tasks.forecast.evaluate import test_from_flags

        return test_from_flags(served, flags)

    def evaluate(self, served: "Forecaster", test: "ForecastTest") -> "Evaluation":
        from regard.tasks.forecast.evaluate import evaluate_forecaster

        return evaluate_forecaster(served, test)

    def shown(self, metrics: Mapping[str, Any]) -> str:
        from regard.tasks.forecast.baselines import HEADINGS

        rows = [["", *(METRICS[name].table_heading for name in SHOWN), "windows"], _row("this model", metrics)]
        baselines = metrics["baselines"]
        rows += [_row(HEADINGS[name], scores) for name, scores in baselines.items() if "model" not in scores]
        fitted = {name: scores for name, scores in baselines.items() if "model" in scores}
        if fitted and next(iter(fitted.values()))["windows"] != metrics["windows"]:
            rows.append(_row("this model, there", next(iter(fitted.values()))["model"]))
        rows += [_row(HEADINGS[name], scores) for name, scores in fitted.items()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
        before = metrics.get("uncalibrated", {}).get("coverages", {})
        covered = [
            f"{level} %: {100 * share:.1f} %"
            + (f" ({100 * before[level]:.1f} % before calibration)" if level in before else "")
            for level, share in metrics["coverages"].items()
        ]
        coverage = [f"coverage of the intervals: {', '.join(covered)}"] if covered else []
        if skipped := [HEADINGS[name] for name in metrics.get("baselines_skipped", ())]:
            coverage.append(
                f"without {' and '.join(skipped)}, which need statsforecast: {install_command('statsforecast')}"
            )
        span = f"{metrics['windows']:,} windows of {metrics['series']} series, {metrics['from']} to {metrics['until']}"
        return "\n".join([span, *lines, *coverage]) + "\n"


def _row(heading: str, scores: Mapping[str, Any]) -> list[str]:
    values = (scores.get(name) for name in SHOWN)
    numbers = ["-" if value is None else METRICS[name].number(value) for name, value in zip(SHOWN, values, strict=True)]
    return [heading, *numbers, f"{scores['windows']:,}"]
