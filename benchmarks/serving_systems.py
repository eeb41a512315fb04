"""The servers that `serving.py` compares, each as a command of its own process, with the same weights, search and threads.

regard: `regard serve`. one: the same with batches of one text. plain: CTranslate2 in a FastAPI handler, as a user would write it.
libretranslate: LibreTranslate from PyPI, which serves the model as an `.argosmodel` that is exported here, text by text.
ceiling: no server; CTranslate2 alone, texts one by one and in batches of texts of like length: the most that batches can gain.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

ALPHA = 0.2
"""The length normalisation of Argos Translate, which has no setting for it."""
INSTALL = """
import sys
from pathlib import Path
from argostranslate import package
for path in sys.argv[1:]:
    package.install_from_path(Path(path))
"""
LIBRETRANSLATE = """
import sys
from argostranslate import translate

class Whole:  # one text is one sentence; the splitter would be downloaded
    def __init__(self, package): pass
    def split_sentences(self, text): return [text]

translate.MiniSBDSentencizer = Whole
from libretranslate.main import main
sys.argv[0] = "libretranslate"
main()
"""


def opened(bundle: str, precision: str) -> "tuple[object, object, object]":
    """CTranslate2 on the usable cores, one thread each, and both tokenizers."""
    import ctranslate2

    from regard.bundle.ctranslate2 import converted
    from regard.machine import usable_cores
    from regard.tasks.load import open_given

    given = open_given(bundle)
    translator = ctranslate2.Translator(
        str(converted(given, precision)),  # type: ignore[arg-type]
        device="cpu",
        compute_type=precision,
        inter_threads=usable_cores(),
        intra_threads=1,
    )
    return translator, given.tokenizers.source, given.tokenizers.target


def serve_plain(bundle: str, port: int, beam: int, precision: str) -> None:
    """CTranslate2 in a FastAPI handler, which is a function, so that it runs in FastAPI's threads. No batching of requests."""
    from typing import Any

    import uvicorn
    from fastapi import FastAPI

    translator: Any
    source: Any
    target: Any
    translator, source, target = opened(bundle, precision)
    app = FastAPI()

    def translated(body: dict[str, Any]) -> dict[str, Any]:
        texts = body["q"] if isinstance(body["q"], list) else [body["q"]]
        pieces = [[source.vocabulary.pieces[token] for token in source.encode(text)] for text in texts]
        results = translator.translate_batch(pieces, beam_size=beam, length_penalty=ALPHA)
        found = [target.decode(target.vocabulary.ids_of(result.hypotheses[0])) for result in results]
        return {"translatedText": found if isinstance(body["q"], list) else found[0]}

    app.post("/translate")(translated)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


