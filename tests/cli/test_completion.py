"""Shell completion, in a real bash: what it offers, and what `--install-completion` writes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="bash is not installed")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory, with a command `regard` in `bin`."""
    script = tmp_path / "bin/regard"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nfrom regard.cli.entry import run\nrun()\n", encoding="utf-8")
    script.chmod(0o755)
    return tmp_path


def bash(program: str, home: Path) -> str:
    source = Path(__file__).parents[2] / "src"
    environment = {"HOME": str(home), "PATH": f"{home / 'bin'}:/usr/bin:/bin", "PYTHONPATH": str(source)}
    result = subprocess.run(
        [str(BASH), "--norc", "-c", program], env=environment, cwd=home, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


COMPLETE = """
complete_words() {
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _regard_completion regard; echo "${COMPREPLY[@]}"
}
complete_words regard tra
complete_words regard translate --be
complete_words regard data ''
complete_words regard translate runs/de
"""


def test_what_is_completed(home: Path) -> None:
    """Verbs, options, the commands of a group; and nothing where a file is wanted, so that bash completes its name."""
    lines = bash(f'eval "$(regard --show-completion bash)"; {COMPLETE}', home).split("\n")
    assert lines[0] == "train translate"
    assert lines[1] == "--beam"
    assert "check" in lines[2].split()
    assert lines[3] == ""


def test_it_is_installed_for_the_next_shell(home: Path) -> None:
    out = bash("regard --install-completion; true", home)
    assert "completion installed" in out
    lines = bash(f"source ~/.bashrc; {COMPLETE}", home).split("\n")
    assert lines[0] == "train translate"
    assert bash("regard --install-completion; source ~/.bashrc; complete -p regard", home).count("_regard_completion")
