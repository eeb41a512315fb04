"""The languages that a document states, compared with those of a model. Only XLIFF states any; it knows no format by name."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from regard.errors import DocumentError, shown
from regard.text.sentences import base_language


@dataclass(frozen=True)
class StatedLanguages:
    """The languages that a document states for one of its parts; None where it states none."""

    source: str | None
    target: str | None
    line: int
    """The line that states them."""


def stated_languages(document: Any) -> tuple[StatedLanguages, ...]:
    """The stated languages of each part that is translated."""
    stated: tuple[StatedLanguages, ...] = getattr(document, "languages", ())
    return stated


def check_languages(document: Any, name: str, sources: Collection[str], targets: Collection[str]) -> None:
    """Refuse a document in other languages than those of a model. Regions do not count: `fr-CA` is `fr`.

    name: the document's, for messages. sources, targets: the languages of the model; none: it does not say them, and any will do.
    """
    for stated in stated_languages(document):
        for side, own, known in (("source", stated.source, sources), ("target", stated.target, targets)):
            if own and known and base_language(own) not in map(base_language, known):
                raise DocumentError(
                    f"{name}:{stated.line}: its {side} language is {shown(own)}, that of the model is {' or '.join(known)}; "
                    "choose a model of the languages of the document"
                )
