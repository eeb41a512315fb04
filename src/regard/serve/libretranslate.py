"""LibreTranslate's routes: `/translate`, `/languages` and `/detect`, with its bodies, errors and codes."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from regard.documents.formats import format_of
from regard.interop.languages import language_name
from regard.serve.admission import admitted_fields, service_of
from regard.serve.body import check_text, number_field, text_field
from regard.serve.descriptions import DETECT_BODY, SUGGEST_BODY, TRANSLATE_BODY
from regard.serve.detection import detect
from regard.serve.errors import ForbiddenError, RequestError
from regard.serve.pieces import Pieces, pieces_of
from regard.serve.queued_documents import translated_documents
from regard.serve.served_terms import RequestTerms, terms_of_request
from regard.serve.service import Service, count
from regard.tasks.translate.translation import Translation

router = APIRouter()

SPLIT_AT_ONCE = 2000
"""Characters that are split into sentences in the event loop: a thread for them takes longer than the work."""


@router.post("/translate", openapi_extra=TRANSLATE_BODY)
async def translate(request: Request) -> JSONResponse:
    """Translate a text, or a list of texts."""
    service, fields = service_of(request), await admitted_fields(request)
    texts, is_list = texts_of(fields)
    source, target = text_field(fields, "source"), text_field(fields, "target")
    form = text_field(fields, "format", "text") or "text"
    if form not in ("text", "html"):
        raise RequestError(f"{form} format is not supported")
    alternatives = min(number_field(fields, "alternatives"), service.settings.limits.alternatives)
    service.check_texts(texts)
    terms = terms_of_request(fields.get("glossary"), fields.get("protect"), service.settings.limits)
    if service.settings.log_texts:
        count(request, q=texts)
    models = service.models_of(request)
    answer: dict[str, Any] = {}
    sources = [source] * len(texts)
    if source == "auto":
        detected = [own[0] for own in await run_in_threadpool(detect, texts, models)]
        sources = [language for language, _ in detected]
        languages = [{"confidence": round(100 * share, 1), "language": language} for language, share in detected]
        answer["detectedLanguage"] = languages if is_list else languages[0]
    way = translated_html if form == "html" else translated_texts
    found = await way(service, texts, sources, target, alternatives, request, terms)
    answer["translatedText"] = [own[0] for own in found] if is_list else found[0][0]
    if alternatives:
        answer["alternatives"] = [own[1:] for own in found] if is_list else found[0][1:]
    return JSONResponse(answer)  # which FastAPI need not look through again


@router.get("/languages")
async def languages(request: Request) -> list[dict[str, Any]]:
    """The languages, and what each can be translated to."""
    sources = service_of(request).models_of(request).sources
    return [{"code": source, "name": language_name(source), "targets": targets} for source, targets in sources.items()]


@router.post("/detect", openapi_extra=DETECT_BODY)
async def detect_language(request: Request) -> list[dict[str, Any]]:
    """The language of a text."""
    service, fields = service_of(request), await admitted_fields(request)
    texts, _ = texts_of(fields)
    service.check_texts(texts)
    [found] = await run_in_threadpool(detect, texts[:1], service.models_of(request))
    return [{"confidence": round(100 * share, 1), "language": language} for language, share in found]


@router.post("/suggest", openapi_extra=SUGGEST_BODY)
async def suggest(request: Request) -> dict[str, bool]:
    """Keep a better translation of a text."""
    service = service_of(request)
    if not service.suggestions.accepted:
        raise ForbiddenError("Suggestions are disabled on this server.")
    fields = await admitted_fields(request)
    check_origin(request)
    text, better = text_field(fields, "q"), text_field(fields, "s")
    source, target = text_field(fields, "source"), text_field(fields, "target")
    service.check_texts([text, better])
    service.route(source, target, request)  # of unknown languages nothing is kept
    service.suggestions.add(source, target, text, better)
    return {"success": True}


async def translated_texts(
    service: Service,
    texts: Sequence[str],
    sources: Sequence[str],
    target: str,
    alternatives: int,
    request: Request,
    terms: RequestTerms | None = None,
) -> list[list[str]]:
    """The translation of each text from its own language, and its alternatives."""
    found: dict[int, list[str]] = {}
    options = service.settings.search(alternatives)

    def split() -> list[Pieces]:
        return [pieces_of(text, source, target) for text, source in zip(texts, sources, strict=True)]

    short = sum(map(len, texts)) <= SPLIT_AT_ONCE
    pieces = split() if short else await run_in_threadpool(split)  # a second for a long text of short lines
    for source in dict.fromkeys(sources):
        places = [place for place, own in enumerate(sources) if own == source]
        if source == target:
            found |= {place: [texts[place]] for place in places}
            continue
        sentences = [text for place in places for text in pieces[place].texts]
        results = iter(await service.translate(sentences, source, target, options, request, terms=terms))
        for place in places:
            own = [next(results) for _ in pieces[place].texts]
            found[place] = joined_ranks(pieces[place], own, alternatives)
    return [found[place] for place in range(len(texts))]


async def translated_html(
    service: Service,
    texts: Sequence[str],
    sources: Sequence[str],
    target: str,
    alternatives: int,
    request: Request,
    terms: RequestTerms | None = None,
) -> list[list[str]]:
    """`translated_texts` of fragments of HTML: tags are put back by word alignment."""
    found: dict[int, list[str]] = {}
    options = service.settings.search(alternatives)
    for source in dict.fromkeys(sources):
        places = [place for place, own in enumerate(sources) if own == source]
        contents = [texts[place].encode("utf-8") for place in places]
        html = format_of("html")
        ranks = await translated_documents(service, request, contents, html, (source, target), options, terms=terms)
        found |= {place: [rank.decode("utf-8") for rank in own] for place, own in zip(places, ranks, strict=True)}
    return [found[place] for place in range(len(texts))]


def joined_ranks(pieces: Pieces, translations: Sequence[Translation], alternatives: int) -> list[str]:
    """The whole text with the best translation of each sentence, then with the second of each, and so on. Equal ones occur once."""
    ranks = []
    for rank in range(alternatives + 1):
        chosen = [(own.alternatives[rank] if rank < len(own.alternatives) else own).text for own in translations]
        ranks.append(pieces.joined(chosen))
    return list(dict.fromkeys(ranks))


def check_origin(request: Request) -> None:
    """Refuse what another site's page sends: a browser would send it without asking the user."""
    origin = request.headers.get("origin")
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    if origin is not None and origin != own and origin not in service_of(request).settings.cors:
        raise ForbiddenError(f"a page of {origin} may not send suggestions; start the server with --cors {origin}")


def texts_of(fields: dict[str, Any]) -> tuple[list[str], bool]:
    """The texts of `q`, and whether they are a list."""
    given = fields.get("q")
    if given is None or given == "" or given == []:
        raise RequestError("Invalid request: missing q parameter")
    texts = given if isinstance(given, list) else [given]
    for text in texts:
        if not isinstance(text, str):
            raise RequestError("Invalid request: q parameter is not a text or a list of texts")
        check_text(text, "q")
    return texts, isinstance(given, list)
