"""LibreTranslate's routes for files: `/translate_file` and `/download_file/..`."""

import asyncio
from pathlib import PurePosixPath
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response

from regard.serve.admission import admitted_fields, service_of
from regard.serve.body import file_field, text_field
from regard.serve.descriptions import FILE_BODY
from regard.serve.queued_documents import format_of_name, translated_documents
from regard.serve.served_terms import terms_of_request

router = APIRouter()

_LONGEST_NAME = 100


@router.post("/translate_file", openapi_extra=FILE_BODY)
async def translate_file(request: Request) -> dict[str, str]:
    """Translate a file. The answer has the address of the translated one, which is kept for a limited time."""
    service, fields = service_of(request), await admitted_fields(request)
    file = file_field(fields, "file")
    source, target = text_field(fields, "source"), text_field(fields, "target")
    terms = terms_of_request(fields.get("glossary"), fields.get("protect"), service.settings.limits)
    name = PurePosixPath(file.name.replace("\\", "/"))  # its path is the client's; only its last part is shown again
    form = format_of_name(name.name)
    [[translated]] = await translated_documents(
        service,
        request,
        [file.content],
        form,
        (source, target),
        service.settings.search(),
        terms=terms,
        seconds=service.settings.limits.file_seconds,
    )
    suffix = name.suffix.lower()  # one of the format's own
    kept = service.files.add(translated, suffix, f"{name.stem[:_LONGEST_NAME]}.{target}{suffix}")
    asyncio.get_running_loop().call_later(service.settings.storage.seconds + 1, service.files.remove_expired)
    return {"translatedFileUrl": f"{str(request.base_url).rstrip('/')}/download_file/{kept}"}


@router.get("/download_file/{name}", response_class=Response)
async def download_file(request: Request, name: str) -> Response:
    """A translated file. Its name is its key: nobody guesses it."""
    content, shown_name = service_of(request).files.read(name)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(shown_name, safe='')}",
        "Cache-Control": "no-store",
    }
    return Response(content, media_type="application/octet-stream", headers=headers)
