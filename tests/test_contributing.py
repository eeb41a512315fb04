"""CONTRIBUTING.md is true: every path in its table and in its walk exists, and the names in brackets stand in a file of their row."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src/regard"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PATH = re.compile(r"`([\w/.-]+(?:/|\.(?:py|md|js|css)))`")
LEAST_ROWS, LEAST_STEPS, MOST_STEPS = 25, 12, 20


def section(title: str) -> str:
    return TEXT.split(f"## {title}\n")[1].split("\n## ")[0]


def rows() -> list[str]:
    lines = [line for line in section("To change X, edit Y").splitlines() if line.startswith("|")]
    return lines[2:]  # below the heading


def found(path: str) -> Path | None:
    return next((folder / path for folder in (SOURCE, ROOT) if (folder / path).exists()), None)


def test_the_table_is_long() -> None:
    assert len(rows()) >= LEAST_ROWS


def test_every_row_names_files_that_exist() -> None:
    for row in rows():
        paths = PATH.findall(row)
        assert paths, f"no path: {row}"
        assert [path for path in paths if found(path) is None] == [], row


def test_every_name_in_brackets_stands_in_its_file() -> None:
    for row in rows():
        for path, names in re.findall(r"`([\w/.-]+\.py)` \(([^)]*)\)", row):
            file = found(path)
            assert file is not None
            text = file.read_text(encoding="utf-8")
            missing = [name for name in re.findall(r"`(\w+)`", names) if name not in text]
            assert missing == [], f"{path} has no {missing}"


def test_the_walk_passes_files_that_exist() -> None:
    walk = section("The walk of one sentence through the house")
    steps = re.findall(r"^\d+\. ", walk, flags=re.MULTILINE)
    assert LEAST_STEPS <= len(steps) <= MOST_STEPS
    assert [path for path in PATH.findall(walk) if found(path) is None] == []
