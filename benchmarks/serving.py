"""Load on servers of one translator, from another process on loopback: what they answer a second, how late, and what they refuse.

    python benchmarks/serving.py BUNDLE --src test.en --source en --target de --out serving --libretranslate lt/bin/python
    python benchmarks/serving.py BUNDLE --src test.en --source en --target de --out drift --systems regard --drift 10

Systems, see `serving_systems.py`: `regard`, `one` (the same with batches of one text), `plain` (CTranslate2 in a FastAPI handler),
`libretranslate`. All have the same weights, texts of one sentence, beam, length normalisation (LibreTranslate's), precision and threads.
They run at the same time, each on the cores of `--server-cores`; the load comes from `--load-cores`, and each part has them in turn. The
share of their answers that are those of `regard` is shown: they differ where the ends of their beams do.

LibreTranslate has its own environment. It needs no torch:

    python -m venv lt
    lt/bin/pip install libretranslate==1.9.6 ctranslate2==VERSION    # the version of CTranslate2 that regard has

Parts. clients: 16 that ask again as soon as they are answered. lists: 4 that send 64 texts each. open: requests at random times, at rates
that are shares of what `regard` answers 16 clients; all systems have the same ones. 100 % is saturation. overload: `regard` at twice that.
`--drift MINUTES`: `regard` at 75 %, with its memory, threads and open files each ten seconds.

The ceiling is CTranslate2 without any server, texts a CPU second: batches cannot gain more than its ratios. CPU milliseconds a text of the
servers are shown too: on a machine that does other work they are steadier than texts a second.

Written: `serving.json` and `serving.md` in the folder of `--out`. With four systems a run takes 20 to 30 times `--seconds`.
"""

import argparse
import asyncio
import json
import os
import resource
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
from decoding_programs import processor
from serving_load import Load, Result
from serving_systems import (
    ALPHA,
    ceiling,
    libretranslate_command,
    measure_ceiling,
    own_command,
    plain_command,
    process,
    serve_plain,
)

CLIENTS, LISTS, LIST_SIZE = 16, 4, 64
RATES = (0.5, 0.75, 1.0)
"""Of what 16 clients get of `regard`."""
OVERLOAD = 2.0
ONE = ("batching.texts=1", "batching.delay=0", "limits.burst_seconds=3600", "limits.wait_seconds=3600")
"""Batches of one text. Two of them are a short queue, so that 16 clients would be overload: it refuses nothing."""
HOPELESS = 1.5
"""A system other than `regard` and `one` is not offered more than so many times what it answers 16 clients."""
CHECKED = 40
"""Texts whose answers are compared."""
Part = Callable[[Load], Coroutine[Any, Any, Result]]
Measured = dict[str, dict[str, dict[str, Any]]]
"""Part -> system -> numbers."""


class Running:
    """A server under load."""

    def __init__(self, url: str, server: psutil.Process, texts: Sequence[str], arguments: argparse.Namespace) -> None:
        self.load = Load(url, texts, arguments.source, arguments.target)
        self._server = server

    def processes(self) -> list[psutil.Process]:
        """Its process and those that it started."""
        return [self._server, *self._server.children(recursive=True)]

    def cpu(self) -> float:
        """CPU seconds so far."""
        return sum(times.user + times.system for times in (process.cpu_times() for process in self.processes()))

    def _rest(self, seconds: float = 120.0) -> None:
        """Wait until it has done what nobody waits for any more: the next server has the same cores."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            before = self.cpu()
            time.sleep(0.4)
            if self.cpu() - before < 0.03:
                return

    def state(self) -> dict[str, int]:
        """Its memory in KB, threads and open files."""
        own = self.processes()
        return {
            "memory_kb": sum(process.memory_info().rss for process in own) >> 10,
            "threads": sum(process.num_threads() for process in own),
            "files": sum(process.num_fds() for process in own),
        }

    def measure(self, part: Part) -> dict[str, Any]:
        """The numbers of a part."""
        before = self.cpu()
        result = asyncio.run(part(self.load))
        cpu = 1000 * (self.cpu() - before) / max(1, result.texts)
        self._rest()
        return {**result.values(), "server_cpu_ms_per_text": round(cpu, 2)}


def start(arguments: argparse.Namespace, texts: Sequence[str], folder: Path, stack: ExitStack) -> dict[str, Running]:
    """The servers that were asked for, ready."""
    running = {}
    for number, name in enumerate(arguments.systems.split(",")):
        port, environment = arguments.port + number, {**os.environ, "OMP_NUM_THREADS": "1"}
        if name == "libretranslate":
            command, environment = libretranslate_command(arguments, port, folder)
        elif name == "plain":
            command = plain_command(arguments, port)
        else:
            alone = ONE if name == "one" else ()
            command = own_command(arguments, port, *alone)
        url = f"http://127.0.0.1:{port}"
        server = stack.enter_context(process(command, url, arguments.server_cores, environment))
        running[name] = Running(url, server, texts, arguments)
    return running


def agreement(running: dict[str, Running], texts: Sequence[str]) -> dict[str, float]:
    """The share of the answers of each system that have the words of the first one's."""
    answers = {name: asyncio.run(one.load.answers(texts[:CHECKED])) for name, one in running.items()}
    first = [text.split() for text in next(iter(answers.values()))]
    return {
        name: round(sum(text.split() == own for text, own in zip(found, first, strict=True)) / len(first), 3)
        for name, found in answers.items()
    }


