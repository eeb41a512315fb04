"""regard's own API, `/v1/regard/*`: every task as typed JSON. What a request may have stands in `typed.py`; answers are the tasks' records.

Translations go through the queue, as those of `/translate`. Other work has a worker thread.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import JSONResponse
from pydantic import ValidationError

from regard.search.interruption import SearchStopped, StopSignal
from regard.search.options import SearchKeywords, SearchOptions
from regard.serve.admission import AdmittedRoute, service_of
from regard.serve.answers import (
    CAPTIONS,
    CLASSIFICATIONS,
    FILLINGS,
    FORECASTS,
    GENERATIONS,
    PICTURE_CLASSIFICATIONS,
    TAGGINGS,
    TRANSLATIONS,
    Descriptions,
    Explained,
    ServedDescription,
)
from regard.serve.errors import NotFoundError, RequestError
from regard.serve.explaining import explained
from regard.serve.models import ServedModel
from regard.serve.records import plain
from regard.serve.served_terms import terms_of_request
from regard.serve.service import Service, count, terms_of_steps
from regard.serve.typed import (
    CaptionBody,
    ClassifyBody,
    ExplainBody,
    FillBody,
    ForecastBody,
    GenerateBody,
    TextBody,
    TranslateBody,
    decoded,
    files_of,
)
from regard.tasks.generate.writing_options import writing_options
from regard.tasks.translate.translation import Translation

Item = TypeVar("Item")

router = APIRouter(prefix="/v1/regard", tags=["regard"], route_class=AdmittedRoute)

AT_ONCE = 16
"""Inputs of one call of a model that looks at no stop signal, and answers that are made into JSON at a time."""
TAGS = "tag"
"""What `task_of` says of a tagger, whose task is to classify."""


def answers(model: Any) -> dict[int | str, dict[str, Any]]:
    """The schema of a route's answer."""
    return {200: {"model": model}}


@router.get("/models")
async def models(request: Request) -> Descriptions:
    """The models of this server."""
    return Descriptions(models=[_described(model) for model in service_of(request).models_of(request).all()])


@router.post("/translate", responses=answers(TRANSLATIONS))
async def translate(request: Request, body: TranslateBody) -> JSONResponse:
    """Translate texts, with any search: n-best lists, prefixes, phrases, word alignment."""
    service = service_of(request)
    service.check_texts(body.texts)
    for name, given in (("prefixes", body.prefixes), ("phrases", body.phrases)):
        if given is not None and len(given) != len(body.texts):
            raise RequestError(f"{name}: {len(given)} for {len(body.texts)} texts; give one for each")
    options = _options(service, _beside_defaults(service, body.keywords()))
    terms = terms_of_request(body.glossary, body.protect, service.settings.limits)
    model = None if body.model is None else _named(service, request, "translate", body.model)
    source, target = _direction(service, request, body, model)
    if model is None:
        steps = service.route(source, target, request).steps
        translations = await service.translate(
            body.texts, source, target, options, request, prefixes=body.prefixes, phrases=body.phrases, terms=terms
        )
        model, pivots = steps[-1].model, len(steps) > 1
    else:
        count(request, texts=len(body.texts), characters=sum(map(len, body.texts)), model=model.name)
        step = service.models_of(request).step(model.name, source, target)
        pivots = False
        [step_terms] = await terms_of_steps([step], terms, body.texts)
        work = service.batcher.translate(
            step.translator,
            body.texts,
            options,
            prefixes=body.prefixes,
            phrases=body.phrases,
            terms=step_terms,
        )
        translations = await service.while_wanted(work, request)
    if body.alignment and pivots:
        raise RequestError(f"alignment: {source} to {target} goes through another language; leave it out")

    if body.alignment:  # which is computed when it is looked at, so in a thread
        return await _each(service, request, model, "translations", lambda *_: translations, _alignment)
    count(request, model=model.name)
    records = []
    for some in _sliced(translations, AT_ONCE):
        records += [plain(one, lambda _: {"alignment": None}) for one in some]
        await asyncio.sleep(0)  # others have their turn
    return JSONResponse({"translations": records})


def _alignment(translation: Translation) -> dict[str, Any]:
    return {"alignment": translation.alignment}


@router.post("/generate", responses=answers(GENERATIONS))
async def generate(request: Request, body: GenerateBody) -> JSONResponse:
    """Continue prompts with a language model. By default the text is drawn."""
    service = service_of(request)
    service.check_texts(body.prompts)
    model = _named(service, request, "generate", body.model)
    options = service.check_options(writing_options(body.keywords()))
    return await _each(
        service,
        request,
        model,
        "generations",
        lambda writer, stopped: writer.write(body.prompts, options, stopped),
    )


