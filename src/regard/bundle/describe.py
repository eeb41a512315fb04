"""The description of a bundle for `regard info`: config, number of parameters, files and their state. It runs no network."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from regard.bundle.adapter import description, is_adapter
from regard.bundle.adapter_base import find_base
from regard.bundle.config import BundleSettings, parse_config
from regard.bundle.header import read_header
from regard.bundle.locate import find_bundle
from regard.bundle.manifest import MANIFEST, MEND, FileCheck, Manifest, open_manifest
from regard.bundle.opened import FOR_RESUMING, STATE_FILE, OpenBundle, required_files
from regard.bundle.quantised import quantised_record
from regard.bundle.weights import WEIGHTS, check_weights, tensor_shapes
from regard.errors import BundleError, TextError, shown
from regard.models.shapes import Shapes
from regard.text.build import CONFIG_FILE, read_tokenizer_settings

HEADER = ("format", "regard", "created", "task", "languages")


def describe(path: str | Path, classes: Mapping[str, type[BundleSettings]]) -> dict[str, Any]:
    """The bundle as plain JSON values. `classes`: task -> the class of its config.

    `problems` holds one line for each file that is missing, damaged or does not fit the config; empty: intact. A file that only resuming
    needs may be missing.

    A manifest or config that cannot be read leaves nothing to describe and is a `BundleError`.
    """
    directory = find_bundle(path)
    files = open_manifest(directory)
    checks = files.check()
    config, stored = parse_config(files, classes)
    problems = [*_problems(files, checks, config)] or [*_misfits(files, config, stored)]
    return {
        "directory": str(directory),
        "format": stored,
        "regard": config.regard,
        "created": config.created,
        "task": config.task,
        "languages": config.languages.model_dump(),
        "tokenizer": _tokenizer(files),
        "quantised": _quantised(files),
        **({"adapter": description(files)} if is_adapter(files) else {}),
        "parameters": _parameters(directory, config),
        **{name: value for name, value in config.model_dump(mode="json").items() if name not in HEADER},
        "training": _training(files, checks),
        "files": [
            {"name": check.name, "bytes": check.size, "sha256": check.sha256, "state": check.state} for check in checks
        ],
        "problems": problems,
    }


def summary(kind: str, bundle: OpenBundle | None, network: object | None) -> str:
    """A served model in one line: its class `kind`, task, network, languages, parameters and path. It loads no weights.

    `network`: named if there is no bundle.
    """
    if bundle is None:
        return f"<{kind} around {'a network' if network is None else type(network).__name__}>"
    config = bundle.config
    languages = [shown(language) for language in config.languages.model_dump().values() if language]
    count = sum(math.prod(shape) for shape in _shapes(bundle.directory, config).values())
    facts = [config.task, getattr(config.model, "kind", type(config.model).__name__), _direction(config, languages)]
    size = f"{count:,} {'numbers' if config.counted else 'parameters'}"
    return f"<{kind}: {', '.join(filter(None, [*facts, size]))}, {shown(bundle.given or bundle.directory)}>"


def _direction(config: BundleSettings, languages: list[str]) -> str:
    """The languages of a model, or its several directions."""
    several = getattr(config, "direction_names", ())
    return " and ".join(map(shown, several)) if several else " -> ".join(languages)


def _parameters(directory: Path, config: BundleSettings) -> dict[str, Any]:
    """The number of parameters, in total and by part; tied ones count once."""
    parts: Counter[str] = Counter()
    for name, shape in _shapes(directory, config).items():
        parts[name.split(".")[0]] += math.prod(shape)
    return {"total": parts.total(), "parts": dict(parts)}


def _shapes(directory: Path, config: BundleSettings) -> Shapes:
    return _table_shapes(directory) if config.counted else tensor_shapes(config)


def _table_shapes(directory: Path) -> Shapes:
    """The shapes of the tables of a counted model; empty if the file is missing or damaged."""
    try:
        header = read_header(directory / WEIGHTS, directory)
    except BundleError:
        return {}
    return {name: tensor.shape for name, tensor in header.tensors.items()}


def _tokenizer(files: Manifest) -> dict[str, Any] | None:
    """The tokenizer's own settings; None if there are none, or damaged ones."""
    try:
        return read_tokenizer_settings(files.directory, files.read) if CONFIG_FILE in files.digests else None
    except (BundleError, TextError):
        return None


def _quantised(files: Manifest) -> dict[str, Any] | None:
    """The gain and loss of quantising; None: the bundle is not quantised, or the record is damaged."""
    try:
        record = quantised_record(files)
    except BundleError:
        return None
    return None if record is None else record.model_dump(mode="json")


def _training(files: Manifest, checks: list[FileCheck]) -> dict[str, Any] | None:
    """The progress of training: the counters and the plain values of `state.json`."""
    intact = any(check.name == STATE_FILE and check.state == "intact" for check in checks)
    if not intact:
        return None
    state = files.read_json(STATE_FILE)
    plain = (str, int, float, bool, type(None))
    progress = state.get("progress")
    counters = progress if isinstance(progress, dict) else {}
    return {**counters, **{key: value for key, value in state.items() if isinstance(value, plain)}}


def _problems(files: Manifest, checks: list[FileCheck], config: BundleSettings) -> Iterator[str]:
    """One line for each file that is not listed, missing or damaged."""
    for name in (*required_files(files), *config.codec_files):
        if name not in files.digests:
            yield f"{files.directory / name}: not listed in {MANIFEST}; the bundle is incomplete; {MEND}"
    left_out = {check.name for check in checks if check.state == "missing" and check.name in FOR_RESUMING}
    yield from (check.problem for check in checks if check.problem is not None and check.name not in left_out)


def _misfits(files: Manifest, config: BundleSettings, stored: int) -> Iterator[str]:
    """One line for codecs and one for weights that do not fit the config."""
    checks: list[Callable[[], object]] = [
        lambda: config.load_codecs(files),
        lambda: check_weights(files, config, stored),
    ]
    if is_adapter(files):
        checks.append(lambda: find_base(files))
    for check in checks:
        try:
            check()
        except (BundleError, TextError) as error:
            yield str(error)
