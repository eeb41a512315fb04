"""The report of a run, made from the files in its directory. The run may be finished or still training.

This module builds the generic page: curves, metrics, samples and settings. `REPORT_PAGES` adds the views of a task.
"""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from regard.activity import activity
from regard.bundle.locate import find_bundle
from regard.bundle.opened import OpenBundle
from regard.errors import BundleError
from regard.explain.records import Report
from regard.explain.report import read_events, write_report
from regard.explain.table import REPORT_PAGES
from regard.tasks.bundles import open_bundle
from regard.tasks.table import TASKS


def write_run_report(run: Path) -> Path:
    """Write `report.html` into the run and return its path."""
    if not (run / "log.jsonl").exists():
        raise BundleError(f"{run}: no log.jsonl, so not the directory of a run; give what was --out of `regard train`")
    settings = _json(run / "config.json")
    task = str(settings.get("task", "translate"))  # runs of format 1 may not state it
    bundle = open_bundle(find_bundle(run)) if (run / "latest").exists() else None  # None: no checkpoint yet
    path = run / "report.html"
    with activity("writing the report"):
        report = _generic_report(run, settings, bundle)
        if task in REPORT_PAGES:
            rows = _json_lines(run / TASKS[task].results.name)
            report = REPORT_PAGES[task](report, rows, bundle)
        write_report(report, path)
    return path


def _generic_report(run: Path, settings: dict[str, Any], bundle: OpenBundle | None) -> Report:
    """The parts of the page that every task has."""
    report = Report(
        title=run.resolve().name,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        reproduce=_command(run),
        settings=settings,
        events=read_events(run / "log.jsonl"),
        metrics=_json(run / "metrics.json"),
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


def _command(run: Path) -> str:
    """The command that trains this run again."""
    shown = str(run) if re.fullmatch(r"[\w./-]+", str(run)) else repr(str(run))
    used = [str(use.get("name")) for use in _json(run / "config.json").get("extensions", []) if isinstance(use, dict)]
    extensions = "".join(f" --extension {name}" for name in used)
    return f"regard train {shown}/config.json --out {shown}-again{extensions}"


def _json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is no file."""
    if not path.exists():
        return {}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects in a JSONL file; empty if there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
