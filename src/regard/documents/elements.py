"""Text in XML as parts, and back: elements whose content is written anew in another order. Word documents and XLIFF are made of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from regard.documents.markup import Segment, events
from regard.documents.tags import Run, Token

if TYPE_CHECKING:
    from lxml import etree


@dataclass(frozen=True, slots=True)
class Part:
    """A token with its element: of a text the style that it has, of the end of a tag nothing."""

    token: Token
    element: "etree._Element | None" = None
    style: "etree._Element | None" = None


class PartWriter(Protocol):
    """Appends parts to an element."""

    def text(self, text: str) -> None:
        """Append text inside of the tags that are open."""
        ...

    def add(self, part: Part) -> None:
        """Append a part as it is."""
        ...


def write_parts(
    parts: Sequence[Part], runs: Sequence[Run], translations: Sequence[Segment | None], writer: PartWriter
) -> None:
    """Write all parts in order, with a translation in place of each run. None leaves a run as it is."""
    place = 0
    for run, translation in zip(runs, translations, strict=True):
        if translation is None:
            continue
        for part in parts[place : run.first]:
            writer.add(part)
        before, after = run.white_space([parts[run.first].token, parts[run.last - 1].token])
        writer.text(before)
        for event in events(translation):
            if event.kind == "text":
                writer.text(event.text)
            else:
                writer.add(parts[run.closing[event.tag] if event.kind == "close" else event.tag])
        writer.text(after)
        place = run.last
    for part in parts[place:]:
        writer.add(part)
