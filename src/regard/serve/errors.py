"""From exceptions to HTTP: the status of each, and the body in the form of the route's API.

| status | exception |
| --- | --- |
| 400 | any other `RegardError`: a wrong request |
| 403 | `ForbiddenError` |
| 404 | `NotFoundError` |
| 413 | `TooLargeError` |
| 429 | `SlowdownError`, with Retry-After |
| 501 | `MissingPackageError`: torch is needed, and the message has the install command |
| 503 | `UnavailableError`: loading or draining, with Retry-After |
| 504 | `TimeLimitError` |
| 499 | `ClientGoneError` |
| 500 | `DiskError`, and a bug |
"""

import math
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from regard.errors import DiskError, RegardError, ResourceError, is_out_of_memory
from regard.extras import MissingPackageError, missing, missing_module


class RequestError(RegardError):
    """A wrong request."""

    status = 400


class ForbiddenError(RequestError):
    """A missing or wrong key, or a feature that is switched off."""

    status = 403


class NotFoundError(RequestError):
    """A model, language pair or file that the server does not have."""

    status = 404


class TooLargeError(RequestError):
    """A body beyond a limit."""

    status = 413


class BusyError(RequestError):
    """A request that may succeed later."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        """retry_after: seconds until it may succeed."""
        super().__init__(message)
        self.retry_after = max(1, math.ceil(retry_after))


class SlowdownError(BusyError):
    """Too many requests, or a full queue."""

    status = 429


class UnavailableError(BusyError):
    """The models are loading, or the server is stopping."""

    status = 503


class TimeLimitError(RequestError):
    """A request that took longer than `limits.seconds`."""

    status = 504


class ClientGoneError(RequestError):
    """The client closed the connection before its answer. Nobody reads this status; the log has it."""

    status = 499


def is_too_large(message: str) -> bool:
    """Whether the parser of forms complains, in its own words, of a field that is too large."""
    return "exceeded maximum size" in message


def status_of(error: BaseException) -> int:
    """The status of an exception."""
    if isinstance(error, HTTPException) and is_too_large(str(error.detail)):
        return 413
    if isinstance(error, RequestError | HTTPException):
        return error.status if isinstance(error, RequestError) else error.status_code
    if isinstance(error, MissingPackageError) or missing_module(error) is not None:
        return 501
    if isinstance(error, ResourceError) or is_out_of_memory(error):
        return 503
    if isinstance(error, DiskError):
        return 500
    return 400 if isinstance(error, RegardError | RequestValidationError) else 500


def message_of(error: BaseException) -> str:
    """The message of an exception, for the client. Of a bug it tells nothing: the log has it."""
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        return f"Invalid request: {where}: {first['msg']}" if where else f"Invalid request: {first['msg']}"
    if isinstance(error, HTTPException):
        too_large = "Invalid request: a field of the form is too large; only files may have more than a megabyte"
        return too_large if is_too_large(str(error.detail)) else str(error.detail)
    module = missing_module(error)
    if module is not None:
        return str(missing("such a request", module))
    if is_out_of_memory(error):
        return "out of memory; send less at once"
    return str(error) if isinstance(error, RegardError) else "internal error"


def plain_form(status: int, message: str) -> dict[str, Any]:
    """The body of an error as LibreTranslate has it."""
    return {"error": message}


def openai_form(status: int, message: str) -> dict[str, Any]:
    """The body of an error as OpenAI has it."""
    kinds = {403: "authentication_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


FORMS: dict[str, Callable[[int, str], dict[str, Any]]] = {"/v1/": openai_form, "/": plain_form}
"""Beginning of a path -> the form of its errors. The first that fits counts."""


def body_of(path: str, status: int, message: str) -> dict[str, Any]:
    """The body of an error of a path."""
    form = next((form for prefix, form in FORMS.items() if path.startswith(prefix)), plain_form)
    return form(status, message)


def headers_of(error: BaseException) -> dict[str, str]:
    """The headers of an exception's answer."""
    if isinstance(error, HTTPException):
        return dict(error.headers or {})
    if isinstance(error, BusyError):
        return {"Retry-After": str(error.retry_after)}
    return {"Retry-After": "5"} if status_of(error) == 503 else {}


def error_response(path: str, error: BaseException) -> JSONResponse:
    """The answer to an exception."""
    status = status_of(error)
    return JSONResponse(body_of(path, status, message_of(error)), status, headers_of(error))


def answer_errors(app: FastAPI) -> None:
    """Answer every exception that a route raises."""

    async def answer(request: Request, error: Exception) -> JSONResponse:
        return error_response(request.url.path, error)

    for kind in (RegardError, HTTPException, RequestValidationError, MemoryError, ModuleNotFoundError):
        app.add_exception_handler(kind, answer)
