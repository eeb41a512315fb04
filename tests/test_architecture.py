"""The plan of the house: who may import whom. The table of the design, with what `docs/decisions/` changed."""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

import regard

ROOT = Path(regard.__file__).parent
FOUNDATION = {
    "errors",
    "settings",
    "files",
    "foreign",
    "cache",
    "extensions",
    "activity",
    "extras",
    "locks",
    "machine",
    "zips",
}  # modules that every room may import: docs/decisions/0001
ROOMS: dict[str, set[str]] = {
    "ops": set(),
    "text": set(),
    "metrics": set(),
    "data": {"text", "metrics"},
    "layers": {"ops"},
    "models": {"layers", "ops"},
    "search": set(),
    "bundle": {"models", "text"},
    "engine": {"bundle", "search", "text", "ops", "metrics"},
    "training": {"data", "models", "layers", "ops", "bundle", "metrics"},
}
ROOMS["tasks"] = {*ROOMS}
ROOMS["explain"] = {*ROOMS}
ROOMS["lab"] = {*ROOMS}
ROOMS["interop"] = {*ROOMS} - {"explain", "lab"}
ROOMS["documents"] = {"text"}
ROOMS["serve"] = {*ROOMS} - {"lab"}
ROOMS["cli"] = {*ROOMS, "api"}
WITHOUT_TORCH = {"text", "metrics", "documents"}
HEAVY = {
    "torch",
    "ctranslate2",
    "numpy",
    "sentencepiece",
    "sacrebleu",
    "safetensors",
    "matplotlib",
    "cvxpy",
    "lxml",
    "markdown_it",
}


def files(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imports(path: Path, *, anywhere: bool = True) -> set[str]:
    """Full names of the modules that a file imports; only those that run on import, if not `anywhere`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if anywhere else iter(tree.body)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides which room it reaches into"
            assert node.module is not None
            found |= {f"{node.module}.{alias.name}" if node.module == "regard" else node.module for alias in node.names}
    return found


def test_every_folder_is_a_room() -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("__")}
    assert folders == set(ROOMS)


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_imports_only_what_its_row_names(room: str) -> None:
    allowed = ROOMS[room] | FOUNDATION | {room}
    assert files(room)
    for path in files(room):
        for name in imports(path):
            top, _, rest = name.partition(".")
            if top == "regard":
                assert rest.split(".")[0] in allowed, f"{path.relative_to(ROOT)} imports {name}"


def room_of(module: str) -> str:
    return module.split(".")[1]


@cache
def defined_elsewhere(path: Path) -> dict[str, str]:
    """The names that a file imports from other modules of regard, and from which."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("regard.")
        for alias in node.names
    }


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_no_import_is_laundered_through_a_third_room(room: str) -> None:
    """A name is imported from the room that defines it, not from one that only imported it."""
    for path in files(room):
        for name, module in defined_elsewhere(path).items():
            file = ROOT.joinpath(*module.split(".")[1:])
            source = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
            origin = defined_elsewhere(source).get(name)
            laundered = origin is not None and room_of(origin) not in (room_of(module), *FOUNDATION)
            assert not laundered, f"{path.relative_to(ROOT)} imports {name} of {origin} from {module}"


def test_training_knows_no_task() -> None:
    names = {"translate", "generate", "classify"}
    for path in files("training"):
        words = {
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant)
        }
        assert not words & names, f"{path.relative_to(ROOT)} names a task"
        assert not any(name.startswith("regard.tasks") for name in imports(path)), path


@pytest.mark.parametrize("room", sorted(WITHOUT_TORCH))
def test_text_and_metrics_know_no_torch(room: str) -> None:
    for path in files(room):
        assert not any(name.split(".")[0] == "torch" for name in imports(path)), path


def test_the_foundation_stands_on_nothing() -> None:
    for name in FOUNDATION:
        for module in imports(ROOT / f"{name}.py"):
            top, _, rest = module.partition(".")
            assert top != "regard" or rest.split(".")[0] in FOUNDATION, f"{name} imports {module}"


def test_the_command_line_starts_without_heavy_imports() -> None:
    import subprocess

    code = f"import sys, regard.cli.main; print(sorted({HEAVY!r} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_no_module_is_called_nothing() -> None:
    names = {path.stem for path in ROOT.rglob("*.py")}
    assert not names & {"utils", "helpers", "common", "misc"}
