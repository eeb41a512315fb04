"""Connections: clients that do not read, or read a little, and those that are too many."""

import asyncio
import socket
import time
from contextlib import ExitStack
from typing import Any
from unittest.mock import Mock

import pytest
import uvicorn
from uvicorn.server import ServerState

from regard.serve import connections
from regard.serve.connections import bounded_protocol
from regard.serve.models import ServedModels
from regard.serve.settings import LimitSettings
from serve.running import raw, running, wait_for

GOOD = {"q": "bonjour", "source": "fr", "target": "en"}


def test_a_client_that_does_not_read_is_cut(models: ServedModels) -> None:
    with running(models, limits={"send_seconds": 0.1}) as found, socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, port = found.url.removeprefix("http://").split(":")
        reader.connect((host, int(port)))
        reader.sendall(b"GET /spec HTTP/1.1\r\nHost: a\r\n\r\n" * 1500)
        for _ in range(500):
            time.sleep(0.01)
            if found.events and not found.connections:
                break
        assert len(found.connections) == 0
        assert len(found.events) < 1500
        assert found.translate(**GOOD).status_code == 200


def test_a_client_with_a_small_buffer_gets_all(models: ServedModels) -> None:
    with running(models) as found, socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, port = found.url.removeprefix("http://").split(":")
        reader.connect((host, int(port)))
        ask = b"GET /spec HTTP/1.1\r\nHost: a\r\n"
        reader.sendall((ask + b"\r\n") * 99 + ask + b"Connection: close\r\n\r\n")
        answer = b""
        while received := reader.recv(65536):
            answer += received
        assert answer.count(b"HTTP/1.1 200 OK") == 100
        assert answer.endswith(found.get("/spec").content)


def test_a_connection_too_many_is_answered(models: ServedModels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SPARE", 1)
    monkeypatch.setattr(connections, "REFUSED_SECONDS", 5.0)
    with running(models, limits={"connections": 1}) as found, ExitStack() as held:
        host, port = found.url.removeprefix("http://").split(":")
        for count in (1, 2):
            held.enter_context(socket.create_connection((host, int(port))))
            wait_for(lambda count=count: len(found.connections) == count)  # type: ignore[misc]
        answer = raw(found, b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 429 ")
        assert b"Retry-After: 1\r\n" in answer
        assert answer.endswith(b'{"error":"Slowdown: too many connections"}')
        wait_for(lambda: len(found.connections) == 2)
        monkeypatch.setattr(connections, "REFUSED_SECONDS", 0.2)
        assert raw(found) == b""  # one that asks nothing is closed
        held.close()
        wait_for(lambda: not found.connections)
        assert found.translate(**GOOD).status_code == 200


class _Transport(asyncio.Transport):
    """A transport whose client reads when the test says so."""

    unread, aborted = 0, False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high == 0

    def get_write_buffer_size(self) -> int:
        return self.unread

    def abort(self) -> None:
        self.aborted = True


def connected(transport: _Transport, limits: LimitSettings, loop: Mock, state: ServerState) -> Any:
    """A connection of a server with this state."""
    config = uvicorn.Config(Mock(), log_config=None, lifespan="off", ws="none")
    config.load()
    connection = bounded_protocol(limits)(config=config, server_state=state, app_state={}, _loop=loop)
    connection.connection_made(transport)
    return connection


def test_refused_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SPARE", 3)
    transports, state, loop = [_Transport() for _ in range(12)], ServerState(), Mock()
    for transport in transports:
        connected(transport, LimitSettings(connections=2), loop, state)
    assert [transport.aborted for transport in transports] == [False] * (2 + 3 + 3) + [True] * 4
    assert loop.call_later.call_count == 2 + 3 + 3  # those that are cut need no timer


def test_a_client_that_reads_a_little_is_kept() -> None:
    loop, transport = Mock(), _Transport()
    connection = connected(transport, LimitSettings(send_seconds=7), loop, ServerState())
    transport.unread = 100
    connection.pause_writing()
    for unread in (99, 50):
        seconds, look = loop.call_later.call_args.args
        transport.unread = unread
        look()
        assert (seconds, transport.aborted) == (7, False)
    connection.resume_writing()
    assert loop.call_later.return_value.cancel.called
    connection.pause_writing()
    loop.call_later.call_args.args[1]()  # nothing was read
    assert transport.aborted
