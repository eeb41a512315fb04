"""The examples of docs/extensions.md, run as they stand: each file and its commands, with small budgets."""

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent / "docs/extensions.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"<!-- file: (\w+)\.py -->\n```python\n(.*?)```", PAGE, flags=re.DOTALL))
COMMANDS = dict(re.findall(r"<!-- test: (\w+) -->\n```sh\n(.*?)```", PAGE, flags=re.DOTALL))
SIZES = "--set model.layers=1 --set model.width=16 --set model.heads=2 --set model.feed_forward=16"
POCKET = f"{SIZES} --set data.pocket=200 --set text.vocabulary=400 --set train.max_steps=20"
BUDGETS = {"averaged": "--set train.max_steps=20", "forecast": ""}
EXPECTED = {"averaged": "good", "forecast": "mean absolute error 0.0000", "first_word": "first word %"}


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
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "REGARD_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert EXPECTED.get(name, "") in result.stdout
