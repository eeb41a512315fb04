"""OpenAI's completions API for language models: `/v1/completions`, whole or as a stream, and `/v1/models`.

Fields that OpenAI has and regard does not know are ignored. Those that would change the text, such as `frequency_penalty`, are refused
unless they have no effect.
"""

import asyncio
import json
import secrets
import time
import uuid
from collections.abc import AsyncIterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from regard.search.checks import LARGEST_TEMPERATURE
from regard.search.interruption import StopSignal
from regard.serve.admission import AdmittedRoute, service_of
from regard.serve.completing import Piece, Prompt, Wanted, choices
from regard.serve.errors import RequestError, body_of, message_of, status_of
from regard.serve.models import ServedModel
from regard.serve.service import Service, count
from regard.serve.typed import Text, refuse_surrogates

if TYPE_CHECKING:
    from regard.tasks.generate.writer import Writer

router = APIRouter(prefix="/v1", tags=["completions"], route_class=AdmittedRoute)

MOST_STOPS = 4
LONGEST_STOP = 200
"""Characters of a stop sequence: after each piece of text, every beginning of it is looked for."""
MOST_TOP = 5
"""The most probable tokens that are told of each place, as in OpenAI's API."""

Ids = list[Annotated[int, Field(ge=0)]]


class StreamOptions(BaseModel):
    """How a stream is told."""

    include_usage: bool = False
    """Whether a last part without choices has the usage."""


class CompletionRequest(BaseModel):
    """A request for completions."""

    model_config = ConfigDict(json_schema_extra={"additionalProperties": True})

    model: Text = Field(description="The name of a language model.")
    prompt: Text | list[Text] | Ids | list[Ids] = Field(description="A text or its tokens, or a list of them.")
    max_tokens: int = Field(default=16, ge=0, description="The longest continuation in tokens.")
    temperature: float = Field(default=1.0, ge=0, le=LARGEST_TEMPERATURE, description="0: the most probable tokens.")
    top_p: float = Field(default=1.0, ge=0, le=1, description="Only the likeliest tokens that make up p.")
    n: int = Field(default=1, ge=1, description="Continuations of each prompt.")
    logprobs: int | None = Field(default=None, ge=0, le=MOST_TOP, description="So many of the likeliest tokens, too.")
    echo: bool = Field(default=False, description="Whether the text begins with the prompt.")
    stop: Text | Annotated[list[Text], Field(max_length=MOST_STOPS)] | None = Field(
        default=None,
        description=f"Texts before which a continuation ends, each of at most {LONGEST_STOP} characters.",
    )
    stream: bool = Field(default=False, description="Whether the text is told while it is written.")
    stream_options: StreamOptions | None = None
    seed: int | None = Field(default=None, description="The random numbers; without it they differ each time.")
    best_of: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    suffix: Annotated[str, AfterValidator(refuse_surrogates)] | None = None

    def check_supported(self) -> None:
        """Refuse what would change the text and is not there."""
        neutral = {
            "best_of": self.best_of in (None, self.n),
            "frequency_penalty": not self.frequency_penalty,
            "presence_penalty": not self.presence_penalty,
            "logit_bias": not self.logit_bias,
            "suffix": not self.suffix,
        }
        for name, fine in neutral.items():
            if not fine:
                raise RequestError(f"{name} = {getattr(self, name)!r}: not supported here; leave it out")
        longest = max(map(len, self.stops), default=0)
        if longest > LONGEST_STOP:
            raise RequestError(f"stop: a text of {longest} characters; give at most {LONGEST_STOP} characters")
        if not self.max_tokens and not self.echo:
            raise RequestError("max_tokens = 0: nothing would be written; give 1 or more, or echo = true")

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop sequences."""
        given = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return tuple(stop for stop in given if stop)

    def wanted(self) -> Wanted:
        """The request for each choice. Without a seed there is a random one."""
        return Wanted(
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            stop=self.stops,
            echo=self.echo,
            logprobs=self.logprobs,
            seed=secrets.randbits(62) if self.seed is None else self.seed,
        )

    def prompts(self) -> list[str | list[int]]:
        """The prompts one by one."""
        given = self.prompt
        if isinstance(given, str):
            return [given]
        if given and isinstance(given[0], int):
            return [[one for one in given if isinstance(one, int)]]
        return [one for one in given if not isinstance(one, int)]


class Logprobs(BaseModel):
    """The tokens of a text."""

    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None]
    text_offset: list[int]


class CompletionChoice(BaseModel):
    """One continuation."""

    index: int
    text: str
    logprobs: Logprobs | None = None
    finish_reason: Literal["stop", "length"] | None


class Usage(BaseModel):
    """The tokens of prompts and continuations."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(BaseModel):
    """The answer to a `CompletionRequest`, or a part of it in a stream."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: Usage | None = None


class Model(BaseModel):
    """A model that is served."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "regard"
    task: str
    """What it does. Completions are of models to `generate`."""


class ModelList(BaseModel):
    """All models."""

    object: Literal["list"] = "list"
    data: list[Model]


@router.get("/models")
async def models(request: Request) -> ModelList:
    """The models of this server."""
    return ModelList(data=[_described(model) for model in service_of(request).models_of(request).all()])


@router.get("/models/{name}")
async def model(request: Request, name: str) -> Model:
    """One model."""
    return _described(service_of(request).models_of(request).named(name))


