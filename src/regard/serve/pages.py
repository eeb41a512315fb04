"""The pages `/` and `/studio`, and the files that they load: modules, styles and pictures of this package, and nothing else.

The names are fixed by what is installed, so no request chooses a path. The policy of the guard (`PAGE_POLICY`) holds: no inline script or
style, no frame, no form, nothing from elsewhere.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from fastapi import APIRouter, Request, Response

from regard.serve.errors import NotFoundError
from regard.serve.guard import PAGE_POLICY

HEADERS = {
    "Cache-Control": "no-cache",  # a browser asks each time whether its copy is still the file
    "Content-Security-Policy": PAGE_POLICY,  # of a 304 too: a browser takes its headers for those of its copy
}
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
FOLDERS = {"": "regard.serve", "explain/": "regard.explain"}
"""Beginning of a name below `/page/` -> the room whose folder `page` has the file. Modules of `explain` draw the offline pages too."""

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class PageFile:
    """A file of the pages."""

    content: bytes
    kind: str
    tag: str
    """The ETag: a hash of the content."""


@cache
def page_files() -> dict[str, PageFile]:
    """Every file of the pages by the name below `/page/`."""
    files = {}
    for beginning, room in FOLDERS.items():
        for file in resources.files(room).joinpath("page").iterdir():
            ending = file.name.rpartition(".")[2]
            if ending in TYPES and not (
                beginning and ending == "html"
            ):  # the frame of the offline pages is none of a server
                content = file.read_bytes()
                tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
                files[f"{beginning}{file.name}"] = PageFile(content, TYPES[ending], tag)
    return files


def file_response(name: str, request: Request) -> Response:
    """A file; only its tag, if the client has it already."""
    file = page_files().get(name)
    if file is None:
        raise NotFoundError(f"there is no file {name!r} of the page")
    headers = {**HEADERS, "ETag": file.tag}
    held = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if file.tag in held:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.kind, headers=headers)


@router.api_route("/", methods=["GET", "HEAD"])
async def translate_page(request: Request) -> Response:
    """The page that translates as you type."""
    return file_response("index.html", request)


@router.api_route("/studio", methods=["GET", "HEAD"])
async def studio_page(request: Request) -> Response:
    """The studio."""
    return file_response("studio.html", request)


@router.api_route("/page/{name:path}", methods=["GET", "HEAD"])
async def page_file(name: str, request: Request) -> Response:
    """A module, a style or a picture of the pages."""
    return file_response(name, request)