@router.post("/classify", responses=answers(CLASSIFICATIONS | PICTURE_CLASSIFICATIONS))
async def classify(request: Request, body: ClassifyBody) -> JSONResponse:
    """Label texts, or pictures."""
    service = service_of(request)
    if (body.texts is None) == (body.pictures is None):
        raise RequestError("give texts or pictures")
    if body.texts is None:
        return await _classified_pictures(service, request, body.model, files_of(body.pictures or []))
    texts = body.texts
    service.check_texts(texts)
    model = _named(service, request, "classify", body.model)
    return await _each(
        service, request, model, "classifications", _in_slices(texts, lambda served, some: served.classify(some))
    )


@router.post("/classify_file", responses=answers(PICTURE_CLASSIFICATIONS))
async def classify_file(
    request: Request, picture: Annotated[UploadFile, File()], model: Annotated[str | None, Form()] = None
) -> JSONResponse:
    """Label a picture: a PNG or JPEG file in a multipart form."""
    return await _classified_pictures(service_of(request), request, model, [await picture.read()])


@router.post("/tag", responses=answers(TAGGINGS))
async def tag(request: Request, body: TextBody) -> JSONResponse:
    """Label the words of texts."""
    service = service_of(request)
    service.check_texts(body.texts)
    model = _named(service, request, TAGS, body.model)
    work = _in_slices(body.texts, lambda tagger, some: tagger.classify(some))
    return await _each(service, request, model, "taggings", work)


@router.post("/caption", responses=answers(CAPTIONS))
async def caption(request: Request, body: CaptionBody) -> JSONResponse:
    """Describe pictures."""
    return await _captioned(request, body, files_of(body.pictures))


@router.post("/caption_file", responses=answers(CAPTIONS))
async def caption_file(
    request: Request,
    picture: Annotated[UploadFile, File()],
    model: Annotated[str | None, Form()] = None,
    options: Annotated[str, Form(description="The options of the search as JSON.")] = "{}",
    looks: Annotated[bool, Form()] = False,
) -> JSONResponse:
    """Describe a picture: a PNG or JPEG file in a multipart form."""
    try:
        given = f'{{"options": {options}, "pictures": []}}'
        body = CaptionBody.model_validate_json(given).model_copy(update={"model": model, "looks": looks})
    except ValidationError as error:
        raise RequestError(f"Invalid request: options: {error.errors()[0]['msg']}") from None
    return await _captioned(request, body, [await picture.read()])


@router.post("/forecast", responses=answers(FORECASTS))
async def forecast(request: Request, body: ForecastBody) -> JSONResponse:
    """Continue series of numbers."""
    service = service_of(request)
    service.check_count(len(body.series), "series")
    model = _named(service, request, "forecast", body.model)

    def work(forecaster: Any, stopped: StopSignal) -> list[Any]:
        table = forecaster.table_of(body.series)
        forecasts = _in_slices(
            table.series, lambda forecaster, some: forecaster.forecast(replace(table, series=tuple(some)))
        )
        return forecasts(forecaster, stopped)

    return await _each(service, request, model, "forecasts", work)


@router.post("/fill", responses=answers(FILLINGS))
async def fill(request: Request, body: FillBody) -> JSONResponse:
    """Fill the gaps of texts."""
    service = service_of(request)
    service.check_texts(body.texts)
    model = _named(service, request, "pretrain", body.model)
    _options(service, {"beam": body.beam})

    def work(filler: Any, stopped: StopSignal) -> list[Any]:
        filler.read(body.texts)  # refuses a gap by the number of its text among all
        fillings = _in_slices(body.texts, lambda filler, some: filler.fill(some, nbest=body.nbest, beam=body.beam))
        return fillings(filler, stopped)

    return await _each(service, request, model, "fillings", work)


@router.post("/explain", responses=answers(Explained))
async def explain(request: Request, body: ExplainBody) -> JSONResponse:
    """Explain one input, as `regard explain` does."""
    service = service_of(request)
    every = service.models_of(request).all()
    if body.model is None and len(every) > 1:
        raise RequestError(f"model: there are {_listed(every)}; name one")
    model = every[0] if body.model is None else service.models_of(request).named(body.model)
    if body.beam is not None:
        _options(service, {"beam": body.beam})
    data = await service.run(model, lambda served, _: explained(model, served, body), request=request)
    return JSONResponse(data)


def task_of(model: ServedModel) -> str:
    """The task of a model, where a tagger has its own."""
    return TAGS if getattr(model.served.bundle.config, "labels_of", "text") == "token" else model.task


def _described(model: ServedModel) -> ServedDescription:
    return ServedDescription(
        name=model.name,
        task=model.task,
        languages=list(model.languages),
        labels=list(getattr(model.served, "labels", ())),
        tags_words=task_of(model) == TAGS,
        kind=model.served.bundle.config.model.kind,
    )


