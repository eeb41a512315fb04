"""Where CTranslate2 serves, torch is not needed: a translation in a process that cannot import it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ctranslate2")

BUNDLE = Path(__file__).parent / "format1" / "translate-transformer"
WITHOUT = "import sys; sys.modules['torch'] = None; sys.argv = ['regard', *sys.argv[1:]]; from regard.cli.main import run; run()"


def test_a_translation_without_torch(tmp_path: Path) -> None:
    (tmp_path / "in.fr").write_text("je suis étudiant\ntu es professeur\n", encoding="utf-8")
    command = [sys.executable, "-c", WITHOUT, "translate", str(BUNDLE), "-i", str(tmp_path / "in.fr")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 2
    program = f"""
import sys; sys.modules["torch"] = None
import regard
translator = regard.load({str(BUNDLE)!r}, engine="ct2")
[first, _] = translator.translate(["je suis étudiant", "tu es professeur"], beam=2)
print(first.text)
"""
    api = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert api.returncode == 0, api.stderr