@router.post(
    "/completions",
    response_model=Completion,
    response_model_exclude_none=False,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def create_completion(request: Request, body: CompletionRequest) -> Any:
    """Continue prompts with a language model."""
    service = service_of(request)
    served = service.models_of(request).named(body.model)
    if served.task != "generate":
        raise RequestError(f"model {body.model!r} is a model to {served.task}; completions need one to generate")
    _check(service, body)
    count(request, texts=len(body.prompts()), characters=sum(map(len, body.prompts())))
    writing = _Writing(service, served, body, request)
    first = await writing.begin()
    if body.stream:
        return StreamingResponse(writing.events(first), media_type="text/event-stream")
    return await writing.whole(first)


class _Writing:
    """A completion while it is written: a worker thread writes, the event loop tells."""

    def __init__(self, service: Service, model: ServedModel, body: CompletionRequest, request: Request) -> None:
        self._service, self._model, self._body, self._request = service, model, body, request
        self._id, self._created = f"cmpl-{uuid.uuid4().hex}", int(time.time())
        self._loop = asyncio.get_running_loop()
        self._pieces: asyncio.Queue[Piece | None] = asyncio.Queue()
        self._prompt_tokens = self._completion_tokens = 0
        self._work: asyncio.Task[None] | None = None

    async def begin(self) -> Piece:
        """Start, and wait for the first piece: until then an error is an answer of its own."""
        self._work = asyncio.ensure_future(self._service.run(self._model, self._write, request=self._request))
        self._work.add_done_callback(lambda _: self._pieces.put_nowait(None))
        first = await self._next()
        assert first is not None, "there is a prompt, and each choice has a last piece"
        return first

    async def whole(self, first: Piece) -> Completion:
        """The answer when everything is written."""
        parts: dict[int, list[Piece]] = {}
        piece: Piece | None = first
        while piece is not None:
            parts.setdefault(piece.index, []).append(piece)
            piece = await self._next()
        return self._completion([_joined(own) for _, own in sorted(parts.items())], self._usage())

    async def events(self, first: Piece) -> AsyncIterator[str]:
        """The answer as server-sent events. If the client goes away, the generator is closed and the work is stopped."""
        assert self._work is not None
        options = self._body.stream_options or StreamOptions()
        try:
            piece: Piece | None = first
            while piece is not None:
                yield _event(self._completion([_joined([piece])]))
                piece = await self._next()
            if options.include_usage:
                yield _event(self._completion([], self._usage()))
            yield "data: [DONE]\n\n"
        except Exception as error:  # the status has been sent: the client finds it in the stream
            status = status_of(error)
            yield f"data: {json.dumps(body_of('/v1/', status, message_of(error)))}\n\n"
        finally:
            self._work.cancel()

    async def _next(self) -> Piece | None:
        """The next piece; None: there is none any more. An error of the work is raised."""
        assert self._work is not None
        try:
            piece = await self._pieces.get()
        except asyncio.CancelledError:
            self._work.cancel()
            raise
        if piece is None:
            await self._work
        return piece

    def _write(self, writer: "Writer", stopped: StopSignal) -> None:
        """Write all choices, in a worker thread."""
        prompts = []
        for given in self._body.prompts():
            if isinstance(given, str):
                prompts.append(Prompt(given, writer.prompt_ids(given)))
            else:
                writer.check_prompt(given)
                prompts.append(Prompt(writer.text(given), given))
        self._prompt_tokens = sum(len(prompt.ids) for prompt in prompts)
        for piece in choices(writer, prompts, self._body.n, self._body.wanted(), stopped):
            self._completion_tokens += piece.tokens
            self._loop.call_soon_threadsafe(self._pieces.put_nowait, piece)

    def _usage(self) -> Usage:
        return Usage(
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
            total_tokens=self._prompt_tokens + self._completion_tokens,
        )

    def _completion(self, choices: list[CompletionChoice], usage: Usage | None = None) -> Completion:
        return Completion(id=self._id, created=self._created, model=self._body.model, choices=choices, usage=usage)


def _check(service: Service, body: CompletionRequest) -> None:
    """Refuse what is not supported, and what is beyond the limits of the server."""
    body.check_supported()
    prompts = body.prompts()
    if not prompts:
        raise RequestError("prompt = []: give a text, or a list of texts")
    service.check_texts([prompt if isinstance(prompt, str) else " " * len(prompt) for prompt in prompts])
    limits = service.settings.limits
    if body.max_tokens > limits.max_length:
        raise RequestError(f"max_tokens = {body.max_tokens}: this server allows at most {limits.max_length}")
    if body.n > limits.beam:
        raise RequestError(f"n = {body.n}: this server allows at most {limits.beam}")
    if body.n * len(prompts) > limits.batch_texts:
        raise RequestError(
            f"n = {body.n} for each of {len(prompts)} prompts: this server writes at most {limits.batch_texts} texts at once"
        )


def _joined(pieces: list[Piece]) -> CompletionChoice:
    """One choice of the pieces of its text."""
    told = [piece.logprobs for piece in pieces if piece.logprobs is not None]
    names = ("tokens", "token_logprobs", "top_logprobs", "text_offset")
    logprobs = {name: [value for part in told for value in part[name]] for name in names} if told else None
    return CompletionChoice(
        index=pieces[0].index,
        text="".join(piece.text for piece in pieces),
        logprobs=None if logprobs is None else Logprobs.model_validate(logprobs),
        finish_reason=pieces[-1].finish,
    )


def _event(completion: Completion) -> str:
    return f"data: {completion.model_dump_json()}\n\n"


def _described(model: ServedModel) -> Model:
    made = datetime.fromisoformat(model.served.bundle.config.created)
    return Model(id=model.name, created=int(made.timestamp()), task=model.task)
