"""Extensions: Python files of the user that register models, metrics and so on. Loads them and checks those a model needs.

Every room may import this module. It runs a file only when the user names it; loading a bundle runs no code.
"""

import hashlib
import importlib.util
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from regard.errors import BundleError, ConfigError, ExtensionError, FileError
from regard.foreign import read_bytes
from regard.settings import Settings, json_type


class ExtensionUse(Settings):
    """An extension file that a model was trained with."""

    name: str
    """The name of the file, without its directory."""
    sha256: str
    """The SHA-256 of its content."""
    adds: tuple[str, ...] = ()
    """The table rows that it adds, such as `mixer toy`."""

    def is_needed_by(self, names: Collection[str]) -> bool:
        """Whether a network or task of one of these names comes from it; metrics and optimisers are not needed to load a model."""
        rows = [row for row in self.adds if not row.startswith(("metric ", "optimizer "))]
        return any(row.rpartition(" ")[2] in names for row in rows)

    def is_named_by(self, names: Collection[str]) -> bool:
        """Whether one of these names is that of a row which it adds."""
        return any(row.rpartition(" ")[2] in names for row in self.adds)


_LARGEST = 16 << 20  # bytes of a file
PYTHON = "<python>"  # stands for code that is in no file

LOADED: dict[str, ExtensionUse] = {}
"""The extensions of this process, by file name."""

_FILES: dict[str, Path] = {}

_UNDO: list[Callable[[], None]] = []
"""Takes back the rows of each call of `regard.extend`, the oldest first: a file that fails adds nothing."""


def loaded_files() -> list[Path]:
    """The paths of the loaded files, for a worker process that must load them too."""
    return list(_FILES.values())


def load_extension(path: str | Path) -> ExtensionUse:
    """Run a user's file, which calls `regard.extend`. A file that is loaded already and unchanged is not run again."""
    file = Path(path)
    try:
        content = read_bytes(file, _LARGEST)
    except FileError as error:
        raise ExtensionError(f"--extension {error}; give a Python file") from None
    except OSError as error:
        raise ExtensionError(f"--extension {path}: cannot be read: {error.strerror}; give a Python file") from None
    digest = hashlib.sha256(content).hexdigest()
    loaded = LOADED.get(file.name)
    if loaded is not None:
        if loaded.sha256 == digest:
            return loaded
        raise ExtensionError(f"--extension {path}: another file of the name {file.name} is loaded already; rename one")
    before, undo_before = dict(LOADED), len(_UNDO)
    LOADED[file.name] = ExtensionUse(name=file.name, sha256=digest)
    try:
        _run(file, digest)
        if not LOADED[file.name].adds:
            raise ExtensionError(f"--extension {path}: it adds nothing; call regard.extend(..) in it")
    except BaseException as error:
        while len(_UNDO) > undo_before:
            _UNDO.pop()()
        LOADED.clear()
        LOADED.update(before)
        for name in _FILES.keys() - before.keys():  # of a file that this one has loaded
            del _FILES[name]
        if isinstance(error, ExtensionError) or not isinstance(error, Exception):
            raise
        raise ExtensionError(f"--extension {path}:{_line(error, file)}: {type(error).__name__}: {error}") from error
    _FILES[file.name] = file.resolve()
    return LOADED[file.name]


def _run(file: Path, digest: str) -> None:
    name = f"regard_extension_{file.stem}_{digest[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ExtensionError(f"--extension {file}: not a Python file; give a file whose name ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def _line(error: Exception, file: Path) -> int:
    """The number of the last line of `file` in the traceback; 0 where there is none."""
    if isinstance(error, SyntaxError):
        return error.lineno or 0
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve() == file.resolve()
    ]
    return (lines[-1] if lines else 0) or 0


def note_rows(rows: Iterable[str], file: str | None, undo: Callable[[], None]) -> None:
    """Record that the extension in `file` has added these rows, and how to take them back; `file` None: code that is in no file."""
    _UNDO.append(undo)
    name = PYTHON if file is None else Path(file).name
    use = LOADED.get(name)
    if use is None:
        content = b"" if file is None or not Path(file).is_file() else Path(file).read_bytes()
        use = ExtensionUse(name=name, sha256=hashlib.sha256(content).hexdigest())
    LOADED[name] = use.model_copy(update={"adds": (*use.adds, *rows)})


def extensions_in_use() -> tuple[ExtensionUse, ...]:
    """All loaded extensions: those that a model trained or saved now may need."""
    return tuple(LOADED.values())


def stored_extensions(values: Any, where: str) -> tuple[ExtensionUse, ...]:
    """The extensions that a config.json names under `extensions`; a `ConfigError` if it is no list of them."""
    if not isinstance(values, list | None):
        raise ConfigError(f"{where}: extensions: expected a list, found {json_type(values)}")
    return tuple(ExtensionUse.parse(use, f"{where}: extensions") for use in values or ())


def require_extensions(needed: Any, where: str) -> None:
    """Refuse a model that needs an extension which is not loaded; warn of one that has changed."""
    uses = stored_extensions(needed, where)
    for use in uses:
        require_loaded(use, where)
    for use in uses:
        if LOADED[use.name].sha256 != use.sha256:
            warnings.warn(f"{where}: made with another version of the extension {use.name}", stacklevel=3)


def require_loaded(use: ExtensionUse, where: str) -> None:
    """Refuse what needs an extension that is not loaded."""
    if use.name not in LOADED:
        fix = "run the code that adds them first" if use.name == PYTHON else f"give --extension {use.name}"
        raise BundleError(f"{where}: needs the extension {use.name} ({', '.join(use.adds)}); {fix}")
