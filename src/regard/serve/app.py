"""`make_app`: the FastAPI application around a `Service`. The list of its routers is here."""

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from regard.serve import (
    completions,
    docs_page,
    files,
    libretranslate,
    operations,
    pages,
    regard_api,
    studio,
    words,
)
from regard.serve.errors import answer_errors
from regard.serve.guard import Guard
from regard.serve.service import Service

ROUTERS = (
    libretranslate.router,
    files.router,
    completions.router,
    regard_api.router,
    operations.router,
    docs_page.router,
    words.router,
    pages.router,
    studio.router,
)
"""The routes of all APIs and pages. They find the service at `request.app.state.service`."""


def make_app(service: Service) -> FastAPI:
    """The application of a service."""
    app = FastAPI(title="regard", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.service = service
    for router in ROUTERS:
        app.include_router(router)
    answer_errors(app)
    if service.settings.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(service.settings.cors),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
            allow_credentials=False,
        )
    app.add_middleware(Guard, service=service)
    return app
