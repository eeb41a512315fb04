"""The load of the benchmark of serving: an answer that cannot be read counts as lost, and the run goes on."""

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ANSWERS = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
    b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    path = Path(__file__).parent.parent / "benchmarks" / "serving_load.py"
    spec = importlib.util.spec_from_file_location("serving_load", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where dataclasses look for their annotations
    spec.loader.exec_module(module)
    return module


def test_an_answer_without_a_length_is_lost(load: ModuleType) -> None:
    async def statuses() -> list[int]:
        waiting = iter(ANSWERS)

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"}")
            writer.write(next(waiting))
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            found = []
            for _ in ANSWERS:
                client = load.Client(url, "fr", "en")
                found.append(await client.translate("mot"))
                client.close()
            return found

    assert asyncio.run(statuses()) == [200, load.LOST, load.LOST, 503]
