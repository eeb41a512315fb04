"""Routes for those who run the server: `/health`, `/metrics`, `/frontend/settings`, `/spec`."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from regard.interop.languages import language_name
from regard.serve import served_terms
from regard.serve.admission import admit, service_of
from regard.serve.errors import NotFoundError
from regard.serve.queued_documents import suffixes

router = APIRouter()


@router.get("/health")
async def health(request: Request) -> JSONResponse:
    """Whether the models are loaded and the server is not stopping."""
    state = service_of(request).state
    if state == "ready":
        return JSONResponse({"status": "ok"})
    return JSONResponse({"status": state}, 503, {"Retry-After": "5"})


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Numbers for Prometheus. Where requests need a key, this one needs it too."""
    service = service_of(request)
    if not service.settings.metrics:
        raise NotFoundError("there are no metrics; start the server with metrics = true")
    if service.keys.needed:
        admit(request)
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/frontend/settings")
async def frontend_settings(request: Request) -> dict[str, Any]:
    """The settings that a page of LibreTranslate asks for at its start."""
    service = service_of(request)
    sources = service.models_of(request).sources
    source = next(iter(sources), "en")
    target = sources.get(source, ["en"])[0]
    return {
        "apiKeys": service.keys.needed,
        "batchLimit": service.settings.limits.batch_texts,
        "charLimit": service.settings.limits.characters,
        "filesTranslation": bool(sources),
        "frontendTimeout": 500,
        "glossaryCharacters": served_terms.LONGEST,
        "glossaryForms": served_terms.MOST_FORMS,
        "glossaryLimit": service.settings.limits.glossary,
        "keyRequired": service.keys.needed,
        "language": {
            "source": {"code": source, "name": language_name(source)},
            "target": {"code": target, "name": language_name(target)},
        },
        "suggestions": service.suggestions.accepted,
        "supportedFilesFormat": suffixes(),
    }


@router.get("/spec")
async def spec(request: Request) -> dict[str, Any]:
    """The OpenAPI description of all routes."""
    description: dict[str, Any] = request.app.openapi()
    return description
