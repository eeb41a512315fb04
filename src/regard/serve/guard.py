"""`Guard`: what surrounds every request: limits of headers and bodies, the state of the server, security headers, the log and the metrics.

Pure ASGI: it sees each part of a body while it arrives, so that a body without a length is counted too.
"""

import asyncio
import time
import traceback
import uuid
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.errors import RegardError
from regard.serve.body import check_charset
from regard.serve.errors import SlowdownError, UnavailableError, error_response, status_of
from regard.serve.service import LOADING_SECONDS, Service

ALWAYS = {"/health", "/metrics"}
"""Paths that are answered while the models load and while the server stops."""
FILES = {"/translate_file", "/v1/regard/caption_file", "/v1/regard/classify_file"}
"""Paths whose bodies may have `limits.file_bytes`."""
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of pages, unless a route sets its own."""
API_POLICY = "default-src 'none'; frame-ancestors 'none'"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """An ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a web socket: there is none
            await send({"type": "websocket.close", "code": 1000})
            return
        answer = _Answer(send, _has_body(scope))
        scope["regard.began"] = began = time.monotonic()
        self._service.metrics.began()
        failure: BaseException | None = None
        try:
            self._check(scope)
            await self._app(scope, self._counted(scope, receive, answer), answer)
        except (RegardError, HTTPException) as error:
            failure = error
            await answer.instead(scope, error)
        except asyncio.CancelledError:  # by the end of the server; uvicorn would answer in words of its own
            failure = UnavailableError("the server is stopping", LOADING_SECONDS)
            await answer.instead(scope, failure)
        except Exception as error:
            failure = error
            await answer.instead(scope, error)
        finally:
            seconds = time.monotonic() - began
            route = route_of(scope)
            self._service.metrics.ended(route, answer.status, seconds)
            self._log(scope, route, answer, seconds, failure)

    def _check(self, scope: Scope) -> None:
        """Refuse a request before anything of its body is read."""
        limits, path = self._service.settings.limits, scope["path"]
        if path not in ALWAYS:
            if self._service.state == "draining":
                raise UnavailableError("the server is stopping", LOADING_SECONDS)
            if self._service.metrics.running > limits.connections:
                raise SlowdownError("Slowdown: too many requests at the same time")
        headers = scope["headers"]
        size = len(scope.get("raw_path", b"")) + len(scope["query_string"])
        size += sum(len(name) + len(value) for name, value in headers)
        if len(headers) > limits.headers or size > limits.header_bytes:
            raise HTTPException(431, "Invalid request: too many headers")
        for name, value in headers:
            if name == b"content-type":
                check_charset(value.decode("latin-1"))
        length = dict(headers).get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self._most(path):
            raise _too_large(self._most(path))

    def _most(self, path: str) -> int:
        limits = self._service.settings.limits
        return limits.file_bytes if path in FILES else limits.body_bytes

    def _counted(self, scope: Scope, receive: Receive, answer: "_Answer") -> Receive:
        """`receive`, which refuses a body that is too large or too slow."""
        most, left = self._most(scope["path"]), self._service.settings.limits.upload_seconds
        end = time.monotonic() + left
        size = 0

        async def counted() -> Message:
            nonlocal size
            if answer.body_complete:
                return await receive()
            try:
                async with asyncio.timeout(max(0.0, end - time.monotonic())):  # `wait_for` makes a task
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "Invalid request: the body did not arrive in time") from None
            size += len(message.get("body", b""))
            answer.body_complete = not message.get("more_body", False)
            if size > most:
                raise _too_large(most)
            return message

        return counted

    def _log(self, scope: Scope, route: str, answer: "_Answer", seconds: float, failure: BaseException | None) -> None:
        values: dict[str, Any] = dict(scope.get("regard.counts", {}))
        if failure is not None and status_of(failure) == 500:
            place = traceback.extract_tb(failure.__traceback__)[-1]
            values |= {"error": type(failure).__name__, "at": f"{place.filename.rpartition('/')[2]}:{place.lineno}"}
        self._service.log.event(
            "request",
            id=answer.id,
            method=scope["method"] if scope["method"] in ("GET", "POST", "HEAD", "OPTIONS") else "other",
            route=route,
            status=answer.status,
            seconds=round(seconds, 4),
            **values,
        )


class _Answer:
    """`send`, which adds the security headers and remembers the status."""

    def __init__(self, send: Send, has_body: bool) -> None:
        self._send = send
        self.body_complete = not has_body
        self.status = 499  # nothing was sent
        self.id = uuid.uuid4().hex[:12]

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            is_page = headers.get("content-type", "").startswith("text/html")
            headers.setdefault("Content-Security-Policy", PAGE_POLICY if is_page else API_POLICY)
            headers.setdefault("X-Request-ID", self.id)
            if not self.body_complete:  # nobody reads the rest of it
                headers["Connection"] = "close"
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    async def instead(self, scope: Scope, error: BaseException) -> None:
        """Answer an exception, if nothing has been sent yet."""
        if self.status == 499 and status_of(error) != 499:
            request = Request(scope)
            await error_response(request.url.path, error)(scope, request.receive, self)


def route_of(scope: Scope) -> str:
    """The template of a request's path; `none` where no route fits, for a client may ask for any number of paths."""
    route = scope.get("route")
    return getattr(route, "path", "none") if route is not None else "none"


def _has_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )


def _too_large(most: int) -> HTTPException:
    return HTTPException(413, f"Invalid request: the body has more than {most} bytes")
