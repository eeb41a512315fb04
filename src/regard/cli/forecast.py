"""`regard forecast`: forecasts how each series of a file goes on, as CSV or JSON, with a figure if wanted."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.tasks.forecast.series_forecast import SeriesForecast

FIGURES = (".svg", ".png", ".pdf")


def forecast(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    series: Annotated[
        str | None, typer.Option(help="Series in a CSV file, with the columns of the training file (.gz too).")
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="Where the forecasts go; stdout by default.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="A figure of the forecasts with their intervals: .svg, .png or .pdf.")
    ] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Sort times, drop duplicates and fill gaps.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One object a series instead of CSV.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Forecast the values after the end of each series: one row a time, with the value and its quantiles."""
    from regard.cli.streams import open_output, print_status, refuse_own_input
    from regard.errors import ConfigError
    from regard.tasks.load import load_forecaster

    if series is None:
        raise ConfigError("--series F.csv is missing: which series should be forecast?")
    if figure is not None and figure.suffix.lower() not in FIGURES:
        raise ConfigError(f"--figure {figure}: not one of {', '.join(FIGURES)}")
    refuse_own_input(output, series)
    refuse_own_input(None if figure is None else str(figure), series)
    model = load_forecaster(bundle, device)
    table = model.read(series, repair=repair)
    for note in table.notes:
        print_status(f"note: {note}")
    forecasts = model.forecast(table)
    if padded := [one.series for one in forecasts if one.padded]:
        print_status(
            f"note: {len(padded)} series are shorter than the context of {model.config.context} steps ({', '.join(padded[:3])}): "
            "their first value is repeated before them"
        )
    with open_output(output) as stream:
        stream.write(to_json_lines(forecasts) if as_json else to_csv(forecasts))
    if figure is not None:
        from regard.explain.forecast_figure import write_figure

        write_figure(figure, table, forecasts)


def to_csv(forecasts: "Sequence[SeriesForecast]") -> str:
    """The forecasts in the long form: unique_id, ds, forecast, and a column for each quantile."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    levels = list(forecasts[0].quantiles) if forecasts else []
    writer.writerow(["unique_id", "ds", "forecast", *(f"q{level:g}" for level in levels)])
    for one in forecasts:
        for step, time in enumerate(one.times):
            numbers = [one.values[step], *(one.quantiles[level][step] for level in levels)]
            writer.writerow([one.series, time, *(f"{number:.10g}" for number in numbers)])
    return text.getvalue()


def to_json_lines(forecasts: "Sequence[SeriesForecast]") -> str:
    """One JSON object for each series."""
    from regard.files import to_json_line

    return "".join(
        to_json_line(
            {
                "series": one.series,
                "times": one.times,
                "forecast": one.values,
                "quantiles": {f"{level:g}": values for level, values in one.quantiles.items()},
                "padded": one.padded,
            }
        )
        for one in forecasts
    )