def measure(running: dict[str, Running], seconds: float) -> Measured:
    """All parts, each with all systems in turn."""
    parts: Measured = {}

    def each(name: str, part: Part, systems: Sequence[str]) -> None:
        for system in systems:
            numbers = running[system].measure(part)
            parts.setdefault(name, {})[system] = numbers
            print(f"{name}, {system}: {json.dumps(numbers)}", flush=True)

    for one in running.values():
        asyncio.run(one.load.closed(CLIENTS, 1, seconds / 5))  # warm
    each(f"{CLIENTS} clients", lambda load: load.closed(CLIENTS, 1, seconds), list(running))
    each(f"{LISTS} x {LIST_SIZE}", lambda load: load.closed(LISTS, LIST_SIZE, seconds), list(running))
    best = next(iter(parts[f"{CLIENTS} clients"].values()))["texts_per_second"]
    able = {name: numbers["texts_per_second"] for name, numbers in parts[f"{CLIENTS} clients"].items()}
    for share in RATES:
        systems = [name for name in running if name in ("regard", "one") or share * best <= HOPELESS * able[name]]
        each(f"open, {share:.0%}", lambda load, share=share: load.open(share * best, seconds), systems)  # type: ignore[misc]
    each("overload", lambda load: load.open(OVERLOAD * best, seconds), ["regard"] if "regard" in running else [])
    return parts


def drift(server: Running, minutes: float, rate: float) -> dict[str, Any]:
    """A server under a steady load, with its memory each ten seconds. The first fifth is not counted: caches fill."""
    states: list[tuple[float, dict[str, int]]] = []

    async def watched(load: Load) -> Result:
        async def watch() -> None:
            began = time.monotonic()
            while True:
                states.append((time.monotonic() - began, server.state()))
                await asyncio.sleep(10)

        watching = asyncio.create_task(watch())
        try:
            return await load.open(rate, 60 * minutes)
        finally:
            watching.cancel()

    numbers = server.measure(watched)
    late = [(moment, state["memory_kb"]) for moment, state in states if moment >= 60 * minutes / 5]
    mean_moment = sum(moment for moment, _ in late) / len(late)
    mean_memory = sum(memory for _, memory in late) / len(late)
    spread = sum((moment - mean_moment) ** 2 for moment, _ in late) or 1.0
    slope = sum((moment - mean_moment) * (memory - mean_memory) for moment, memory in late) / spread
    return {
        **numbers,
        "offered": round(rate, 1),
        "kb_per_minute": round(60 * slope, 1),
        "kb_per_1000_requests": round(slope / max(rate, 1e-9) * 1000, 2),
        "states": [{"seconds": round(moment), **state} for moment, state in states],
    }


def ratios(parts: Measured) -> list[tuple[str, float, str]]:
    """The ratios that have a target: name, number, target."""
    clients, lists = parts[f"{CLIENTS} clients"], parts[f"{LISTS} x {LIST_SIZE}"]
    saturated = parts[f"open, {RATES[-1]:.0%}"]
    own, found = "regard", list[tuple[str, float, str]]()

    def beside(label: str, part: dict[str, dict[str, Any]], other: str, target: str, key: str) -> None:
        if own in part and other in part:
            found.append((label, part[own][key] / max(1e-9, part[other][key]), target))

    rate, late = "texts_per_second", "p95_ms"
    beside("batches of one, at saturation: texts/s", saturated, "one", ">= 3", rate)
    beside("batches of one, at saturation: p95", saturated, "one", "<= 1", late)
    beside("batches of one, 16 clients: texts/s", clients, "one", "", rate)
    beside("plain handler, 16 clients: texts/s", clients, "plain", ">= 1.5", rate)
    beside("plain handler, at saturation: texts/s", saturated, "plain", ">= 1.5", rate)
    beside("plain handler, lists: texts/s", lists, "plain", ">= 1.5", rate)
    beside("LibreTranslate, 16 clients: texts/s", clients, "libretranslate", ">= 4", rate)
    beside("LibreTranslate, lists: texts/s", lists, "libretranslate", ">= 4", rate)
    if own in parts.get("overload", {}):
        over = parts["overload"][own]
        found.append(("overload: p95 of accepted beside saturation", over[late] / saturated[own][late], "<= 2"))
        found.append(("overload: share refused", over["refused"] / over["requests"], "> 0"))
        found.append(("overload: lost or errors", over["lost"] + over["errors"], "0"))
    return found


