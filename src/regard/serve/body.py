"""The fields of a request, from JSON, a form or the query, as LibreTranslate's clients send them."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.requests import Request

from regard.errors import FileError, shown
from regard.foreign import parse_json
from regard.serve.errors import RequestError, TooLargeError, is_too_large

MOST_FIELDS = 2000
"""Fields of a form, the texts of a list among them."""
CHARSETS = {b"utf-8", b"utf8", b"ascii", b"us-ascii"}
"""What a `Content-Type` may name. Python has codecs that take minutes for a megabyte, and some that write surrogates."""


@dataclass(frozen=True)
class Upload:
    """An uploaded file."""

    name: str
    """Its name, as the client states it."""
    content: bytes


async def fields_of(request: Request, most: int) -> dict[str, Any]:
    """The fields of a body. Text fields of forms come before those of the query. most: bytes of a text field."""
    kind, _ = parse_options_header(request.headers.get("content-type"))
    if kind == b"application/json" or kind.endswith(b"+json"):
        return await json_of(request)
    for part in request.scope["query_string"].split(b"&"):
        _unquoted(part, "the query")
    fields: dict[str, Any] = dict(request.query_params)
    if request.method in ("POST", "PUT", "PATCH"):
        lists: dict[str, list[str | Upload]] = {}
        form = await _form_of(request, kind, most)
        try:
            for name, value in form.multi_items():
                given = value if isinstance(value, str) else Upload(_writable(value.filename or ""), await value.read())
                lists.setdefault(name, []).append(given)
        finally:
            await form.close()
        fields |= {name: values if len(values) > 1 else values[0] for name, values in lists.items()}
    for name, value in fields.items():
        if isinstance(value, str):
            check_text(value, name)
    return fields


def check_charset(content_type: str) -> None:
    """Refuse a `Content-Type`, of a request or of a part of a form, that names another encoding than UTF-8."""
    charset = parse_options_header(content_type)[1].get(b"charset", b"utf-8")
    if charset.strip().lower() not in CHARSETS:
        name = shown(charset[:40].decode("latin-1"))
        raise RequestError(f"Invalid request: the charset {name} is not supported; send UTF-8")


class _Parts(MultiPartParser):
    """The parts of a form. Each may state its own charset."""

    def on_headers_finished(self) -> None:
        for name, value in self._current_part.item_headers:
            if name == b"content-type":
                check_charset(value.decode("latin-1"))
        super().on_headers_finished()

    def on_part_end(self) -> None:
        if self._current_part.file is None:  # Starlette would read other bytes as Latin-1
            _decoded(self._current_part.data, f"{shown(self._current_part.field_name)} parameter")
        super().on_part_end()


class _Fields(FormParser):
    """The fields of a form that is no multipart one. Starlette reads bytes that are not escaped as Latin-1."""

    def on_field_end(self) -> None:
        name, value = bytes(self._field_name), bytes(self._field_value)
        self._field_name.clear()  # Starlette decodes nothing, but counts
        self._field_value.clear()
        super().on_field_end()
        key = _unquoted(name, "the name of a parameter")
        self._items[-1] = (key, _unquoted(value, f"{shown(key)} parameter"))


def _unquoted(escaped: bytes, name: str) -> str:
    """The text of bytes with `+` and `%`."""
    return _decoded(unquote_to_bytes(escaped.replace(b"+", b" ")), name)


def _decoded(content: bytes | bytearray, name: str) -> str:
    """The text of bytes in UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(f"Invalid request: {name} is not UTF-8, at byte {error.start}") from None


async def _form_of(request: Request, kind: bytes, most: int) -> FormData:
    """The form in a body. The guard has checked the charset of the request, and the bytes of the body."""
    limits = {"max_fields": MOST_FIELDS, "max_part_size": most}
    try:
        if kind == b"application/x-www-form-urlencoded":
            return await _Fields(request.headers, request.stream(), **limits).parse()
        if kind != b"multipart/form-data":
            return FormData()
        return await _Parts(request.headers, request.stream(), max_files=1, **limits).parse()
    except (MultiPartException, HTTPException) as error:
        if isinstance(error, HTTPException) and error.status_code != 400:  # of the guard
            raise
        message = error.message if isinstance(error, MultiPartException) else str(error.detail)
        if is_too_large(message):
            raise TooLargeError(f"Invalid request: a field of the form has more than {most} bytes") from None
        raise RequestError(f"Invalid request: {message}") from None


def _writable(name: str) -> str:
    """A file's name without what no encoding can write."""
    return name.encode("utf-8", "replace").decode("utf-8")


async def json_of(request: Request) -> dict[str, Any]:
    """The object in a JSON body. Refused: what nests too deep, has a key twice, or half of a surrogate pair."""
    try:
        value = parse_json((await request.body()).decode("utf-8"), "Invalid request")
    except UnicodeDecodeError as error:
        raise RequestError(f"Invalid request: the body is not UTF-8, at byte {error.start}") from None
    except FileError as error:
        raise RequestError(str(error)) from None
    if not isinstance(value, dict):
        raise RequestError("Invalid request: the body is no JSON object")
    return value


def text_field(fields: dict[str, Any], name: str, default: str | None = None) -> str:
    """A field that is a text. Without a default it must be there."""
    value = fields.get(name, default)
    if value is None or (value == "" and default is None):
        raise RequestError(f"Invalid request: missing {name} parameter")
    if not isinstance(value, str):
        raise RequestError(f"Invalid request: {name} parameter is not a text")
    return value


def number_field(fields: dict[str, Any], name: str, default: int = 0) -> int:
    """A field that is a whole number, 0 or more."""
    value = fields.get(name, default)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RequestError(f"Invalid request: {name} parameter is not a whole number")
    return value


def file_field(fields: dict[str, Any], name: str) -> Upload:
    """A field that is an uploaded file."""
    value = fields.get(name)
    if not isinstance(value, Upload) or not value.name:
        raise RequestError(f"Invalid request: missing {name} parameter")
    return value


def check_text(text: str, name: str) -> None:
    """Refuse a text that no encoding can write."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise RequestError(f"Invalid request: {name} parameter is not valid Unicode") from None
    if "\ufffd" in text and name == "api_key":
        raise RequestError("Invalid request: api_key parameter is not UTF-8")
