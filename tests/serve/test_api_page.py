"""The commands of docs/serving-api.md, by curl as they stand, and its program, by the openai client."""

import json
import re
import shlex
import shutil
import subprocess
from typing import Any

import pytest

from documented import ROOT, blocks
from serve.running import Running

PAGE = blocks(ROOT / "docs" / "serving-api.md")
COMMANDS = [line for block in PAGE if block.mark == "test: curl" for line in block.text.strip().split("\n")]
NAMES = {"shakespeare": "language", "moods": "classifier"}
"""The models of the page, and those of the tests."""


def here(text: str, server: Running) -> str:
    """The text with the address and the models of this server."""
    for name, own in NAMES.items():
        text = text.replace(f'"{name}"', f'"{own}"')
    return text.replace("http://127.0.0.1:5000", server.url)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: re.sub(r"^.*:5000/|[^\w/].*$", "", command))
def test_a_command_of_the_page(every: Running, command: str) -> None:
    assert shutil.which("curl")
    done = subprocess.run(shlex.split(here(command, every)), capture_output=True, text=True, check=True)
    if '"stream": true' in command:
        assert done.stdout.endswith("data: [DONE]\n\n")
        return
    answer: dict[str, Any] = json.loads(done.stdout)
    assert "error" not in answer, answer


def test_the_program_of_the_page(every: Running, capsys: pytest.CaptureFixture[str]) -> None:
    [program] = [block for block in PAGE if block.language == "python"]
    before = len(every.of_route("/v1/completions"))
    exec(compile(here(program.text, every), "serving-api.md", "exec"), {})  # as a reader runs it
    capsys.readouterr()
    assert every.logged(before + 1, "/v1/completions")[-1]["status"] == 200