def measure_ceiling(bundle: str, texts: Sequence[str], beam: int, precision: str) -> dict[str, float]:
    """Texts a CPU second of CTranslate2, by the size of its batches, best of three."""
    from typing import Any

    translator: Any
    source: Any
    translator, source, _ = opened(bundle, precision)
    rows = [[source.vocabulary.pieces[token] for token in source.encode(text)] for text in texts[:128]]
    rows.sort(key=len)
    rates = {}
    for size in (1, 8, 32):
        batches = [rows[start : start + size] for start in range(0, len(rows), size)]
        batches = batches[:: max(1, 4 // size)]  # of single texts a quarter, of all lengths
        best = 0.0
        for _ in range(3):
            began = time.process_time()
            for batch in batches:
                translator.translate_batch(batch, beam_size=beam, length_penalty=ALPHA)
            best = max(best, sum(map(len, batches)) / (time.process_time() - began))
        rates[f"batches of {size}"] = round(best, 1)
    return rates


@contextmanager
def process(
    command: Sequence[str], url: str, cores: str, environment: dict[str, str] | None = None
) -> Iterator[psutil.Process]:
    """A server in a process of its own, when it answers."""
    pinned = ["taskset", "-c", cores, *command]
    with subprocess.Popen(pinned, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment) as started:
        try:
            wait_until_it_answers(started, url)
            yield psutil.Process(started.pid)
        finally:
            started.send_signal(signal.SIGTERM)
            try:
                started.wait(30)
            except subprocess.TimeoutExpired:
                started.kill()


def wait_until_it_answers(started: "subprocess.Popen[bytes]", url: str, seconds: float = 180) -> None:
    """Return when the server has loaded its model."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if started.poll() is not None:
            raise SystemExit(f"the server ended with exit code {started.returncode}: {started.args!r}")
        try:
            urllib.request.urlopen(f"{url}/health", timeout=5).close()
            return
        except urllib.error.HTTPError as answer:
            answer.close()
            if answer.code == 404:  # the plain one has no such route
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"the server does not answer: {started.args!r}")


def own_command(arguments: argparse.Namespace, port: int, *settings: str) -> list[str]:
    """`regard serve`, with the search of all systems."""
    command = [sys.executable, "-c", "from regard.cli.entry import run; run()", "serve", arguments.bundle]
    command += ["--port", str(port), "--beam", str(arguments.beam), "--precision", arguments.precision]
    pair = f"{arguments.source}-{arguments.target}"
    stated = (f"alpha={ALPHA}", f"languages.{Path(arguments.bundle).resolve().name}={pair}", *settings)
    return [*command, *(word for setting in stated for word in ("--set", setting))]


def plain_command(arguments: argparse.Namespace, port: int) -> list[str]:
    """`serve_plain` in a process of its own."""
    script = str(Path(__file__).with_name("serving.py"))
    search = ["--beam", str(arguments.beam), "--precision", arguments.precision]
    return [sys.executable, script, arguments.bundle, "--plain", str(port), *search]


def libretranslate_command(arguments: argparse.Namespace, port: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    """LibreTranslate's command and environment. The model is exported and installed first, and nothing is downloaded.

    It is installed for both directions: of one model alone LibreTranslate asks the network for more.
    """
    import regard

    pair = (arguments.source, arguments.target)
    weights = "int8" if arguments.precision == "int8" else "float32"
    packages = [folder / f"{one}_{other}.{weights}.argosmodel" for one, other in (pair, pair[::-1])]
    for package, (source, target) in zip(packages, (pair, pair[::-1]), strict=True):
        if not package.exists():
            regard.export(arguments.bundle, package, to="argos", src_lang=source, tgt_lang=target, precision=weights)
    folders = {"ARGOS_PACKAGES_DIR": "packages", "XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache", "HOME": "home"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {name: str(folder / part) for name, part in {**folders, "XDG_CONFIG_HOME": "config"}.items()}
    environment |= {
        "LT_LOAD_ONLY": ",".join(pair),
        "ARGOS_INTER_THREADS": str(len(arguments.server_cores.split(","))),
        "ARGOS_INTRA_THREADS": "1",
        "ARGOS_COMPUTE_TYPE": arguments.precision,
        "ARGOS_BEAM_SIZE": str(arguments.beam),
        "OMP_NUM_THREADS": "1",
    }
    (folder / "home").mkdir(exist_ok=True)
    (folder / "work").mkdir(exist_ok=True)
    python = arguments.libretranslate
    subprocess.run([python, "-c", INSTALL, *map(str, packages)], env=environment, check=True, capture_output=True)
    flags = ["--host", "127.0.0.1", "--port", str(port), "--disable-web-ui", "--disable-files-translation"]
    return [python, "-c", LIBRETRANSLATE, *flags], environment


def ceiling(arguments: argparse.Namespace) -> dict[str, float]:
    """`measure_ceiling` in a process of its own, on the first of the server's cores."""
    script = str(Path(__file__).with_name("serving.py"))
    command = ["taskset", "-c", arguments.server_cores.split(",")[0], sys.executable, script, arguments.bundle]
    command += ["--ceiling", "--src", arguments.src, "--beam", str(arguments.beam), "--precision", arguments.precision]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    rates: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return rates
