"""The load of `serving.py`: requests for translations to one server, on a schedule or from clients that ask again and again.

A request without an answer in time (`GIVEN_UP`, for lists `LISTS_GIVEN_UP` seconds), or whose connection failed, is
lost. So is one whose answer has no Content-Length.
"""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

GIVEN_UP, LISTS_GIVEN_UP = 10.0, 120.0
AFTER_REFUSAL = 0.1
"""Seconds until a client that was refused asks again."""
LOST = 0
"""The status of a request without an answer."""


@dataclass
class Result:
    """The outcome of the requests of a part."""

    seconds: float
    latencies: list[float] = field(default_factory=list)
    texts: int = 0
    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    load_share: float = 0.0
    """The share of a core that the load took. Near 1 the load is the limit, not the server."""

    @property
    def rate(self) -> float:
        """Texts a second."""
        return self.texts / self.seconds

    def quantile(self, share: float) -> float:
        """A quantile of the accepted requests' latencies, in seconds."""
        ordered = sorted(self.latencies) or [float("nan")]
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def count(self, status: int, texts: int, latency: float) -> None:
        """A request is over."""
        self.requests += 1
        self.statuses[status] += 1
        if status == 200:
            self.latencies.append(latency)
            self.texts += texts

    def values(self) -> dict[str, Any]:
        """The numbers of a part, for JSON."""
        times = {f"p{share:g}_ms": round(1000 * self.quantile(share / 100), 2) for share in (50, 95, 99)}
        return {
            "texts_per_second": round(self.rate, 2),
            "requests_per_second": round(len(self.latencies) / self.seconds, 2),
            **times,
            "requests": self.requests,
            "refused": self.statuses[429] + self.statuses[503],
            "lost": self.statuses[LOST],
            "errors": sum(count for status, count in self.statuses.items() if status not in (200, 429, 503, LOST)),
            "load_core_share": round(self.load_share, 3),
        }


class Client:
    """A connection that is kept open. Less work for the processor than a library, so that the load is not what is measured."""

    def __init__(self, url: str, source: str, target: str, given_up: float = GIVEN_UP) -> None:
        self._given_up = given_up
        self._host, _, self._port = url.removeprefix("http://").partition(":")
        self._source, self._target = source, target
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.body = b""
        """That of the last answer."""

    async def translate(self, texts: str | Sequence[str]) -> int:
        """The status of a request."""
        try:
            async with asyncio.timeout(self._given_up):
                return await self._ask(texts)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            self.close()
            return LOST

    async def _ask(self, texts: str | Sequence[str]) -> int:
        asked = {"q": texts, "source": self._source, "target": self._target, "format": "text"}
        body = json.dumps(asked).encode()
        head = f"POST /translate HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, int(self._port), limit=1 << 24)
        reader, writer = self._streams
        writer.write(head.encode() + body)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        length = next((int(line.partition(":")[2]) for line in lines if line.startswith("content-length:")), None)
        if length is None:
            raise OSError(f"{lines[0]}: an answer without Content-Length")
        self.body = await reader.readexactly(length)
        if "connection: close" in lines:
            self.close()
        return int(lines[0].split()[1])

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
        """Requests at random times, `rate` a second, whether or not earlier ones are answered.

        A latency counts from the time at which a request was due.
        """
        draw, result = random.Random(seed), Result(seconds)
        free: list[Client] = []
        running: set[asyncio.Task[None]] = set()
        cpu, began, due = time.process_time(), time.perf_counter(), 0.0

        async def one(text: str, due: float) -> None:
            client = free.pop() if free else Client(self._url, *self._languages)
            result.count(await client.translate(text), 1, time.perf_counter() - began - due)
            free.append(client)

        while (due := due + draw.expovariate(rate)) < seconds:
            await asyncio.sleep(max(0.0, due - (time.perf_counter() - began)))
            task = asyncio.create_task(one(draw.choice(self._texts), due))
            running.add(task)
            task.add_done_callback(running.discard)
        await asyncio.gather(*running)
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
            draw = random.Random(seed + number)
            client = Client(self._url, *self._languages, GIVEN_UP if size == 1 else LISTS_GIVEN_UP)
            while time.perf_counter() - began < seconds:
                texts = [draw.choice(self._texts) for _ in range(size)]
                sent = time.perf_counter()
                status = await client.translate(texts if size > 1 else texts[0])
                result.count(status, size, time.perf_counter() - sent)
                if status != 200:
                    await asyncio.sleep(AFTER_REFUSAL)
            client.close()

        await asyncio.gather(*(one(number) for number in range(clients)))
        result.seconds = time.perf_counter() - began
        result.load_share = (time.process_time() - cpu) / result.seconds
        return result

    async def answers(self, texts: Sequence[str]) -> list[str]:
        """The translations of some texts, asked for one by one."""
        client = Client(self._url, *self._languages)
        found = []
        for text in texts:
            status = await client.translate(text)
            found.append(json.loads(client.body)["translatedText"] if status == 200 else f"status {status}")
        client.close()
        return found
