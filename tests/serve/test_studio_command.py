"""`regard studio` as a user runs it: its address, the page behind it, Ctrl-C, and mistakes."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from regard.cli.studio import studio
from regard.errors import ConfigError, RegardError
from regard.serve.process import listen
from regard.serve.settings import ServeSettings

STUDIO = "import sys; sys.argv[0] = 'regard'; from regard.cli.entry import run; run()"


def test_it_prints_its_address_and_ends_at_ctrl_c(bundles: list[Path], served_cache: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STUDIO, "studio", *map(str, bundles), "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "REGARD_CACHE": str(served_cache)},
    )
    assert process.stderr is not None
    try:
        said = ""
        while (found := re.search(r"the studio is at (\S+);", said)) is None:
            line = process.stderr.readline()
            assert line, said
            said += line
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/studio#model=fr-en&beside=en-de", found[1])
        with urllib.request.urlopen(found[1].partition("#")[0], timeout=60) as answer:
            assert b"Studio" in answer.read()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert (process.wait(60), "Traceback" in rest) == (130, False), rest
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_mistakes_are_refused_before_anything_is_loaded(bundles: list[Path], tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="nowhere"):
        studio([tmp_path / "nowhere"])
    with pytest.raises(ConfigError, match=r"regard studio: unknown key 'prot'; did you mean 'port'\?"):
        studio(bundles, sets=["prot=3"])
    with pytest.raises(ConfigError, match="--port 0 and --set port=3: leave one of them out"):
        studio(bundles, port=0, sets=["port=3"])
    with pytest.raises(ConfigError, match="beams"):
        studio(bundles, sets=["limits.beams=3"])
    [taken] = listen(ServeSettings(port=0))
    try:
        with pytest.raises(ConfigError, match="choose another port"):
            studio(bundles, port=taken.getsockname()[1])
    finally:
        taken.close()
