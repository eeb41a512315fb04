"""The process of a server: listens, loads the models, and obeys signals. uvicorn speaks HTTP.

| signal | effect |
| --- | --- |
| SIGTERM | new requests get 503, those in flight are finished, then the process ends with exit code 0 |
| SIGINT (Ctrl-C) | the same, with exit code 130, as every command |
| a second one | what waits gets 503, and the process ends after the batches that run |
| SIGHUP | models and keys are loaded anew, beside the old ones, which serve until then |
"""

import asyncio
import errno
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from regard.errors import ConfigError
from regard.serve.app import make_app
from regard.serve.connections import bounded_protocol
from regard.serve.logs import logged_warnings
from regard.serve.service import Service
from regard.serve.settings import ServeSettings

_LOOK_SECONDS = 0.02


def serve(service: Service, sockets: list[socket.socket], ready: Callable[[], None]) -> None:
    """Serve until a signal ends it. ready: called when the models are loaded. A model that cannot be loaded is a `RegardError`.

    After Ctrl-C it raises `KeyboardInterrupt` when all is done, as any work that is interrupted does.
    """
    with logged_warnings(service.log):
        interrupted = asyncio.run(_serve(service, sockets, ready))
    if interrupted:
        raise KeyboardInterrupt


def listen(settings: ServeSettings) -> list[socket.socket]:
    """The open sockets of the settings' address. One that is taken, or not of this machine, is a `ConfigError`."""
    listener: socket.socket | None = None
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
        listener.set_inheritable(True)
    except (OSError, UnicodeError) as error:
        if listener is not None:
            listener.close()
        reason = str(getattr(error, "strerror", None) or error).lower()
        if isinstance(error, socket.gaierror | UnicodeError) or error.errno == errno.EADDRNOTAVAIL:
            raise ConfigError(
                f"--host {settings.host}: cannot listen there: {reason}; give a name or an address of this machine, "
                "such as 127.0.0.1, or 0.0.0.0 for all of them"
            ) from None
        raise ConfigError(
            f"--host {settings.host} --port {settings.port}: cannot listen there: {reason}; "
            "choose another port (0 is a free one), or end the program that has it"
        ) from None
    return [listener]


def server_of(service: Service) -> "Server":
    """The HTTP server of a service. It obeys no signal by itself."""
    limits = service.settings.limits
    config = uvicorn.Config(
        make_app(service),
        log_config=None,
        log_level="critical",  # the guard logs
        access_log=False,
        server_header=False,
        proxy_headers=False,  # else any client could choose its address; `rates.proxies` says who may
        lifespan="off",
        ws="none",
        http=bounded_protocol(limits),
        h11_max_incomplete_event_size=limits.header_bytes,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
    )
    return Server(config)


async def _serve(service: Service, sockets: list[socket.socket], ready: Callable[[], None]) -> bool:
    """Serve until a signal ends it. Returns whether that was Ctrl-C."""
    server = server_of(service)
    loop = asyncio.get_running_loop()
    failures: list[BaseException] = []
    loading = loop.run_in_executor(None, service.load)

    def loaded(done: "asyncio.Future[None]") -> None:
        if done.cancelled():
            return
        error = done.exception()
        if stopping:
            return  # it serves nobody, whether the models load or not
        if error is None:
            service.log.event("ready", models=[model.name for model in service.models.all()])
            ready()
        else:
            failures.append(error)
            server.should_exit = True

    stopping: list[asyncio.Task[None]] = []
    loading.add_done_callback(loaded)
    interrupts: list[bool] = []

    def interrupt() -> None:
        interrupts.append(True)
        stop()

    def stop() -> None:
        if stopping:
            service.end()
            server.should_exit = server.force_exit = True
            return
        service.log.event("draining")
        service.drain()
        stopping.append(loop.create_task(_drained(service, server)))

    reloading: list[asyncio.Future[None]] = []

    def reload() -> None:
        if not any(not one.done() for one in reloading) and service.state == "ready":
            reloading[:] = [loop.run_in_executor(None, service.reload)]

    for name, action in (("SIGTERM", stop), ("SIGINT", interrupt), ("SIGHUP", reload)):
        if hasattr(signal, name):
            loop.add_signal_handler(getattr(signal, name), action)
    await server.serve(sockets=sockets)
    if failures:
        raise failures[0]
    await loop.run_in_executor(None, service.close)
    service.log.event("stopped")
    return bool(interrupts)


async def _drained(service: Service, server: uvicorn.Server) -> None:
    """Let the server end when no request is in flight any more, or the time for that is over."""
    end = asyncio.get_running_loop().time() + service.settings.drain_seconds
    await asyncio.sleep(service.settings.drain_least)
    while service.metrics.running and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(_LOOK_SECONDS)
    server.should_exit = True


class Server(uvicorn.Server):
    """uvicorn without its signal handlers: those would end the process before it has drained."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
