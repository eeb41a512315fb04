"""Lines of a file, or of standard input, through some work and out again: in order, in memory that does not grow, and with `-o` so that
an interrupted command goes on. It knows nothing of what the work is.
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
class Answer:
    """What is made of one line."""

    lines: str
    """Of output, each with its newline."""
    remarks: tuple[str, ...] = ()
    """For standard error."""


Item = TypeVar("Item")


class Work(Protocol[Item]):
    """What is done with lines. Only `answers` is called by several threads."""

    @property
    def name(self) -> str:
        """What a person who waits for it is told."""
        ...

    @property
    def together(self) -> int | None:
        """The largest sum of widths, all counted as the widest, to be answered together; None: a whole window is."""
        ...

    def read(self, lines: list[str]) -> list[Item]:
        """What is made of each line at first."""
        ...

    def width(self, item: Item) -> int:
        """How much there is to do."""
        ...

    def answers(self, first: int, places: list[int], items: list[Item]) -> list[Answer]:
        """The answers to some of a window's lines. first: the number of its first line; places: theirs in it, from 0."""
        ...


def work_on_lines(work: Work[Item], input_file: str, output_file: str | None, *, settings: Mapping[str, Any]) -> None:
    """All lines of a file, or of standard input, to another or to standard output. settings: what must be the same for going on."""
    from regard.cli.streams import refuse_own_input
    from regard.engine.stream import LARGEST_WINDOW, streamed
    from regard.errors import DataError

    refuse_own_input(output_file, input_file)
    typed = input_file == "-" and sys.stdin.isatty()  # a person waits for the answer to each line
    source = _Source(input_file)
    with _destination(output_file, settings, source) as write, _Progress(work.name, source) as progress:
        begun: list[_Window] = []

        def items() -> Iterator[tuple[int, list[Item]]]:
            for window in source.windows(1 if typed else LARGEST_WINDOW):
                begun.append(window)
                yield window.first, work.read(window.texts)

        results = streamed(
            items(),
            work.answers,
            threads=2 * len(os.sched_getaffinity(0)),
            width=work.width,
            together=work.together,
            ahead=0 if typed else 1,
        )
        with closing(results):
            for answers in results:
                window = begun.pop(0)
                for place in window.invalid:
                    answers[place] = Answer("\n")  # not what is made of an empty line
                for answer in answers:
                    for remark in answer.remarks:
                        progress.say(remark)
                write("".join(answer.lines for answer in answers), window)
                progress.update(window)
    if source.invalid:
        first, count = source.invalid[0], len(source.invalid)
        raise DataError(f"{first}; lines that are not UTF-8, here {count:,}, are empty in the output")


@dataclass(frozen=True)
class _Window:
    """Lines that are worked on together."""

    first: int
    """The number of the first, from 0."""
    texts: list[str]
    """A line that is not UTF-8 is empty."""
    invalid: list[int]
    """The places of those in the window."""
    end: int
    """Bytes of the input up to its end."""
    digest: str
    """Of the same."""


class _Source:
    """The input line by line, with a digest of all that was read."""

    def __init__(self, path: str) -> None:
        from regard.data.readers import read_raw

        self._path, self._raw = path, read_raw(path)
        self._hash = hashlib.sha256()
        self.lines, self.bytes = 0, 0
        self.invalid: list[str] = []  # what was wrong with lines that are not UTF-8
        self.size = (
            None if path == "-" or path.endswith(".gz") or not Path(path).is_file() else Path(path).stat().st_size
        )

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def skip(self, lines: int) -> None:
        """Go past what an earlier command has done."""
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
    path: str | None, settings: Mapping[str, Any], source: _Source
) -> Iterator[Callable[[str, _Window], None]]:
    """Where results go: a file that can be gone on with, or a stream; the source is brought to the first line that is to be done."""
    from regard.cli.resumable import resumable
    from regard.cli.streams import followed, results, say

    if path is None or path == "-" or (Path(path).exists() and not Path(path).is_file()):
        with results(path) as stream:

            def write(lines: str, window: _Window) -> None:
                stream.write(lines)
                stream.flush()

            yield write
        return
    with resumable(followed(path), settings) as file:
        if file.lines:
            source.skip(file.lines)
            file.accept(source.lines, source.digest)
            say(f"going on after line {file.lines:,}, as {file.partial} says")

        def add(lines: str, window: _Window) -> None:
            file.add(lines, window.first + len(window.texts), window.digest)

        yield add


class _Progress:
    """A bar on a terminal: lines a second, and the time left where the input's size is known."""

    def __init__(self, name: str, source: _Source) -> None:
        self._name, self._source = name, source
        self._began = time.monotonic()
        self._before: tuple[int, int] | None = None  # lines and bytes that were there already
        self._bar: Bar | None = None

    def __enter__(self) -> "_Progress":
        if sys.stderr.isatty():
            from regard.cli.bar import Bar

            self._bar = Bar(self._name)
        self._before = (self._source.lines, self._source.bytes)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def say(self, message: str) -> None:
        from regard.cli.streams import say

        if self._bar is None:
            say(message)
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
