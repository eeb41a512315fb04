"""The names that `import regard` offers, and the one way to train: the loop, then the report."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regard.engine.ensemble import load_ensemble
from regard.engine.translation import Translation
from regard.explain.explanation import Explanation
from regard.explain.run_report import write_run_report
from regard.settings import read_json, read_toml
from regard.train.config import RunConfig
from regard.train.events import Event
from regard.train.run import Run, train_run
from regard.train.start import run_config
from regard.translator import Model, load

__all__ = ["Explanation", "Model", "Run", "RunConfig", "Translation", "load", "load_ensemble", "train"]


def train(
    config: RunConfig | Mapping[str, Any] | str | Path,
    out: str | Path = "runs/run",
    on_event: Callable[[Event], None] | None = None,
) -> Run:
    """Train into `out`, or go on with the run that is there; every event of the loop goes to `on_event`.

    `config` is a `RunConfig`, the same as nested mappings, or the path of a TOML file (or of a run's config.json).
    """
    if isinstance(config, str | Path):
        path = Path(config)
        config = run_config(read_json(path) if path.suffix == ".json" else read_toml(path), str(path))
    elif not isinstance(config, RunConfig):
        config = run_config(config)
    run = train_run(config, Path(out), [on_event] if on_event is not None else [])
    made_before = run.reason == "finished" and (run.directory / "report.html").exists()
    if run.metrics is not None and not made_before:
        write_run_report(run.directory)
    return run