def _named(service: Service, request: Request, task: str, name: str | None) -> ServedModel:
    """The model of a name, or the only one of a task. Refuses one of another task."""
    models = service.models_of(request)
    if name is not None:
        model = models.named(name)
        if task_of(model) != task:
            raise RequestError(f"model {shown_name(name)}: its task is to {task_of(model)}, not to {task}")
        return model
    fitting = [model for model in models.all() if task_of(model) == task]
    if not fitting:
        raise NotFoundError(f"no model to {task}; there are {_listed(models.all())}")
    if len(fitting) > 1:
        raise RequestError(f"model: there are {_listed(fitting)} to {task}; name one")
    return fitting[0]


def shown_name(name: str) -> str:
    """A model's name in a message."""
    return repr(name)


def _listed(models: Sequence[ServedModel]) -> str:
    return ", ".join(model.name for model in models)


def _direction(service: Service, request: Request, body: TranslateBody, model: ServedModel | None) -> tuple[str, str]:
    """The languages of a request. What it leaves out is clear if there is only one."""
    known = (
        list(model.languages)
        if model is not None
        else [(source, target) for source, targets in service.models_of(request).sources.items() for target in targets]
    )
    fitting = [
        (source, target) for source, target in known if body.source in (None, source) and body.target in (None, target)
    ]
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(f"{source} to {target}" for source, target in fitting or known)
    if not known:
        raise NotFoundError("no model to translate")
    if fitting:
        raise RequestError(f"source and target: there are {listed}; give both")
    raise RequestError(f"{body.source or 'any language'} to {body.target or 'any language'}: there are {listed}")


def _beside_defaults(service: Service, given: SearchKeywords) -> SearchKeywords:
    """The options of a translation: those of `/translate`, but for what was given."""
    usual = service.settings.search(min(given.get("nbest", 1), service.settings.limits.beam) - 1)
    searches: SearchKeywords = {"beam": usual.beam, "alpha": usual.alpha}
    return {**searches, **given}


def _options(service: Service, keywords: SearchKeywords) -> SearchOptions:
    """The options of a search, within the limits of the server."""
    return service.check_options(SearchOptions.of(keywords))


async def _each(
    service: Service,
    request: Request,
    model: ServedModel,
    name: str,
    work: Callable[[Any, StopSignal], Sequence[Any]],
    extra: Callable[[Any], dict[str, Any]] | None = None,
) -> JSONResponse:
    """The records that some work in a worker thread returns, as `{name: [..]}`."""

    def told(served: Any, stopped: StopSignal) -> list[dict[str, Any]]:
        records = []
        for record in work(served, stopped):
            if stopped():
                raise SearchStopped
            records.append(plain(record, extra))
        return records

    return JSONResponse({name: await service.run(model, told, request=request)})


def _in_slices(
    inputs: Sequence[Item], work: Callable[[Any, Sequence[Item]], Sequence[Any]]
) -> Callable[[Any, StopSignal], list[Any]]:
    """The work on all inputs, a few at a time, until nobody wants it any more."""

    def whole(served: Any, stopped: StopSignal) -> list[Any]:
        records: list[Any] = []
        for some in _sliced(inputs, AT_ONCE):
            if stopped():
                raise SearchStopped
            records += work(served, some)
        return records

    return whole


def _sliced(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))


async def _classified_pictures(
    service: Service, request: Request, name: str | None, files: Sequence[bytes]
) -> JSONResponse:
    service.check_count(len(files), "pictures")
    model = _named(service, request, "classify_images", name)

    def work(classifier: Any, stopped: StopSignal) -> list[Any]:
        return [
            one
            for number, content in enumerate(files)
            for one in classifier.classify([_picture(content, number, stopped)])
        ]

    return await _each(service, request, model, "classifications", work)


async def _captioned(request: Request, body: CaptionBody, files: Sequence[bytes]) -> JSONResponse:
    service = service_of(request)
    service.check_count(len(files), "pictures")
    model = _named(service, request, "caption", body.model)
    options = _options(service, body.keywords())

    def work(captioner: Any, stopped: StopSignal) -> list[dict[str, Any]]:
        pictures = [
            captioner.read_one(_picture(content, number, stopped), f"pictures[{number}]")
            for number, content in enumerate(files)
        ]
        captions = captioner.search(pictures, options, prefixes=body.prefixes, phrases=body.phrases, stopped=stopped)
        texts = [one.text for one in captions]
        looks = captioner.look(pictures, texts) if body.looks else [None] * len(captions)
        return [
            {**plain(one, lambda _: {"looks": None}), "looks": None if look is None else plain(look)}
            for one, look in zip(captions, looks, strict=True)
        ]

    return JSONResponse({"captions": await service.run(model, work, request=request)})


def _picture(content: bytes, number: int, stopped: StopSignal) -> Any:
    """A picture of a request, unless nobody wants it any more."""
    if stopped():
        raise SearchStopped
    return decoded(content, f"pictures[{number}]")
