"""docs/serving.md is true: its calls of curl work, and its table has every setting with its default."""

import re
import subprocess
from pathlib import Path

from documented import ROOT, blocks
from regard.serve.settings import ServeSettings
from regard.settings import Settings
from serve.running import Running

PAGE = ROOT / "docs" / "serving.md"


def test_the_calls_of_curl(server: Running, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("un chat\n", encoding="utf-8")
    (tmp_path / "terms.tsv").write_text("chat\ttomcat\n", encoding="utf-8")
    calls = [block for block in blocks(PAGE) if block.mark == "test: curl"]
    assert len(calls) == 2
    for line in "\n".join(block.text.strip() for block in calls).splitlines():
        command = line.replace("http://127.0.0.1:5000", server.url)
        done = subprocess.run(["bash", "-c", f"{command} -f"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.startswith(("{", "[")), line


def shown(value: object) -> str:
    """A default as the table has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "-" if value in (None, (), {}) else str(value)


def test_the_table_of_settings() -> None:
    stated: dict[str, str] = {}
    for names, defaults in re.findall(
        r"^\| (`[\w.`, ]+`) \| ([^|]*) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    ):
        listed = re.findall(r"`([\w.]+)`", names)
        stated.update(zip(listed, defaults.split(", ") if len(listed) > 1 else [defaults], strict=True))
    expected: dict[str, str] = {}
    for name in ServeSettings.model_fields:
        value = getattr(ServeSettings(), name)
        if isinstance(value, Settings):
            expected |= {f"{name}.{inner}": shown(getattr(value, inner)) for inner in type(value).model_fields}
        else:
            expected[name] = shown(value)
    assert stated == expected
