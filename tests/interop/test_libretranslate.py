"""An Argos package, served by LibreTranslate itself: the same texts as ours.

LibreTranslate has its own environment, since it pins an older numpy: that of LIBRETRANSLATE_PYTHON, or one that is made with pip.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import regard
from tasks.bundles import TEXTS

VERSION = "libretranslate==1.9.*"
SERVER = """
import sys
from argostranslate import translate

class Whole:  # the splitter of sentences is downloaded on first use; its licence is not ours to pass on
    def __init__(self, package): pass
    def split_sentences(self, text): return [text]

translate.MiniSBDSentencizer = Whole
from libretranslate.main import main
sys.argv[0] = "libretranslate"
main()
"""
INSTALL = """
import sys
from pathlib import Path
from argostranslate import package
for path in sys.argv[1:]:
    package.install_from_path(Path(path))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment with LibreTranslate."""
    given = os.environ.get("LIBRETRANSLATE_PYTHON")
    if given is not None:
        return given
    home = tmp_path_factory.mktemp("libretranslate") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    pip = [str(home / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", VERSION]
    answer = subprocess.run(pip, capture_output=True, text=True, check=False)
    if answer.returncode:
        last = (answer.stderr.strip().splitlines() or ["no message"])[-1]
        pytest.skip(f"pip cannot install {VERSION}: {last}")
    return str(home / "bin" / "python")


@contextmanager
def served(python: str, environment: dict[str, str], log: Path) -> Iterator[str]:
    """The address of a server on the loopback, which ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--host", "127.0.0.1", "--port", str(port), "--disable-web-ui", "--disable-files-translation"]
    with (
        log.open("w") as output,
        subprocess.Popen(
            [python, "-c", SERVER, *options, "--threads", "1"],
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        ) as process,
    ):
        try:
            for _ in range(600):
                assert process.poll() is None, log.read_text()
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_libretranslate_serves_a_package(python: str, tmp_path: Path) -> None:
    settings = {"model": {"positions": "sinusoidal"}, "train": {"max_steps": 250}}
    regard.train(settings, tmp_path / "run", progress=False)  # it corrects the case and the end of odd outputs
    bundle = tmp_path / "run"
    packages = [
        tmp_path / "fr_en.argosmodel",
        tmp_path / "en_fr.argosmodel",
    ]  # with one alone it asks the network for more
    regard.export(bundle, packages[0], to="argos", src_lang="fr", tgt_lang="en")
    regard.export(bundle, packages[1], to="argos", src_lang="en", tgt_lang="fr")
    folders = {"ARGOS_PACKAGES_DIR": "packages", "XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache", "HOME": "home"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
    environment |= {name: str(tmp_path / folder) for name, folder in folders.items()}
    environment |= {"XDG_CONFIG_HOME": str(tmp_path / "config"), "LT_LOAD_ONLY": "fr,en"}
    (tmp_path / "home").mkdir()
    subprocess.run([python, "-c", INSTALL, *map(str, packages)], env=environment, check=True, capture_output=True)
    texts = TEXTS[:5]
    with served(python, environment, tmp_path / "log") as address:
        request = urllib.request.Request(
            f"{address}/translate",
            data=json.dumps({"q": texts, "source": "fr", "target": "en"}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            found = json.load(answer)["translatedText"]
    ours = regard.load(bundle, engine="ct2").translate(texts, beam=4, alpha=0.2)  # as Argos searches
    assert [text.split() for text in found] == [one.text.split() for one in ours]
