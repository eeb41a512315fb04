"""What operators see: metrics, logs, health, and the process with its signals."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from regard.serve.models import ServedModels
from serve.running import Running, running
from tasks.bundles import TEXTS

GOOD = {"q": "bonjour", "source": "fr", "target": "en"}
SERVE = "import sys; sys.argv = ['regard', 'serve', *sys.argv[1:]]; from regard.cli.main import run; run()"


def test_metrics_count_requests_batches_and_tokens(models: ServedModels) -> None:
    with running(models) as found:
        [step] = models.translator("fr", "en").steps
        source_tokens = sum(len(source.ids) for source in step.translator.read(TEXTS[:3]))
        found.translate(q=TEXTS[:3], source="fr", target="en")
        found.translate(**{**GOOD, "target": "zz"})
        found.get("/no/such/path/7f3a")
        text = found.get("/metrics").text
        values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        assert values['regard_requests_total{route="/translate",status="200"}'] == "1.0"
        assert values['regard_requests_total{route="/translate",status="400"}'] == "1.0"
        assert values['regard_requests_total{route="none",status="404"}'] == "1.0"
        assert values['regard_request_seconds_count{route="/translate"}'] == "2.0"
        assert values["regard_batch_texts_sum"] == "3.0"
        assert values['regard_tokens_total{side="source"}'] == f"{source_tokens}.0"
        assert values["regard_queue_texts"] == "0.0"
        assert values["regard_requests_running"] == "1.0"
        assert values["regard_ready"] == "1.0"
        assert "7f3a" not in text
    with running(models, metrics=False) as found:
        assert found.get("/metrics").status_code == 404


def test_the_log_has_no_texts(models: ServedModels) -> None:
    with running(models) as found:
        found.translate(q="secret words", source="fr", target="en")
        found.post("/translate", data={"q": "secret words", "source": "fr", "target": "secret-target"})
        found.get("/secret?q=secret")
        [first, second, third] = found.logged(3)
        assert "secret" not in json.dumps(found.events)
        assert {name: first[name] for name in ("event", "method", "route", "status", "texts", "characters", "direction")} == {
            "event": "request", "method": "POST", "route": "/translate", "status": 200, "texts": 1, "characters": 12,
            "direction": "fr-en",
        }  # fmt: skip
        assert (second["status"], third["status"], third["route"]) == (400, 404, "none")


def test_texts_are_logged_only_if_asked_for(models: ServedModels) -> None:
    with running(models, log_texts=True) as found:
        found.translate(q=["un", "deux"], source="fr", target="en")
        assert found.logged(1)[-1]["q"] == ["un", "deux"]


def test_health_while_loading_and_draining(models: ServedModels) -> None:
    with running(None) as found:
        loading = found.get("/health")
        assert (loading.status_code, loading.json()) == (503, {"status": "loading"})
        refused = found.translate(**GOOD)
        assert (refused.status_code, refused.json()) == (503, {"error": "the models are loading"})
        assert refused.headers["retry-after"]
        found.service.use(models)
        assert (found.get("/health").status_code, found.get("/health").json()) == (200, {"status": "ok"})
        found.service.drain()
        assert (found.get("/health").status_code, found.get("/health").json()) == (503, {"status": "draining"})
        assert found.translate(**GOOD).json() == {"error": "the server is stopping"}


def test_a_bug_is_one_line_for_the_client_and_a_place_in_the_log(
    models: ServedModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(models) as found:

        def broken(*_: object) -> None:
            raise ZeroDivisionError("secret")

        monkeypatch.setattr(found.service, "check_texts", broken)
        answer = found.translate(**GOOD)
        assert (answer.status_code, answer.json()) == (500, {"error": "internal error"})
        assert found.logged(1)[-1]["error"] == "ZeroDivisionError"
        assert re.fullmatch(r"test_operations\.py:\d+", found.events[-1]["at"])
        assert "secret" not in json.dumps(found.events)


def test_kept_translations_are_answered_without_a_search(models: ServedModels) -> None:
    with running(models, cache=2) as found:
        first = found.translate(q=TEXTS[:2], source="fr", target="en").json()
        batches = found.service.metrics.text()
        assert found.translate(q=TEXTS[1::-1], source="fr", target="en").json() == {
            "translatedText": first["translatedText"][::-1]
        }
        texts = re.compile(rb"regard_batch_texts_sum .*")
        assert texts.findall(found.service.metrics.text()) == texts.findall(batches)
        assert b'regard_cache_total{found="yes"} 2.0' in found.service.metrics.text()
        found.translate(q=TEXTS[2:4], source="fr", target="en")  # two others: the first two go
        found.translate(q=TEXTS[0], source="fr", target="en")
        assert b'regard_cache_total{found="yes"} 2.0' in found.service.metrics.text()
        found.service.use(models)  # as a reload does
        found.translate(q=TEXTS[0], source="fr", target="en")
        assert b'regard_cache_total{found="yes"} 2.0' in found.service.metrics.text()


def test_a_request_keeps_the_models_that_it_began_with(models: ServedModels) -> None:
    from starlette.requests import Request

    with running(models) as found:
        request = Request({"type": "http", "headers": []})
        assert found.service.models_of(request) is models
        found.service.use(ServedModels(models.all()))
        assert found.service.models_of(request) is models
        assert found.service.models is not models


class Process:
    """`regard serve` in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]", lines: list[str]) -> None:
        self.process, self._lines = process, lines

    def wait_for(self, pattern: str, count: int = 1) -> str:
        """The line of stderr that fits."""
        while True:
            found = [line for line in list(self._lines) if re.search(pattern, line)]
            if len(found) >= count:
                return found[count - 1]
            assert self.process.poll() is None, "".join(self._lines)
            time.sleep(0.02)

    def post(self, **fields: Any) -> Any:
        request = urllib.request.Request(
            f"{self.url}/translate", json.dumps(fields).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    @property
    def url(self) -> str:
        found = re.search(r"http://\S+?(?=;)", self.wait_for("serving on"))
        assert found is not None
        return found.group()


@contextmanager
def process(*arguments: str | Path, cache: Path, before: str = "") -> Iterator[Process]:
    lines: list[str] = []
    environment = {**os.environ, "REGARD_CACHE": str(cache)}
    started = subprocess.Popen(
        [sys.executable, "-c", before + SERVE, *map(str, arguments), "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert started.stderr is not None
    reader = threading.Thread(target=lambda: lines.extend(iter(started.stderr.readline, "")))  # type: ignore[union-attr]
    reader.start()
    try:
        yield Process(started, lines)
    finally:
        if started.poll() is None:
            started.kill()
        started.wait()
        reader.join()
        started.stderr.close()


def test_the_process_serves_without_torch_reloads_and_drains(
    bundles: list[Path], served_cache: Path, server: Running
) -> None:
    """One process for all of it, because it takes seconds to start."""
    told = "import atexit, sys; atexit.register(lambda: print('torch' in sys.modules, file=sys.stderr)); "
    slow = ["--set", "batching.delay=0.5", "--set", "drain_least=0.1"]
    with process(*bundles, "--beam", "2", *slow, cache=served_cache, before=told) as found:
        expected = server.translate(**GOOD).json()
        assert found.post(**GOOD) == expected
        answers: list[Any] = []

        def ask() -> None:
            answers.append(found.post(**GOOD))

        asking = [threading.Thread(target=ask) for _ in range(3)]
        for thread in asking:
            thread.start()
        found.process.send_signal(signal.SIGHUP)
        found.wait_for('"reloaded"')
        for thread in asking:
            thread.join()
        assert answers == [expected] * 3
        moved = bundles[0].rename(bundles[0].with_name("moved"))
        try:
            found.process.send_signal(signal.SIGHUP)
            found.wait_for('"reload failed"')
        finally:
            moved.rename(bundles[0])
        last = threading.Thread(target=ask)
        last.start()
        time.sleep(0.2)  # it waits for a batch
        found.process.send_signal(signal.SIGTERM)
        found.wait_for('"draining"')
        with pytest.raises(urllib.error.HTTPError) as refusal:
            found.post(**GOOD)
        assert refusal.value.code == 503
        refusal.value.close()
        last.join()
        assert answers == [expected] * 4
        assert found.process.wait(30) == 0
        found.wait_for('"stopped"') if found.process.poll() is None else None
        assert found._lines[-1] == "False\n"


def test_ctrl_c_ends_with_the_code_of_every_command(bundles: list[Path], served_cache: Path, tmp_path: Path) -> None:
    """When it serves, with its owner's terms, and while it loads. Nothing is printed beside the log."""
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("chat\ttomcat\n", encoding="utf-8")
    with process(bundles[0], "--glossary", glossary, "--protect", "default", cache=served_cache) as found:
        answer = found.post(q="le chat de {name}", source="fr", target="en")["translatedText"]
        assert "tomcat" in answer
        assert "{name}" in answer
        found.process.send_signal(signal.SIGINT)
        assert found.process.wait(60) == 130
    waits = (
        "import time; from regard.serve.service import Service; plain = Service.load; "
        "Service.load = lambda self: (time.sleep(1.0), plain(self)); "
    )
    with process(bundles[0], cache=served_cache, before=waits) as found:
        found.wait_for("loading 1 model")
        found.process.send_signal(signal.SIGINT)
        assert found.process.wait(60) == 130
    assert "Traceback" not in "".join(found._lines)
    events = "".join(found._lines)
    assert '"draining"' in events
    assert '"ready"' not in events
    assert "serving on" not in events


def test_a_second_signal_ends_within_a_batch(bundles: list[Path], served_cache: Path) -> None:
    """A thousand texts and half of a body are refused with 503, as JSON."""
    slow = (
        "import sys, time; from regard.tasks.translate.translator import Translator; plain = Translator.search_read; "
        "Translator.search_read = lambda self, *given, **more: "
        "(print('a batch', file=sys.stderr), time.sleep(0.3), plain(self, *given, **more))[-1]; "
    )
    with process(bundles[0], "--beam", "1", cache=served_cache, before=slow) as found:
        host, _, port = found.url.removeprefix("http://").partition(":")
        refusals: list[tuple[int, Any]] = []

        def ask() -> None:
            with pytest.raises(urllib.error.HTTPError) as refusal:
                found.post(
                    q=[f"{text} {number}" for number in range(250) for text in TEXTS[:4]], source="fr", target="en"
                )
            with refusal.value as answer:
                refusals.append((answer.code, json.loads(answer.read())))

        with socket.create_connection((host, int(port)), timeout=60) as upload:
            upload.sendall(
                b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
            )
            asking = threading.Thread(target=ask)
            asking.start()
            found.wait_for("a batch")
            found.process.send_signal(signal.SIGTERM)
            found.wait_for('"draining"')
            found.process.send_signal(signal.SIGTERM)
            asking.join()
            answer = b"".join(iter(lambda: upload.recv(9999), b""))
        assert found.process.wait(30) == 0
    assert refusals == [(503, {"error": "the server is stopping"})]
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"error": "the server is stopping"}
    assert sum(line == "a batch\n" for line in found._lines) <= 8  # of 32: those of the workers, and a few before
    assert [json.loads(line)["status"] for line in found._lines if '"request"' in line] == [503, 503]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["NOWHERE"], "NOWHERE"),
        (["BUNDLE", "--port", "99999"], "port = 99999"),
        (["BUNDLE", "--host", "203.0.113.7"], "cannot listen there"),
        (["BUNDLE", "--set", "limits.secnds=3"], "did you mean 'limits.seconds'?"),
        (["BUNDLE", "--api-keys", "NOWHERE"], "--api-keys NOWHERE: no such file; give a text file with one key a line"),
        (
            ["BUNDLE", "--set", "suggestions.directory=BUNDLE/config.json/x"],
            "suggestions cannot be kept there: not a directory",
        ),
        (["BUNDLE", "--host", "nowhere.invalid", "--port", "0"], "give a name or an address of this machine"),
        (["BUNDLE", "--set", "limits.seconds"], "expected KEY=VALUE, for example --set limits.seconds=10"),
        (["BUNDLE", "--set", "port=5881", "--port", "5882"], "--port 5882 and --set port=5881: leave one of them out"),
        (["BUNDLE", "--cors", "example.org"], "is no origin"),
        (["BUNDLE", "--beam", "100"], "above limits.beam = 10"),
        (["BUNDLE", "--config", "NOWHERE"], "no such config file; write the settings that should differ into it"),
        (["BUNDLE", "--protect", "(a"], "protect '(a': not a regular expression"),
        (["BUNDLE", "--glossary", "a.tsv", "--glossary", "b.tsv"], "write one for each direction"),
    ],
)
def test_a_wrong_command_is_one_line(
    arguments: list[str], message: str, bundles: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from regard.cli.main import run

    given = [
        str(bundles[0])
        if word == "BUNDLE"
        else word.replace("NOWHERE", str(tmp_path / "none")).replace("BUNDLE", str(bundles[0]))
        for word in arguments
    ]
    monkeypatch.setattr(sys, "argv", ["regard", "serve", *given])
    with pytest.raises(SystemExit) as ended:
        run()
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert message.replace("NOWHERE", str(tmp_path / "none")) in error
    assert error.count("\n") == 1
