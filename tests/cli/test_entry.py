"""Ctrl-C while the command still imports: it ends silently with code 130."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPTED_AT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
{ignoring}
sys.argv = ["regard", *{arguments!r}]
from regard.cli.entry import run
run()
"""


def interrupted(module: str, arguments: list[str], ignoring: str = "") -> subprocess.CompletedProcess[str]:
    """The command, interrupted when it begins to import a module."""
    code = INTERRUPTED_AT.format(module=module, arguments=arguments, ignoring=ignoring)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["regard.cli.main", "typer", "regard.cli.sweep", "torch"])
def test_an_interrupt_while_importing_is_silent(module: str, tmp_path: Path) -> None:
    result = interrupted(module, ["train", "--out", str(tmp_path / "run"), "--set", "data.pocket=60"])
    status = ("loading torch ..\n", "no data given: training on the pocket corpus, French to English\n")
    assert result.returncode == 130
    assert set(result.stderr.splitlines(keepends=True)) <= set(status if module == "torch" else ())


def test_an_ignored_signal_stays_ignored() -> None:
    result = interrupted("typer", ["--version"], "signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert result.returncode == 0
    assert result.stdout.startswith("regard ")


def test_elsewhere_it_is_an_exception_that_cleans_up() -> None:
    from regard.cli.entry import interrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt(signal.SIGINT, sys._getframe())
