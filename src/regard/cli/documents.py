"""`regard translate --format`: reads a document, translates it and writes it. Nothing is written before all of it is translated."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.documents.formats import FORMATS, DocumentFormat, format_of_file
from regard.errors import ConfigError, DataError

if TYPE_CHECKING:
    from regard.search.options import SearchOptions
    from regard.tasks.translate.terms.guided import Terms
    from regard.tasks.translate.translation import Translation
    from regard.tasks.translate.translator import Translator

AUTO = "auto"


def refuse_line_options(format: str, given: Mapping[str, bool]) -> None:
    """Refuse options whose output is lines."""
    for option, is_given in given.items():
        if is_given:
            raise ConfigError(
                f"{option}: its output is lines, and --format {format} writes a document; leave one of them out"
            )


class OpenedDocument:
    """A document that was read, and where its translation goes. Made before the model is loaded, so that mistakes show at once."""

    def __init__(self, input_file: str, output_file: str | None, format: str) -> None:
        self._name = "standard input" if input_file == "-" else input_file
        self._format = _chosen(input_file, format)
        self._output = None if output_file is None or output_file == "-" else Path(output_file)
        self._check_output(input_file)
        self._document = self._format.read(_read(input_file), self._name)
        self._segments = self._document.segments()

    def _check_output(self, input_file: str) -> None:
        """Refuse an output that is there, that cannot be written, or whose name is that of another format."""
        from regard.cli.streams import refuse_own_input
        from regard.files import check_place, refuse_taken

        if self._output is None:
            if self._format.binary and sys.stdout is not None and sys.stdout.isatty():
                raise ConfigError(f"--format {self._format.name}: it cannot be shown on a terminal; give -o FILE")
            return
        refuse_own_input(str(self._output), input_file)
        refuse_taken(self._output)
        check_place(self._output)
        suffix = self._output.suffix.lower()
        other = next((row for row in FORMATS.values() if suffix in row.suffixes), self._format)
        if other is not self._format:
            raise ConfigError(
                f"-o {self._output}: the document is {self._format.name} and stays so, but {suffix} is {other.name}; "
                f"end its name with {self._format.suffixes[0]}"
            )

    def translate(self, translator: "Translator", options: "SearchOptions", terms: "Terms | None" = None) -> None:
        """Translate and write. terms: strings that are kept, and a glossary."""
        from regard.cli.streams import print_status
        from regard.documents.languages import check_languages
        from regard.documents.translate import translated_segments
        from regard.extras import require

        languages, seen = translator.languages, translator.directions
        check_languages(
            self._document,
            self._name,
            [languages.source] if languages.source else seen.sources,
            [languages.target] if languages.target else seen.targets,
        )
        tagged = any(segment.spans for segment in self._segments)
        if tagged and not translator.aligns:
            print_status("note: this model cannot align words: inline tags are placed in proportion to the text")
        elif tagged and not translator.can_align:
            require("torch", "placing inline tags by word alignment, in this model's own way,")

        def translated(texts: list[str]) -> "Sequence[Translation]":
            if terms is not None:
                return terms.search(translator, texts, options)
            return translator.search(texts, options, scores=False)

        segments = translated_segments(
            self._segments, translated, source=languages.source, target=languages.target, aligned=translator.aligns
        )
        self._write(self._document.write(segments))

    def _write(self, content: bytes) -> None:
        from regard.cli.streams import open_output, resolve_link
        from regard.files import write_whole

        if self._output is not None:
            write_whole(resolve_link(str(self._output)), content)
            return
        with open_output(None) as stream:
            stream.flush()
            stream.buffer.write(content)
            stream.buffer.flush()


def _chosen(input_file: str, format: str) -> DocumentFormat:
    """The format of a name, or of the file if that is `auto`."""
    if format == AUTO and input_file == "-":
        raise ConfigError(f"--format auto: standard input has no name; give one of {', '.join(FORMATS)}")
    if format == AUTO:
        return format_of_file(input_file)
    if format not in FORMATS:
        raise ConfigError(f"--format {format}: not one of auto, {', '.join(FORMATS)}")
    return FORMATS[format]


def _read(path: str) -> bytes:
    """The bytes of the document."""
    from regard.documents.patched import MOST_BYTES
    from regard.foreign import read_bytes, refuse_exhausted

    if path == "-":
        if sys.stdin is None:
            raise DataError("standard input is closed; give -i FILE")
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    try:
        return read_bytes(Path(path), MOST_BYTES)
    except OSError as error:
        refuse_exhausted(Path(path), error)
        raise DataError(f"{path}: cannot be read: {error.strerror}; give the document that is translated") from None
