"""Load on servers of one translator, from another process on loopback: what they answer a second, how late, and what they refuse.

    python benchmarks/serving.py BUNDLE --src test.en --source en --target de
    python benchmarks/serving.py BUNDLE --src test.en --source en --target de --other libretranslate=http://127.0.0.1:5001

Systems: `regard` (`regard serve`), `one` (the same with batches of one text), `plain` (CTranslate2 in a FastAPI handler, sentencepiece
beside it), and servers that run already. All get the same texts, one sentence each, and the same beam and precision; they run one after
the other, on the cores of `--server-cores`, and the load comes from `--load-cores`.

Parts. open: requests arrive at random times, at a given rate a second, whether or not earlier ones are answered; a latency counts from the
time at which a request was due. clients: 16 that ask again as soon as they are answered. lists: 4 that send 64 texts each. overload: the
open part at twice what `regard` answered at most. The share of a core that the load takes is shown: near 1.0 the load is the limit.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from decoding_programs import processor

CLIENTS, LISTS, LIST_SIZE = 16, 4, 64
RATES = (0.25, 0.5, 0.75, 0.9)  # of what 16 clients get


@dataclass
class Result:
    """The outcome of the requests of a part."""

    seconds: float
    latencies: list[float] = field(default_factory=list)
    texts: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    load_share: float = 0.0

    def quantile(self, share: float) -> float:
        """A quantile of the accepted requests' latencies."""
        ordered = sorted(self.latencies) or [float("nan")]
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def row(self) -> str:
        """The cells of a table."""
        refused = ", ".join(f"{count} x {status}" for status, count in sorted(self.statuses.items()) if status != 200)
        times = " | ".join(f"{1000 * self.quantile(share):,.0f}" for share in (0.5, 0.95, 0.99))
        return f"{self.texts / self.seconds:,.1f} | {times} | {refused or '-'} | {self.load_share:.2f}"


class Client:
    """A connection that is kept open. Less work for the processor than a library, so that the load is not what is measured."""

    def __init__(self, url: str, source: str, target: str) -> None:
        self._host, _, self._port = url.removeprefix("http://").partition(":")
        self._source, self._target = source, target
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def translate(self, texts: str | Sequence[str]) -> int:
        """The status of a request; 0: the connection failed."""
        body = json.dumps({"q": texts, "source": self._source, "target": self._target, "format": "text"}).encode()
        head = f"POST /translate HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection(self._host, int(self._port))
            reader, writer = self._streams
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            lines = answer.decode("latin-1").lower().split("\r\n")
            length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
            await reader.readexactly(length)
            if "connection: close" in lines:
                self.close()
            return int(lines[0].split()[1])
        except (OSError, asyncio.IncompleteReadError, StopIteration):
            self.close()
            return 0

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Load:
    """Requests to one server."""

    def __init__(self, url: str, texts: Sequence[str], source: str, target: str) -> None:
        self._url, self._texts, self._languages = url, texts, (source, target)

    async def open(self, rate: float, seconds: float, seed: int = 1) -> Result:
        """Requests at random times, `rate` a second."""
        draw, result = random.Random(seed), Result(seconds)
        free: list[Client] = []
        tasks = []
        cpu, began, due = time.process_time(), time.perf_counter(), 0.0

        async def one(text: str, due: float) -> None:
            client = free.pop() if free else Client(self._url, *self._languages)
            self._count(result, await client.translate(text), 1, time.perf_counter() - began - due)
            free.append(client)

        while (due := due + draw.expovariate(rate)) < seconds:
            await asyncio.sleep(max(0.0, due - (time.perf_counter() - began)))
            tasks.append(asyncio.create_task(one(draw.choice(self._texts), due)))
        await asyncio.gather(*tasks)
        result.seconds = max(seconds, time.perf_counter() - began)
        result.load_share = (time.process_time() - cpu) / result.seconds
        for client in free:
            client.close()
        return result

    async def closed(self, clients: int, size: int, seconds: float, seed: int = 1) -> Result:
        """Clients that ask again as soon as they are answered, for `size` texts at a time; 1: one text, no list."""
        result = Result(seconds)
        cpu, began = time.process_time(), time.perf_counter()

        async def one(number: int) -> None:
            draw, client = random.Random(seed + number), Client(self._url, *self._languages)
            while time.perf_counter() - began < seconds:
                texts = [draw.choice(self._texts) for _ in range(size)]
                sent = time.perf_counter()
                status = await client.translate(texts if size > 1 else texts[0])
                self._count(result, status, size, time.perf_counter() - sent)
            client.close()

        await asyncio.gather(*(one(number) for number in range(clients)))
        result.seconds = time.perf_counter() - began
        result.load_share = (time.process_time() - cpu) / result.seconds
        return result

    @staticmethod
    def _count(result: Result, status: int, texts: int, latency: float) -> None:
        result.statuses[status] += 1
        if status == 200:
            result.latencies.append(latency)
            result.texts += texts


