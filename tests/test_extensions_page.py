"""The examples of docs/extensions.md, run as they stand: each file and its commands, with small budgets."""

import math
from pathlib import Path

import pytest

from documented import ROOT, SIZES, blocks, shell

PAGE = blocks(ROOT / "docs/extensions.md")
FILES = {block.mark[len("file: ") : -len(".py")]: block.text for block in PAGE if block.mark.startswith("file: ")}
COMMANDS = {block.mark.removeprefix("test: "): block.text for block in PAGE if block.mark.startswith("test: ")}
POCKET = f"{SIZES} --set data.pocket=200 --set text.vocabulary=400 --set train.max_steps=20"
BUDGETS = {"averaged": "--set train.max_steps=20", "next_number": ""}
EXPECTED = {"averaged": "good", "next_number": "mean absolute error 0.0000", "first_word": "first word %"}


def test_every_file_has_its_commands() -> None:
    assert list(FILES) == list(COMMANDS)
    assert len(FILES) == 6


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_example(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text(FILES[name], encoding="utf-8")
    (tmp_path / "reviews.tsv").write_text("a fine film\tgood\na dull film\tbad\n" * 10, encoding="utf-8")
    (tmp_path / "sine.txt").write_text("".join(f"{math.sin(n / 5):.6f}\n" for n in range(400)), encoding="utf-8")
    commands = COMMANDS[name].replace(" --out", f" {BUDGETS.get(name, POCKET)} --out")
    assert EXPECTED.get(name, "") in shell(commands, tmp_path)
