"""`POST /page/links`: which words of a text and of its translation belong together, for a page whose reader points at one.

The translation is given: it may be another than the model's best.
"""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import Field

from regard.search.interruption import StopSignal
from regard.serve.admission import AdmittedRoute, service_of
from regard.serve.typed import Body, Text

CHARACTERS = 2_000
"""Of each side."""

router = APIRouter(prefix="/page", include_in_schema=False, route_class=AdmittedRoute)


class LinksBody(Body):
    """A sentence and its translation."""

    text: Text = Field(max_length=CHARACTERS)
    translation: Text = Field(max_length=CHARACTERS)
    source: Text
    target: Text


@router.post("/links")
async def links(body: LinksBody, request: Request) -> dict[str, Any]:
    """The words of both, and the links as [source word, target word], counted from 0. Through a third language there are none."""
    service = service_of(request)
    [*others, step] = service.route(body.source, body.target, request).steps
    if others or not step.translator.aligns:
        return {"source_words": [], "target_words": [], "links": []}

    def align(_: Any, stopped: StopSignal) -> dict[str, Any]:
        [found] = step.translator.align([body.text], [body.translation])
        return {"source_words": found.source_words, "target_words": found.target_words, "links": found.links}

    return await service.run(step.model, align, request=request)
