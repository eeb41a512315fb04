"""The rules of the house that no linter knows: short files, short lines of prose, and nothing written twice."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_LINES = 400  # of a Python file
MOST_CHARACTERS = 120  # of a line of prose; a URL does not count
WINDOW = 11  # lines of code that may not stand twice

# What broke a rule when it was written down. Take a name away with its cause; never add one.
LONG_FILES: set[str] = set()
LONG_LINES: set[str] = set()
DUPLICATES: set[str] = set()


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose_files() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def long_lines(text: str) -> list[int]:
    """Numbers of the lines above the limit; rows of tables and URLs do not count."""
    lines = (re.sub(r"https?://[^\s)>]+", "", line) for line in text.splitlines())
    return [n for n, line in enumerate(lines, 1) if len(line) > MOST_CHARACTERS and not line.startswith("|")]


def code_lines(text: str) -> list[tuple[int, str]]:
    """(number, stripped line) of everything but blank lines, comments, imports and docstrings."""
    ignored: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            ignored.update(range(node.lineno, node.end_lineno + 1))
    stripped = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(n, line) for n, line in stripped if line and not line.startswith("#") and n not in ignored]


def duplicates(texts: dict[str, str]) -> Iterator[tuple[str, int, str, int]]:
    """(file, line, file, line) where a run of `WINDOW` or more lines of code begins that stands in both places."""
    first_place: dict[tuple[str, ...], tuple[str, int]] = {}
    codes = {name: code_lines(text) for name, text in texts.items()}
    for name, code in codes.items():
        previous = None
        for start in range(len(code) - WINDOW + 1):
            window = tuple(line for _, line in code[start : start + WINDOW])
            other, other_start = first_place.setdefault(window, (name, start))
            if (other, other_start) == (name, start):
                previous = None
                continue
            if previous != (other, other_start - 1):  # else it is the run that was told already, one line on
                yield other, codes[other][other_start][0], name, code[start][0]
            previous = other, other_start


def test_files_are_short() -> None:
    lengths = {
        name_of(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in python_files("src", "tests", "benchmarks")
    }
    long = {name: count for name, count in lengths.items() if count > MOST_LINES and name not in LONG_FILES}
    assert long == {}, f"above {MOST_LINES} lines: split it by idea"


def test_lines_of_prose_are_short() -> None:
    lines = {name_of(path): long_lines(path.read_text(encoding="utf-8")) for path in prose_files()}
    long = {name: numbers for name, numbers in lines.items() if numbers and name not in LONG_LINES}
    assert long == {}, f"above {MOST_CHARACTERS} characters"


def test_nothing_stands_twice() -> None:
    texts = {name_of(path): path.read_text(encoding="utf-8") for path in python_files("src")}
    pairs = [f"{a}:{m} {b}:{n}" for a, m, b, n in duplicates(texts) if not {a, b} <= DUPLICATES]
    assert pairs == [], f"write it once: {WINDOW} or more lines are the same here and there"


def test_what_counts_as_long_and_as_twice() -> None:
    wide = "x" * (MOST_CHARACTERS + 1)
    assert long_lines(f"{wide}\n| {wide} |\nsee https://{wide} there\n{wide[:-1]}\n- {wide}") == [1, 5]
    body = [f"a{number} = {number}" for number in range(WINDOW + 1)]
    first = "\n".join(['"""Docstring."""', "import os", *body])
    second = "\n".join(["def f():", *(f"    {line}  \n\n    # why" for line in body)])
    assert list(duplicates({"first": first, "second": second})) == [("first", 3, "second", 2)]
    assert list(duplicates({"first": "\n".join(body[:-2]), "second": second})) == []
