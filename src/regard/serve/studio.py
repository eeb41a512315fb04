"""The routes of the studio: its models, a search that is watched step by step, the explanation behind the views, the offline page.

| route | answer |
| --- | --- |
| `GET /studio/models` | the models that the studio shows, and the limits |
| `POST /studio/watch` | events: `step` for each step of a search, `done`, or `refused` with a message |
| `POST /studio/explain` | the explanation, as the modules of the page read it |
| `POST /studio/save` | the offline page of the state |
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse

from regard.explain.document import to_json_types
from regard.search.interruption import StopSignal
from regard.serve.admission import AdmittedRoute, service_of
from regard.serve.errors import RequestError, message_of
from regard.serve.models import ServedModel
from regard.serve.studio_state import StudioState

if TYPE_CHECKING:
    from regard.serve.studio_tasks import StudioTask

Event = tuple[str, str]  # its name, and its value as JSON
EVENT_HEADERS = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}  # the second: a proxy passes each event on at once

router = APIRouter(prefix="/studio", include_in_schema=False, route_class=AdmittedRoute)


@router.get("/models")
async def models(request: Request) -> dict[str, Any]:
    """The models that the studio shows."""
    service, tasks = service_of(request), studio_tasks()
    limits = service.settings.limits
    return {
        "models": [_facts(model) for model in service.models_of(request).all() if model.task in tasks],
        "limits": {"beam": limits.beam},
    }


@router.post("/watch")
async def watch(state: StudioState, request: Request) -> Response:
    """The events of a search. What is wrong with the request itself is an ordinary error."""
    model, task = _chosen(request, state)
    if task.watch is None:
        raise RequestError(f"a model to {model.task} has no steps to watch; ask for its explanation")
    watched = task.watch
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[Event | None]()

    def tell(name: str, value: Any) -> None:
        event = (name, json.dumps(to_json_types(value), ensure_ascii=False, allow_nan=False))
        loop.call_soon_threadsafe(queue.put_nowait, event)

    def work(served: Any, stopped: StopSignal) -> None:
        watched(served, state, tell, stopped)

    running = asyncio.ensure_future(
        service_of(request).run(model, work)
    )  # without the request: its stream sees that the client is gone
    running.add_done_callback(lambda _: queue.put_nowait(None))
    first = await queue.get()
    if first is None:
        running.result()  # raises what went wrong before the first step
    return StreamingResponse(_lines(first, queue, running), media_type="text/event-stream", headers=EVENT_HEADERS)


async def _lines(
    first: Event | None, queue: "asyncio.Queue[Event | None]", work: "asyncio.Future[None]"
) -> AsyncIterator[str]:
    """The events as server-sent events. A reader that goes away ends the work between two steps."""
    event = first
    try:
        while event is not None:
            name, data = event
            yield f"event: {name}\ndata: {data}\n\n"
            event = await queue.get()
        error = work.exception()
        if error is not None:
            yield f"event: refused\ndata: {json.dumps({'message': message_of(error)})}\n\n"
    finally:
        work.cancel()


@router.post("/explain")
async def explain(state: StudioState, request: Request) -> Response:
    """The explanation of a state."""
    model, task = _chosen(request, state)

    def work(served: Any, stopped: StopSignal) -> str:
        data = task.data([task.explain(served, state, model.name)])
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    return Response(await service_of(request).run(model, work, request=request), media_type="application/json")


@router.post("/save")
async def save(state: StudioState, request: Request) -> HTMLResponse:
    """The offline page of a state, which loads nothing from elsewhere."""
    model, task = _chosen(request, state)

    def work(served: Any, stopped: StopSignal) -> str:
        explanations = (
            [task.explain(served, state, model.name)] if task.whole is None else task.whole(served, state, model.name)
        )
        return task.page(explanations)

    page = await service_of(request).run(model, work, request=request)
    return HTMLResponse(page, headers={"Content-Disposition": 'attachment; filename="explanation.html"'})


def studio_tasks() -> "Mapping[str, StudioTask]":
    """The studio's functions for each task. It needs torch, and the server may have none."""
    from regard.serve.studio_tasks import STUDIO

    return STUDIO


def _chosen(request: Request, state: StudioState) -> "tuple[ServedModel, StudioTask]":
    """The model of a state, and what the studio does with it. Refuses what is beyond the limits of the server."""
    service, tasks = service_of(request), studio_tasks()
    model = service.models_of(request).named(state.model)
    if model.task not in tasks:
        raise RequestError(f"the studio does not show models to {model.task}; there is {', '.join(tasks)}")
    most = service.settings.limits.beam
    for name, value in (("beam", state.beam), ("samples", state.samples)):
        if value > most:
            raise RequestError(f"{name} = {value}: this server allows at most {most}")
    service.check_texts([state.text, state.prefix, state.said or ""])
    return model, tasks[model.task]


def _facts(model: ServedModel) -> dict[str, Any]:
    """The facts of a model that the page needs before its first question."""
    return {
        "name": model.name,
        "task": model.task,
        "languages": model.languages,
        "several": bool(model.task == "translate" and model.served.directions.seen),
        "watched": studio_tasks()[model.task].watch is not None,
    }
