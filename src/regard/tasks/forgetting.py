"""Forgetting: what a base scored on an old test set before fine-tuning, and what the fine-tuned model scores on it.

The base is scored before the first step, so that a wrong file is told at once; `run/forgetting.json` keeps the numbers for resumed runs.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.activity import activity
from regard.bundle.opened import OpenBundle
from regard.errors import ConfigError
from regard.files import to_json, write_whole
from regard.metrics.scores import METRICS
from regard.settings import read_json
from regard.tasks.bundles import open_to_load
from regard.tasks.interface import Task
from regard.training.config import RunSettings
from regard.training.objective import Objective

if TYPE_CHECKING:
    import torch

MOST = 2  # scores in a line
BEFORE_FILE = "forgetting.json"
FLAGS: Mapping[str, Any] = {
    "metric": [],
    "beam": 5,
    "alpha": 1.0,
    "tokenize": "13a",
    "lowercase": False,
    "resamples": 0,
    "gold_align": None,
    "alignment": None,
}
"""The flags of `regard evaluate` beside those of files, with their defaults."""


def old_test_flags(settings: RunSettings) -> dict[str, Any] | None:
    """The flags of `regard evaluate` for the old test set of a run; None: it has none."""
    replay = getattr(getattr(settings, "data", None), "replay", None)
    flags = None if replay is None else replay.test_flags
    if flags is None:
        return None
    data = getattr(settings, "data", None)
    for flag, name in (("from", "src_lang"), ("to", "tgt_lang")):
        if flag in flags:
            flags[flag] = flags[flag] or getattr(data, name, None)
    return {**FLAGS, **flags}


def scores_before(
    task: Task,
    settings: RunSettings,
    objective: Objective,
    base: OpenBundle | None,
    out: Path,
    device: "torch.device",
) -> dict[str, float] | None:
    """The scores of the base on the old test set, computed once a run; None: the run has no old test set."""
    flags, path = old_test_flags(settings), out / BEFORE_FILE
    if flags is None or base is None:
        return None
    if base.config.task != settings.task:
        raise ConfigError(
            f"data.replay: an old test set is scored by task {settings.task!r}, and the base {base.directory} is a model to "
            f"{base.config.task}; leave out its test files"
        )
    ours, theirs = (getattr(config, "labels", ()) for config in (objective.bundle, base.config))
    if ours != theirs:
        raise ConfigError(
            f"data.replay: an old test set is scored before and after, and the base {base.directory} has the labels "
            f"{', '.join(theirs)}, the run {', '.join(ours)}; leave out its test files"
        )
    if path.is_file():
        stored = read_json(path)
        if stored.get("base") == base.files.identity:
            return {str(name): float(value) for name, value in stored["scores"].items()}
    with activity("the base on the old test set"):
        scores = _scores(task, task.load(open_to_load(base.directory), device, "auto", "float32"), flags)
    write_whole(path, to_json({"base": base.files.identity, "scores": scores}))
    return scores


def forgetting(task: Task, settings: RunSettings, served: Any, before: Mapping[str, float] | None) -> dict[str, Any]:
    """The entry of metrics.json: the scores on the old test set before and after; empty without such a set."""
    flags = old_test_flags(settings)
    if flags is None or before is None:
        return {}
    with activity("the old test set"):
        after = _scores(task, served, flags)
    name = next(str(flags[key]) for key in ("src", "text", "data") if key in flags)
    return {"forgetting": {"set": name, "before": dict(before), "after": after}}


def forgetting_line(record: Mapping[str, Any]) -> str:
    """The scores before and after in one line, such as `forgetting: old.en: BLEU 34.1 before, 30.2 after (-3.9)`."""
    before, after = record["before"], record["after"]
    parts = []
    for name in [name for name in after if name in before and name in METRICS][:MOST]:
        row = METRICS[name]
        old, new = row.scale * before[name], row.scale * after[name]
        unit = f" {row.unit}".rstrip()
        parts.append(
            f"{row.heading} {old:.{row.digits}f}{unit} before, {new:.{row.digits}f}{unit} after ({new - old:+.{row.digits}f})"
        )
    return f"forgetting: old test set {record['set']}: {'; '.join(parts)}"


def _scores(task: Task, served: Any, flags: Mapping[str, Any]) -> dict[str, float]:
    """The scores of the task on a test set."""
    directions = getattr(served, "directions", None)
    if directions is not None and not directions.seen:  # one direction, which is not chosen
        flags = {**flags, "from": None, "to": None}
    elif directions is not None and flags["to"] is None:
        raise ConfigError(
            f"data.replay.test_src = {flags['src']!r}: the base has several directions; set data.replay.src_lang and tgt_lang"
        )
    metrics = task.evaluate(served, task.test_set(served, flags)).metrics
    return {name: float(metrics[name]) for name in task.scores if isinstance(metrics.get(name), int | float)}
