"""A server on a free port of loopback, in a thread of the test, around models that are loaded once."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

import httpx

from regard.serve.logs import Log, logged_warnings
from regard.serve.models import ServedModels
from regard.serve.process import listen, server_of
from regard.serve.service import Service
from regard.serve.settings import ServeSettings


class Running:
    """A server that answers, and its log."""

    def __init__(self, service: Service, url: str, lines: list[str], connections: Sized) -> None:
        self.service, self.url, self._lines = service, url, lines
        self.connections = connections
        self.client = httpx.Client(base_url=url, timeout=60)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The log so far."""
        return [json.loads(line) for line in self._lines]

    def logged(self, count: int, route: str | None = None) -> list[dict[str, Any]]:
        """The log, or that of one route, when it has so many events. A request is logged after its answer has been sent."""
        wait_for(lambda: len(self.of_route(route)) >= count)
        return self.of_route(route)

    def of_route(self, route: str | None) -> list[dict[str, Any]]:
        """The log so far of one route, or of all."""
        return [event for event in self.events if route is None or event.get("route") == route]

    def translate(self, **fields: Any) -> httpx.Response:
        return self.client.post("/translate", json=fields)

    def post(self, path: str, **given: Any) -> httpx.Response:
        return self.client.post(path, **given)

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.client.get(path, **given)


def raw(server: Running, *parts: bytes, wait: float = 0.0) -> bytes:
    """The server's answer to these bytes, sent one after the other, until it closes the connection."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        answer = b""
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(wait)
            while received := connection.recv(65536):
                answer += received
        except (BrokenPipeError, ConnectionResetError):
            pass
        return answer


def wait_for(true: Callable[[], bool]) -> None:
    """Wait until something is true, at most a minute."""
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, "it did not become true within a minute"
        time.sleep(0.005)


@contextmanager
def running(models: ServedModels | None, **settings: Any) -> Iterator[Running]:
    """A server of these models; None: they never load."""
    lines: list[str] = []
    service = Service(ServeSettings.parse({"port": 0, "beam": 2, **settings}), [], Log(lines.append))
    if models is not None:
        service.use(models)
    sockets = listen(service.settings)
    port = sockets[0].getsockname()[1]
    server = server_of(service)
    thread = threading.Thread(target=server.run, args=(sockets,), name="server")
    thread.start()
    found = Running(service, f"http://127.0.0.1:{port}", lines, server.server_state.connections)
    try:
        while not server.started:
            time.sleep(0.005)
        with logged_warnings(service.log):
            yield found
    finally:
        found.client.close()
        server.should_exit = True
        thread.join()
        service.close()
