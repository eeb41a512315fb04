"""The report of a run, made from the files in its directory. The run may be finished or still training.

This module builds the generic page: curves, metrics, samples and settings. `REPORT_PAGES` adds the views of a task.
"""

import re
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from regard.activity import activity
from regard.bundle.locate import find_bundle
from regard.bundle.opened import OpenBundle
from regard.errors import BundleError
from regard.explain.records import Report
from regard.explain.report import write_report
from regard.explain.table import REPORT_PAGES, ROWS
from regard.extensions import stored_extensions
from regard.metrics.scores import METRICS
from regard.settings import Record, read_json
from regard.tasks.bundles import open_bundle
from regard.tasks.run_files import read_events, read_metrics, read_rows
from regard.tasks.runs import CONFIG, is_done
from regard.tasks.table import TASKS


def write_run_report(run: Path) -> Path:
    """Write `report.html` into the run and return its path."""
    if not (run / "log.jsonl").exists():
        raise BundleError(f"{run}: no log.jsonl, so not the directory of a run; give what was --out of `regard train`")
    settings = read_json(run / CONFIG) if (run / CONFIG).exists() else {}
    task = str(settings.get("task", "translate"))  # runs of format 1 may not state it
    bundle = open_bundle(find_bundle(run)) if (run / "latest").exists() else None  # None: no checkpoint yet
    _warn_of_metrics(run, settings)
    path = run / "report.html"
    with activity("writing the report"):
        report = _generic_report(run, settings, bundle)
        if task in REPORT_PAGES:
            results = run / TASKS[task].results.name
            rows = read_rows(results, ROWS.get(task, Record)) if results.exists() else []
            report = REPORT_PAGES[task](report, rows, bundle)
        write_report(report, path)
    return path


def _warn_of_metrics(run: Path, settings: dict[str, Any]) -> None:
    """Warn of the metrics that the page lacks, because the extension that adds them is not loaded."""
    for use in stored_extensions(settings.get("extensions"), str(run / CONFIG)):
        rows = [row.removeprefix("metric ") for row in use.adds if row.startswith("metric ")]
        if missing := [name for name in rows if name not in METRICS]:
            names = " and ".join(map(repr, missing))
            warnings.warn(f"{run}: the report lacks the metric {names}; give --extension {use.name}", stacklevel=3)


def _generic_report(run: Path, settings: dict[str, Any], bundle: OpenBundle | None) -> Report:
    """The parts of the page that every task has."""
    report = Report(
        title=run.resolve().name,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        reproduce=_command(run, settings),
        settings=settings,
        events=read_events(run / "log.jsonl"),
        metrics=read_metrics(run) if is_done(run) else {},
    )
    if bundle is None:
        return report
    languages = bundle.config.languages
    return replace(
        report,
        source_language=languages.source,
        target_language=languages.target,
        version=bundle.config.regard,
    )


def _command(run: Path, settings: dict[str, Any]) -> str:
    """The command that trains this run again."""
    shown = str(run) if re.fullmatch(r"[\w./-]+", str(run)) else repr(str(run))
    used = stored_extensions(settings.get("extensions"), str(run / CONFIG))
    extensions = "".join(f" --extension {use.name}" for use in used)
    return f"regard train {shown}/config.json --out {shown}-again{extensions}"
