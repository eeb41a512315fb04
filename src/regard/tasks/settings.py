"""Parses the settings of a run of any task. The error for an unknown setting names the tasks that have it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from regard.bundle.format1 import upgraded_config
from regard.errors import ConfigError
from regard.extensions import ExtensionUse, extensions_in_use, require_loaded, stored_extensions
from regard.settings import MEANINGLESS, choice_of, differences, first_error, groups_at, leaves, read_json, read_toml
from regard.tasks.table import TASKS, resolved_task
from regard.training.config import RunSettings

FORMAT = 2
"""The format of a run's config.json."""


def parse_settings(values: Mapping[str, Any], where: str = "config") -> RunSettings:
    """Parse `values` with the settings class of their task. A `ConfigError` names `where` and the first invalid key."""
    values = resolved_task(values)
    task = values.get("task", next(iter(TASKS)))
    if not isinstance(task, str) or task not in TASKS:
        *most, last = map(repr, TASKS)
        raise ConfigError(f"{where}: task = {task!r}: input should be {', '.join(most)} or {last}")
    group = TASKS[task].run
    try:
        return group.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{where}: {_complaint(task, values, error)}") from None


def read_settings(path: Path) -> dict[str, Any]:
    """The values of a TOML file, or of a run's config.json of format 1 or 2."""
    if path.suffix != ".json":
        return read_toml(path)
    values = read_json(path)
    stored = values.pop("format", 1)
    if stored == 1:
        task = TASKS.get(str(values.get("task", "translate")))
        return dict(values) if task is None else upgraded_config(values, task.run)
    values.pop("extensions", None)
    return values


def parse_stored(path: Path) -> RunSettings:
    """The settings of a run's config.json. A `BundleError` names an extension that they need and that is not loaded."""
    values = read_settings(path)
    try:
        return parse_settings(values, str(path))
    except ConfigError:
        names = {value for _, value in leaves(values) if isinstance(value, str)}
        for use in stored_uses(path):
            if use.is_named_by(names):
                require_loaded(use, str(path))
        raise


def stored_uses(path: Path) -> tuple[ExtensionUse, ...]:
    """The extensions that a run's config.json names."""
    return stored_extensions(read_json(path).get("extensions"), str(path))


def stored_format(path: Path) -> int:
    """The format of a run's config.json."""
    stored = read_json(path).get("format", 1)
    return stored if isinstance(stored, int) else 1


def changes_since(path: Path, settings: RunSettings) -> list[str]:
    """How these settings, and the loaded extensions, differ from those of a run's config.json, as `a.b: old -> new`."""
    stored = {use.name: use.sha256 for use in stored_uses(path)}
    loaded = {use.name: use.sha256 for use in extensions_in_use()}
    extensions = differences(
        *({f"extension {name}": sha256[:8] for name, sha256 in uses.items()} for uses in (loaded, stored))
    )
    return settings.changed_from(parse_stored(path)) + extensions


def restoring(path: Path) -> str | None:
    """The advice to restore the extensions of a run's config.json whose loaded files have another content; None: there is none."""
    loaded = {use.name: use.sha256 for use in extensions_in_use()}
    changed = [use.name for use in stored_uses(path) if loaded.get(use.name, use.sha256) != use.sha256]
    return f"restore the file {' and '.join(changed)} that it began with" if changed else None


def _complaint(task: str, values: Mapping[str, Any], error: ValidationError) -> str:
    """The message of the first error. For a setting that only other tasks have, it names them."""
    group = TASKS[task].run
    first = error.errors()[0]
    context, path = first.get("ctx", {}), [str(part) for part in first["loc"]]
    if first["type"] == MEANINGLESS:
        return _meaningless(task, str(context["name"]).split("."), str(context["setter"]), values)
    if first["type"] == "extra_forbidden":
        if others := tasks_with(task, path, values):
            return _meaningless(task, path, ".".join(path), values, others)
        if kinds := _other_kinds(task, path):
            return f"{'.'.join(path)} has no meaning for task {task!r}; leave it out, or set {' or '.join(kinds)}"
    if first["type"] == "union_tag_invalid" and path == ["model"]:
        kind = str(context["tag"])
        if any(kind in table for name in TASKS if (table := _kinds(name)) is not None and name != task):
            able = " or ".join(map(repr, _kinds(task) or ()))
            return f"model.kind {kind!r} cannot do task {task!r}; set model.kind to {able}"
    return first_error(group, error)


def _meaningless(
    task: str, path: Sequence[str], setter: str, values: Mapping[str, Any], others: Sequence[str] | None = None
) -> str:
    fitting = " or ".join(map(repr, others or tasks_with(task, path, values)))
    kind = _kind(values)
    of = " of a recurrent network, which has no source to look at" if kind == "recurrent" and _attends(path) else ""
    return f"{setter} has no meaning for task {task!r}{of}; leave it out, or set task to {fitting}"


def _attends(path: Sequence[str]) -> bool:
    """Whether a setting is about cross-attention."""
    return path[0] == "model" and path[-1] in ("attention", "score", "score_width", "max_positions")


def tasks_with(task: str, path: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """The other tasks that have a setting. In the table `model`, only the chosen kind of network counts."""
    *tables, name = path
    task_names = []
    for task_name, other_task in TASKS.items():
        groups = groups_at(other_task.run, tables)
        if tables == ["model"] and (kind := _kind(values)) is not None:
            groups = [
                group
                for group in groups
                if ("kind" in group.model_fields and group.model_fields["kind"].default == kind)
            ]
        if task_name != task and any(name in group.model_fields for group in groups):
            task_names.append(task_name)
    return task_names


def _other_kinds(task: str, path: Sequence[str]) -> list[str]:
    """The other tasks and kinds of network that have a setting of `model` which no network of this task has."""
    if len(path) != 2 or path[0] != "model":
        return []
    having = {
        name: [kind for kind, group in (_kinds(name) or {}).items() if path[1] in group.model_fields] for name in TASKS
    }
    if having[task]:
        return []
    return [
        f"task to {name!r} and model.kind to {' or '.join(map(repr, kinds))}" for name, kinds in having.items() if kinds
    ]


def _kind(values: Mapping[str, Any]) -> str | None:
    model = values.get("model")
    return str(model.get("kind", "transformer")) if isinstance(model, Mapping) else None


def _kinds(task: str) -> Mapping[str, Any] | None:
    choice = choice_of(TASKS[task].run.model_fields["model"])
    return None if choice is None else choice.table