def page(record: dict[str, Any]) -> str:
    """The record as Markdown."""
    about = record["about"]
    lines = [
        f"{about['processor']}; beam {about['beam']}, {about['precision']}; servers on cores {about['server_cores']}, "
    ]
    lines[0] += (
        f"load on {about['load_cores']}; {about['seconds']:g} s a part; load average before: {about['load_average']}"
    )
    if "parts" in record:
        columns = ("texts_per_second", "p50_ms", "p95_ms", "p99_ms", "refused", "lost", "errors")
        columns += ("load_core_share", "server_cpu_ms_per_text")
        lines += ["", f"| part | system | {' | '.join(columns)} |", "| --- " * (2 + len(columns)) + "|"]
        for part, systems in record["parts"].items():
            for system, numbers in systems.items():
                cells = [f"{numbers[column]:,.10g}" for column in columns]
                lines.append(f"| {part} | {system} | {' | '.join(cells)} |")
        lines += ["", "| `regard` beside | ratio | target |", "| --- | --- | --- |"]
        lines += [f"| {name} | {ratio:.2f} | {target} |" for name, ratio, target in record["ratios"]]
        rates = record["ceiling"]
        lines += [
            "",
            "CTranslate2 alone, by CPU seconds: "
            + ", ".join(f"{rate:g} texts/s in {name}" for name, rate in rates.items()),
        ]
        lines += ["Equal answers: " + ", ".join(f"{name} {share:.1%}" for name, share in record["agreement"].items())]
    if "drift" in record:
        found = record["drift"]
        first, last = found["states"][0], found["states"][-1]
        lines += [
            "",
            f"Drift: {found['requests']} requests in {last['seconds']} s, {found['lost']} lost, {found['errors']} errors; ",
        ]
        lines[-1] += (
            f"memory {first['memory_kb'] >> 10} -> {last['memory_kb'] >> 10} MB, {found['kb_per_minute']:+g} KB a minute; "
        )
        lines[-1] += f"threads {first['threads']} -> {last['threads']}, files {first['files']} -> {last['files']}"
    return "\n".join(lines) + "\n"


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("--src", help="sentences, one a line")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    parser.add_argument("--out", default="serving")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each part")
    parser.add_argument("--systems", default="", help="by default all; libretranslate only with --libretranslate")
    parser.add_argument("--libretranslate", metavar="PYTHON", help="of an environment with LibreTranslate")
    parser.add_argument("--drift", type=float, default=0.0, metavar="MINUTES", help="instead of the other parts")
    parser.add_argument("--server-cores", default="0")
    parser.add_argument("--load-cores", default="1")
    parser.add_argument("--port", type=int, default=5050, help="the first of as many as there are systems")
    parser.add_argument("--plain", type=int, metavar="PORT", help=argparse.SUPPRESS)
    parser.add_argument("--ceiling", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.systems:
        arguments.systems = "regard,one,plain" + (",libretranslate" if arguments.libretranslate else "")
    return arguments


def main() -> None:
    arguments = parsed()
    if arguments.plain:
        serve_plain(arguments.bundle, arguments.plain, arguments.beam, arguments.precision)
        return
    texts = [line for line in Path(arguments.src).read_text(encoding="utf-8").split("\n") if line.strip()]
    if arguments.ceiling:
        print(json.dumps(measure_ceiling(arguments.bundle, texts, arguments.beam, arguments.precision)))
        return
    os.sched_setaffinity(0, {int(core) for core in arguments.load_cores.split(",")})
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 1 << 16), most))
    folder = Path(arguments.out).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    names = ("beam", "precision", "server_cores", "load_cores", "seconds", "source", "target")
    about = {"processor": processor(), "alpha": ALPHA, **{name: getattr(arguments, name) for name in names}}
    about |= {"texts": len(texts), "load_average": os.getloadavg()[0]}
    record: dict[str, Any] = {"about": about}
    with ExitStack() as stack:
        running = start(arguments, texts, folder, stack)
        if arguments.drift:
            server = running["regard"]
            rate = asyncio.run(server.load.closed(CLIENTS, 1, arguments.seconds)).rate
            record["drift"] = drift(server, arguments.drift, 0.75 * rate)
        else:
            record["ceiling"] = ceiling(arguments)
            record["agreement"] = agreement(running, texts)
            record["parts"] = measure(running, arguments.seconds)
            record["ratios"] = ratios(record["parts"])
    (folder / "serving.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (folder / "serving.md").write_text(page(record), encoding="utf-8")
    print(page(record))


if __name__ == "__main__":
    main()