def serve_plain(bundle: str, port: int, beam: int, precision: str) -> None:
    """CTranslate2 in a FastAPI handler, as a user would write it: the same weights, pieces and threads, no batching."""
    from typing import Any

    import ctranslate2
    import uvicorn
    from fastapi import FastAPI

    from regard.bundle.ctranslate2 import converted
    from regard.machine import usable_cores
    from regard.tasks.load import open_given

    opened = open_given(bundle)
    model = converted(opened, precision)  # type: ignore[arg-type]
    translator = ctranslate2.Translator(
        str(model), device="cpu", compute_type=precision, inter_threads=usable_cores(), intra_threads=1
    )
    source, target = opened.tokenizers.source, opened.tokenizers.target
    app = FastAPI()

    def translated(body: dict[str, Any]) -> dict[str, Any]:
        texts = body["q"] if isinstance(body["q"], list) else [body["q"]]
        pieces = [[source.vocabulary.pieces[token] for token in source.encode(text)] for text in texts]
        results = translator.translate_batch(pieces, beam_size=beam)
        found = [target.decode(target.vocabulary.ids_of(result.hypotheses[0])) for result in results]
        return {"translatedText": found if isinstance(body["q"], list) else found[0]}

    app.post("/translate")(translated)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


@contextmanager
def process(command: Sequence[str], url: str, cores: str) -> Iterator[psutil.Process]:
    """A server in a process of its own, when it answers."""
    started = subprocess.Popen(["taskset", "-c", cores, *command], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        while True:
            if started.poll() is not None:
                raise SystemExit(f"the server ended with exit code {started.returncode}: {' '.join(command)}")
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5).close()
                break
            except urllib.error.HTTPError as answer:
                answer.close()
                if answer.code == 404:  # the plain one has no such route
                    break
            except OSError:
                pass
            time.sleep(0.2)
        yield psutil.Process(started.pid)
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait()


def commands(arguments: argparse.Namespace, port: int) -> dict[str, list[str]]:
    """How each system is started."""
    own = [
        sys.executable,
        "-c",
        "from regard.cli.entry import run; run()",
        "serve",
        arguments.bundle,
        "--port",
        str(port),
    ]
    own += ["--beam", str(arguments.beam), "--precision", arguments.precision]
    own += ["--set", f"languages.{Path(arguments.bundle).resolve().name}={arguments.source}-{arguments.target}"]
    plain = [sys.executable, __file__, arguments.bundle, "--plain", str(port), "--beam", str(arguments.beam)]
    return {
        "regard": own,
        "one": [*own, "--set", "batching.texts=1", "--set", "batching.delay=0"],
        "plain": [*plain, "--precision", arguments.precision],
    }


def measure(name: str, url: str, arguments: argparse.Namespace, texts: Sequence[str], best: float | None) -> float:
    """Print the parts of one system. Returns the texts a second that 16 clients get."""
    load = Load(url, texts, arguments.source, arguments.target)
    asyncio.run(load.closed(CLIENTS, 1, arguments.seconds / 4))  # warm

    def show(part: str, result: Result) -> None:
        print(f"| {name} | {part} | {result.row()} |", flush=True)

    closed = asyncio.run(load.closed(CLIENTS, 1, arguments.seconds))
    show(f"{CLIENTS} clients", closed)
    show(f"{LISTS} x lists of {LIST_SIZE}", asyncio.run(load.closed(LISTS, LIST_SIZE, arguments.seconds)))
    most = closed.texts / closed.seconds
    for share in RATES:
        rate = share * (best or most)
        show(f"open, {rate:.0f}/s", asyncio.run(load.open(rate, arguments.seconds)))
    show(f"overload, {2 * (best or most):.0f}/s", asyncio.run(load.open(2 * (best or most), arguments.seconds)))
    return most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("--src", help="sentences, one a line")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each part")
    parser.add_argument("--systems", default="regard,one,plain")
    parser.add_argument("--other", action="append", default=[], metavar="NAME=URL", help="a server that runs already")
    parser.add_argument("--server-cores", default="0")
    parser.add_argument("--load-cores", default="1")
    parser.add_argument("--port", type=int, default=5050)
    parser.add_argument("--plain", type=int, metavar="PORT", help="be the plain server")
    arguments = parser.parse_args()
    if arguments.plain:
        serve_plain(arguments.bundle, arguments.plain, arguments.beam, arguments.precision)
        return
    os.sched_setaffinity(0, {int(core) for core in arguments.load_cores.split(",")})
    texts = [line for line in Path(arguments.src).read_text(encoding="utf-8").split("\n") if line.strip()]
    print(
        f"{processor()}; beam {arguments.beam}, {arguments.precision}; server on core {arguments.server_cores}, ",
        end="",
    )
    print(f"load on core {arguments.load_cores}; {arguments.seconds:g} s each; {len(texts)} texts\n")
    print("| system | part | texts/s | p50 ms | p95 ms | p99 ms | refused | load |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    best = None
    url = f"http://127.0.0.1:{arguments.port}"
    for name, command in commands(arguments, arguments.port).items():
        if name not in arguments.systems.split(","):
            continue
        with process(command, url, arguments.server_cores) as server:
            before = server.memory_info().rss
            most = measure(name, url, arguments, texts, best)
            after = server.memory_info().rss
            print(f"| {name} | memory, MB before and after | {before >> 20} -> {after >> 20} | | | | | |", flush=True)
            best = best or most
    for other in arguments.other:
        name, _, address = other.partition("=")
        measure(name, address.rstrip("/"), arguments, texts, best)


if __name__ == "__main__":
    main()
