"""Reads lines from a file or standard input, processes them, and writes the results in order, in constant memory.

With `-o FILE` an interrupted command can be resumed. The processing itself is a `LineProcessor` that the command provides.
"""

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from regard.cli.bar import Bar


@dataclass(frozen=True)
class LineResult:
    """The result of one input line."""

    lines: str
    """Output lines, each with its newline."""
    remarks: tuple[str, ...] = ()
    """Messages for standard error."""


Item = TypeVar("Item")


class LineProcessor(Protocol[Item]):
    """Processes lines in batches. Only `process` is called from several threads."""

    @property
    def name(self) -> str:
        """The title of the progress bar."""
        ...

    @property
    def max_batch_width(self) -> int | None:
        """The most padded width (lines times the widest) of a batch; None: a window is one batch."""
        ...

    def parse(self, lines: list[str]) -> list[Item]:
        """The lines as items to process."""
        ...

    def width(self, item: Item) -> int:
        """The size of an item, such as its tokens. Items of similar width are batched."""
        ...

    def process(self, first: int, places: list[int], items: list[Item]) -> list[LineResult]:
        """The results of a batch. `first`: the number of the window's first line; `places`: the items' positions in it, from 0."""
        ...


def process_lines(
    processor: LineProcessor[Item], input_file: str, output_file: str | None, *, settings: Mapping[str, Any]
) -> None:
    """Process all lines of `input_file` into `output_file`. `settings`: what must be the same to resume an interrupted command."""
    from regard.cli.streams import refuse_own_input
    from regard.engine.stream import LARGEST_WINDOW, streamed
    from regard.errors import DataError

    refuse_own_input(output_file, input_file)
    interactive = input_file == "-" and sys.stdin.isatty()  # the user waits for the result of each line
    source = _InputLines(input_file)
    with _destination(output_file, settings, source) as write, _ProgressBar(processor.name, source) as progress:
        pending: list[_Window] = []

        def items() -> Iterator[tuple[int, list[Item]]]:
            for window in source.windows(1 if interactive else LARGEST_WINDOW):
                pending.append(window)
                yield window.first, processor.parse(window.texts)

        batches = streamed(
            items(),
            processor.process,
            threads=2 * len(os.sched_getaffinity(0)),
            width=processor.width,
            together=processor.max_batch_width,
            ahead=0 if interactive else 1,
        )
        with closing(batches):
            for results in batches:
                window = pending.pop(0)
                for place in window.invalid:
                    results[place] = LineResult("\n")  # an empty line in every output format
                for result in results:
                    for remark in result.remarks:
                        progress.print_status(remark)
                write("".join(result.lines for result in results), window)
                progress.update(window)
    if source.invalid:
        first, count = source.invalid[0], len(source.invalid)
        raise DataError(f"{first}; lines that are not UTF-8, here {count:,}, are empty in the output")


@dataclass(frozen=True)
class _Window:
    """Consecutive input lines that are processed together."""

    first: int
    """The number of the first line, from 0."""
    texts: list[str]
    """The lines. One that is not UTF-8 is empty."""
    invalid: list[int]
    """Positions in the window of lines that are not UTF-8."""
    end: int
    """Bytes of the input up to the end of the window."""
    digest: str
    """SHA-256 of those bytes."""


class _InputLines:
    """The input lines, with a digest of the bytes read so far."""

    def __init__(self, path: str) -> None:
        from regard.data.readers import read_raw

        self._path, self._raw = path, read_raw(path)
        self._hash = hashlib.sha256()
        self.lines, self.bytes = 0, 0
        self.invalid: list[str] = []  # error messages of lines that are not UTF-8
        self.size = (
            None if path == "-" or path.endswith(".gz") or not Path(path).is_file() else Path(path).stat().st_size
        )

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def skip(self, lines: int) -> None:
        """Skip lines that an earlier command has processed."""
        for line in islice(self._read(), lines):
            self._decoded(line, self.lines)

    def windows(self, largest: int) -> Iterator[_Window]:
        from regard.engine.stream import windows

        first = self.lines
        for raw in windows(self._read(), first, largest):
            texts = [self._decoded(line, number) for number, line in enumerate(raw, first + 1)]
            invalid = [place for place, text in enumerate(texts) if text is None]
            yield _Window(first, [text or "" for text in texts], invalid, self.bytes, self.digest)
            first = self.lines

    def _decoded(self, line: bytes, number: int) -> str | None:
        from regard.data.readers import decode_line
        from regard.errors import DataError

        try:
            return decode_line(line, self._path, number)
        except DataError as error:
            self.invalid.append(str(error))
            return None

    def _read(self) -> Iterator[bytes]:
        for line in self._raw:
            self._hash.update(line + b"\n")
            self.lines += 1
            self.bytes += len(line) + 1
            yield line


@contextmanager
def _destination(
    path: str | None, settings: Mapping[str, Any], source: _InputLines
) -> Iterator[Callable[[str, _Window], None]]:
    """A function that writes results to a resumable file or a stream. Skips the input lines that the file already answers."""
    from regard.cli.resumable import resumable
    from regard.cli.streams import open_output, print_status, resolve_link

    if path is None or path == "-" or (Path(path).exists() and not Path(path).is_file()):
        with open_output(path) as stream:

            def write(lines: str, window: _Window) -> None:
                stream.write(lines)
                stream.flush()

            yield write
        return
    with resumable(resolve_link(path), settings) as file:
        if file.lines:
            source.skip(file.lines)
            file.check_input(source.lines, source.digest)
            print_status(f"going on after line {file.lines:,}, as {file.partial} says")

        def append(lines: str, window: _Window) -> None:
            file.append(lines, window.first + len(window.texts), window.digest)

        yield append


class _ProgressBar:
    """A progress bar if stderr is a terminal: lines per second, and the time left if the input's size is known."""

    def __init__(self, name: str, source: _InputLines) -> None:
        self._name, self._source = name, source
        self._began = time.monotonic()
        self._before: tuple[int, int] | None = None  # lines and bytes that an earlier command processed
        self._bar: Bar | None = None

    def __enter__(self) -> "_ProgressBar":
        if sys.stderr.isatty():
            from regard.cli.bar import Bar

            self._bar = Bar(self._name)
        self._before = (self._source.lines, self._source.bytes)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def print_status(self, message: str) -> None:
        from regard.cli.streams import print_status

        if self._bar is None:
            print_status(message)
        else:
            self._bar.print(message)

    def update(self, window: _Window) -> None:
        from regard.cli.bar import clock

        if self._bar is None or self._before is None:
            return
        lines, size = window.first + len(window.texts), self._source.size
        seconds = max(time.monotonic() - self._began, 1e-9)
        text = f"{lines:,} lines  {(lines - self._before[0]) / seconds:,.0f} lines/s"
        if size is None:
            self._bar.update(None, text)
        else:
            left = seconds * max(0, size - window.end) / max(1, window.end - self._before[1])
            self._bar.update(min(1.0, window.end / max(1, size)), f"{text}  {clock(left)} left")
