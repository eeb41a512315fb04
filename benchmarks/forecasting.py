"""Trains forecasting recipes with several seeds and prints the table of docs/benchmarks.md: test MSE and MAE, validation MSE of the
checkpoint that is judged, and the coverage of the intervals of 90 % before and after calibration, beside the baselines.

    python benchmarks/forecasting.py --data path/to/series recipes/etth1-96-nlinear.toml recipes/etth1-24-nlinear.toml

A run that is finished is not trained again, so the table can be printed at any time.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import regard
from regard.settings import merged, read_toml
from regard.tasks.forecast.baselines import HEADINGS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="+", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the directory of the recipes' series")
    parser.add_argument("--out", type=Path, default=Path("runs/forecasting"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--no-quantiles", action="store_true", help="train the value alone, which is the same, and faster"
    )
    parser.add_argument("--naive", action="store_true", help="no ets and arima, which take minutes")
    options = parser.parse_args()
    rows = []
    for recipe in options.recipes:
        values = read_toml(recipe)
        series = options.data / Path(values["data"]["series"]).name
        found = []
        for seed in range(1, options.seeds + 1):
            changes: dict[str, Any] = {"data": {"series": str(series)}, "train": {"seed": seed}}
            if options.no_quantiles:
                changes["data"]["quantiles"] = []
            if seed > 1 or options.naive:  # the baselines have no seed
                changes["data"]["baselines"] = ["last", "seasonal"]
            run = regard.train(merged(values, changes), options.out / f"{recipe.stem}-{seed}", progress=True)
            assert run.metrics is not None, "interrupted"
            found.append({**run.metrics, "validation": _validation(run.directory, str(run.metrics["model"]))})
        rows.append((recipe.stem, found))
    print("| recipe | windows | MSE | MAE | MASE | validation MSE | coverage of 90 % | parameters | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, found in rows:
        first = found[0]
        numbers = [_mean([metrics[score] for metrics in found]) for score in ("mse", "mae", "mase", "validation")]
        covered = "-"
        if "uncalibrated" in first:
            before, after = (
                _mean([100 * part["coverages"]["90"] for part in parts], 1)
                for parts in ([metrics["uncalibrated"] for metrics in found], found)
            )
            covered = f"{before} -> {after}"
        seconds = _mean([metrics["seconds"] for metrics in found], 0)
        print(
            f"| {name} | {first['windows']:,} | {' | '.join(numbers)} | {covered} | {first['parameters']:,} | {seconds} |"
        )
        for baseline, scores in first["baselines"].items():
            there = scores.get("model")
            beside = "" if there is None else f" (the model there: MSE {there['mse']:.4f})"
            print(
                f"| {HEADINGS[baseline]}{beside} | {scores['windows']:,} | {scores['mse']:.4f} | {scores['mae']:.4f} "
                f"| {scores['mase']:.4f} | | | | |"
            )


def _validation(run: Path, checkpoint: str) -> float:
    """The validation MSE of a checkpoint such as checkpoints/step-00000900, from the log of its run."""
    events = map(json.loads, (run / "log.jsonl").read_text(encoding="utf-8").splitlines())
    losses = {event["step"]: float(event["loss"]) for event in events if event["event"] == "validated"}
    return losses[int(checkpoint.rpartition("-")[2])]


def _mean(values: list[float], digits: int = 4) -> str:
    """The mean and, of several, the least and the largest."""
    mean = f"{statistics.fmean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


if __name__ == "__main__":
    main()
