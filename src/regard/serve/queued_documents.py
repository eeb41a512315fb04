"""Documents of a server: their sentences go through the queue of all requests, a few at a time.

A document is read and written in a worker thread. Only its sentences are translated by the batcher, so a long document delays nobody.
"""

import asyncio
from collections.abc import Callable, Sequence

from starlette.requests import Request

from regard.documents.formats import FORMATS, Document, DocumentFormat
from regard.documents.languages import check_languages, stated_languages
from regard.documents.markup import Segment
from regard.documents.translate import translated_segments
from regard.errors import DocumentError
from regard.extras import require
from regard.search.interruption import SearchStopped, StopSignal
from regard.search.options import SearchOptions
from regard.serve.detection import detect
from regard.serve.models import Route, ServedModels
from regard.serve.served_terms import RequestTerms
from regard.serve.service import Service
from regard.tasks.translate.translation import Translation
from regard.text.sentences import base_language

TOGETHER = 64
"""Sentences of a document that are in the queue at a time."""
DETECTED = 4_000
"""Characters of a document by which its language is detected."""


def suffixes() -> list[str]:
    """The ends of the names of files that can be translated."""
    return [suffix for row in FORMATS.values() for suffix in row.suffixes]


async def translated_documents(
    service: Service,
    request: Request,
    contents: Sequence[bytes],
    format: DocumentFormat,
    languages: tuple[str, str],  # the source may be auto
    options: SearchOptions,
    *,
    terms: RequestTerms | None = None,
    seconds: float | None = None,
) -> list[list[bytes]]:
    """Each document with the best translation of each sentence, then with the second of each, and so on. Equal ones occur once.

    seconds: the time limit of a file. Without it, that of a request: `limits.seconds`.
    """
    loop = asyncio.get_running_loop()
    models = service.models_of(request)
    if languages[0] not in ("auto", languages[1]):
        models.translator(*languages)  # an unknown language is refused before the work

    def work(stopped: StopSignal) -> list[list[bytes]]:
        given, target = languages
        segments, sources = [], []
        for content in contents:
            _look(stopped)
            document = format.read(content)
            _look(stopped)
            segments.append(document.segments())
            source = given if given != "auto" else _language_of(document, segments[-1], models)
            check_languages(document, "the document", [source], [target])
            sources.append(source)
        found: dict[int, list[bytes]] = {}
        for source in dict.fromkeys(sources):
            places = [place for place, own in enumerate(sources) if own == source]
            if source == target:
                found |= {place: [contents[place]] for place in places}
                continue
            aligned = _aligned(models.translator(source, target), [one for place in places for one in segments[place]])
            sentences = _QueuedSentences(service, request, (source, target), options, terms, stopped, loop)
            ranks: dict[int, list[bytes]] = {place: [] for place in places}
            for rank in range(options.nbest):
                translate = sentences.of_rank(rank)
                whole = [one for place in places for one in segments[place]]
                _look(stopped)
                translated = iter(translated_segments(whole, translate, source=source, target=target, aligned=aligned))
                for place in places:
                    own = [next(translated) for _ in segments[place]]
                    _look(stopped)
                    document = format.read(contents[place])  # a document is written once
                    _look(stopped)
                    ranks[place].append(document.write(own))
            found |= {place: list(dict.fromkeys(own)) for place, own in ranks.items()}
        return [found[place] for place in range(len(contents))]

    return await service.run_document(work, request, seconds)


def _look(stopped: StopSignal) -> None:
    """Ends the work on a document that nobody wants any more."""
    if stopped():
        raise SearchStopped


def _language_of(document: Document, segments: Sequence[Segment], models: ServedModels) -> str:
    """The language of a document: the one that it states, else by its beginning."""
    stated = {base_language(one.source) for one in stated_languages(document)}
    for language in models.sources:
        if {base_language(language)} == stated:
            return language
    beginning = " ".join(segment.text for segment in segments)[:DETECTED]
    return detect([beginning], models)[0][0].language


def _aligned(route: Route, segments: Sequence[Segment]) -> bool:
    """Whether inline tags are placed by word alignment. A model that could with torch, which is not installed, is refused."""
    translators = [step.translator for step in route.steps]
    aligned = all(translator.aligns for translator in translators)
    tagged = any(segment.spans for segment in segments)
    if aligned and tagged and not all(translator.can_align for translator in translators):
        require("torch", "placing inline tags by word alignment, in this model's own way,")
    return aligned


def format_of_name(name: str) -> DocumentFormat:
    """The format of a file by the end of its name."""
    suffix = f".{name.rpartition('.')[2].lower()}" if "." in name else ""
    for row in FORMATS.values():
        if suffix in row.suffixes:
            return row
    raise DocumentError("Invalid request: file format not supported")


class _QueuedSentences:
    """Translates the sentences of a document, from its thread. Every sentence is searched once, whatever rank is asked for."""

    def __init__(
        self,
        service: Service,
        request: Request,
        languages: tuple[str, str],
        options: SearchOptions,
        terms: RequestTerms | None,
        stopped: StopSignal,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._service, self._request, self._languages, self._options = service, request, languages, options
        self._terms, self._stopped, self._loop = terms, stopped, loop
        self._found: dict[str, Translation] = {}

    def of_rank(self, rank: int) -> Callable[[list[str]], Sequence[Translation]]:
        """A function from sentences to their translations of a rank, 0 the best; of fewer hypotheses, the best."""

        def translate(texts: list[str]) -> list[Translation]:
            self._search([text for text in dict.fromkeys(texts) if text not in self._found])
            return [_ranked(self._found[text], rank) for text in texts]

        return translate

    def _search(self, texts: Sequence[str]) -> None:
        for start in range(0, len(texts), TOGETHER):
            _look(self._stopped)
            part = texts[start : start + TOGETHER]
            search = self._service.search(
                part, *self._languages, self._options, self._request, terms=self._terms, stopped=self._stopped
            )
            results = asyncio.run_coroutine_threadsafe(search, self._loop).result()
            self._found.update(zip(part, results, strict=True))


def _ranked(translation: Translation, rank: int) -> Translation:
    return translation.alternatives[rank] if rank < len(translation.alternatives) else translation
