"""Reserved pieces: places in a vocabulary that no text is spelled with. A mask, sentinels, target languages, placeholders.

They stand after the marks of a learned vocabulary, and are found by class in any vocabulary that has them. A text that contains such a
name literally is spelled in ordinary pieces. `text/reserved_text.py` reads and writes texts where the names mean the pieces.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Annotated, Self

from pydantic import Field, model_validator

from regard.settings import Settings

MASK = "<mask>"
MOST = 10_000
"""The most pieces of one class."""
_MASKS = (MASK, "[MASK]")  # the second is BERT's
_SENTINEL, _PLACEHOLDER = re.compile(r"<extra_id_(\d{1,6})>"), re.compile(r"<ph_(\d{1,6})>")
_LANGUAGE = re.compile(r">>([^<>\s]+)<<")


class ReservedConfig(Settings):
    """Pieces of the vocabulary that no text is spelled with. They count as part of text.vocabulary."""

    mask: bool = False
    """Reserve <mask>, for a text with a gap."""
    sentinels: int = Field(default=0, ge=0, le=MOST)
    """Reserve so many of <extra_id_0>, <extra_id_1> .., the numbered gaps of T5."""
    languages: tuple[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")], ...] = Field(
        default=(), max_length=MOST
    )
    """Reserve >>en<< for "en", and so on: the target language, put before a source."""
    placeholders: int = Field(default=0, ge=0, le=MOST)
    """Reserve so many of <ph_0>, <ph_1> .., for parts of a text that are not translated."""

    @model_validator(mode="after")
    def _each_language_once(self) -> Self:
        twice = next((language for language, times in Counter(self.languages).items() if times > 1), None)
        if twice is not None:
            raise ValueError(f"languages names {twice!r} twice; name each language once")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The pieces in the order of their ids."""
        return (
            *([MASK] if self.mask else ()),
            *map(sentinel_name, range(self.sentinels)),
            *map(language_name, self.languages),
            *map(placeholder_name, range(self.placeholders)),
        )


def sentinel_name(number: int) -> str:
    """The piece of a sentinel."""
    return f"<extra_id_{number}>"


def language_name(language: str) -> str:
    """The piece of a target language, in the form of OPUS-MT."""
    return f">>{language}<<"


def placeholder_name(number: int) -> str:
    """The piece of a placeholder."""
    return f"<ph_{number}>"


def is_reserved_name(name: str) -> bool:
    """Whether a piece of this name belongs to one of the classes."""
    return name in _MASKS or any(form.fullmatch(name) for form in (_SENTINEL, _PLACEHOLDER, _LANGUAGE))


def is_gap_name(name: str) -> bool:
    """Whether a reserved piece of this name stands for text that is missing."""
    return name in _MASKS or _SENTINEL.fullmatch(name) is not None


@dataclass(frozen=True)
class Reserved:
    """The ids of the reserved pieces of a vocabulary, by class."""

    mask: int | None = None
    sentinels: tuple[int, ...] = ()
    """In the order of their numbers, without a gap."""
    languages: Mapping[str, int] = field(default_factory=dict)
    placeholders: tuple[int, ...] = ()
    names: Mapping[str, int] = field(default_factory=dict)
    """Every reserved piece and its id."""


def found_in(pieces: Sequence[str], silent: Collection[str]) -> Reserved:
    """The reserved pieces among those that are no text."""
    names = {piece: index for index, piece in enumerate(pieces) if piece in silent and is_reserved_name(piece)}
    mask = next((names[name] for name in _MASKS if name in names), None)
    languages = {match[1]: index for name, index in names.items() if (match := _LANGUAGE.fullmatch(name))}
    return Reserved(
        mask=mask,
        sentinels=_numbered(names, sentinel_name),
        languages=languages,
        placeholders=_numbered(names, placeholder_name),
        names=names,
    )


def _numbered(names: Mapping[str, int], name_of: Callable[[int], str]) -> tuple[int, ...]:
    return tuple(names[name] for name in takewhile(names.__contains__, map(name_of, count())))
