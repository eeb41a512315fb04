"""The formats of documents: one explicit table, and what every document can do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePath
from typing import Protocol, cast

from regard.documents.markup import Segment
from regard.errors import ConfigError, DocumentError
from regard.extras import needing


class Document(Protocol):
    """A file that was read."""

    def segments(self) -> list[Segment]:
        """The texts to translate, in order."""
        ...

    def write(self, translations: Sequence[Segment | None]) -> bytes:
        """The file with a translation for each segment, once. None leaves a segment as it is."""
        ...


Reader = Callable[[bytes, str], Document]


@dataclass(frozen=True)
class DocumentFormat:
    """A row of the table."""

    name: str
    suffixes: tuple[str, ...]
    """Of files, in small letters."""
    reader: str
    """The module and function that read it; imported at the first use."""
    media_type: str
    binary: bool = False
    """Whether it cannot be shown on a terminal."""

    def read(self, content: bytes, name: str = "document") -> Document:
        """A document. name: the file's, for messages. A `DocumentError` names what is wrong with it, and where."""
        module, function = self.reader.split(":")
        with needing(f"the format {self.name}"):
            read = cast(Reader, getattr(import_module(f"regard.documents.{module}"), function))
            return read(content, name)


FORMATS: dict[str, DocumentFormat] = {
    row.name: row
    for row in (
        DocumentFormat("text", (".txt", ".text"), "plain:read", "text/plain"),
        DocumentFormat("html", (".html", ".htm", ".xhtml"), "html:read", "text/html"),
        DocumentFormat("md", (".md", ".markdown"), "markdown:read", "text/markdown"),
        DocumentFormat("srt", (".srt",), "subtitles:read_srt", "application/x-subrip"),
        DocumentFormat("vtt", (".vtt",), "subtitles:read_vtt", "text/vtt"),
        DocumentFormat(
            "docx",
            (".docx",),
            "docx:read",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            binary=True,
        ),
        DocumentFormat("po", (".po", ".pot"), "po:read", "text/x-gettext-translation"),
        DocumentFormat("xliff", (".xlf", ".xliff"), "xliff:read", "application/xliff+xml"),
    )
}
"""Name -> format."""


def format_of(name: str) -> DocumentFormat:
    """The format of a name."""
    if name not in FORMATS:
        raise ConfigError(f"format {name!r}: not one of {', '.join(FORMATS)}")
    return FORMATS[name]


def format_of_file(path: str | PurePath) -> DocumentFormat:
    """The format of a file by the end of its name."""
    suffix = Path(path).suffix.lower()
    for row in FORMATS.values():
        if suffix in row.suffixes:
            return row
    known = ", ".join(suffix for row in FORMATS.values() for suffix in row.suffixes)
    raise DocumentError(f"{path}: its format cannot be told from its name, which ends with none of {known}; name it")
