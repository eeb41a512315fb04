"""Who may use the server, and how often: keys and rates. Every route that computes asks `admit` first."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from regard.serve.body import fields_of
from regard.serve.errors import ForbiddenError
from regard.serve.service import Service


def service_of(request: Request) -> Service:
    """The service of a request's application."""
    service: Service = request.app.state.service
    return service


def admit(request: Request, given: object = None) -> None:
    """Let a request in, or refuse it: a wrong key is a `ForbiddenError`, one too many a `SlowdownError`.

    given: the key in the body; else it is that of the headers `Authorization: Bearer KEY` or `X-API-Key`.
    """
    service = service_of(request)
    rates, settings = service.rates, service.settings.rates
    address = address_of(request, settings.proxies)
    if not service.keys.needed:
        rates.spend("address", address, settings.per_address)
        return
    rates.check("wrong keys", address, settings.wrong_keys)
    text = given if isinstance(given, str) and given else key_in_headers(request)
    if not text:
        raise ForbiddenError("Please contact the server operator to get an API key")
    key = service.keys.find(text)
    if key is None:
        rates.spend("wrong keys", address, settings.wrong_keys)
        raise ForbiddenError("Invalid API key")
    rates.spend("key", key.digest, settings.per_key if key.per_minute is None else key.per_minute)


async def admitted_fields(request: Request) -> dict[str, Any]:
    """The fields of a request that is let in. A key in the headers counts before one in the body: no body is read for a wrong one."""
    most = service_of(request).settings.limits.body_bytes
    if key_in_headers(request) or not service_of(request).keys.needed:
        admit(request)
        return await fields_of(request, most)
    fields = await fields_of(request, most)
    admit(request, fields.get("api_key"))
    return fields


class AdmittedRoute(APIRoute):
    """A route whose key is in the headers. A dependency would be too late: FastAPI reads and parses the body before it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, which admits the request before anything of its body is read."""
        answer = super().get_route_handler()

        async def admitted(request: Request) -> Response:
            admit(request)
            return await answer(request)

        return admitted


def key_in_headers(request: Request) -> str:
    """The key of the headers; empty: there is none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")


def address_of(request: Request, proxies: tuple[str, ...]) -> str:
    """The address of the client. Of a proxy of ours, the last address that it names and that is no such proxy itself.

    Only that one the client cannot choose. A proxy adds it to the header's line, or adds a line: all lines are one list.
    """
    address = request.client.host if request.client is not None else ""
    if address not in proxies:
        return address
    named = [one.strip() for line in request.headers.getlist("x-forwarded-for") for one in line.split(",")]
    return next((one for one in reversed(named) if one and one not in proxies), address)
