"""Reads lines from a file or standard input, processes them, and writes the results in order, in constant memory.

With `-o FILE` an interrupted command can be resumed. The processing itself is a `LineProcessor` that the command provides.
"""

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

from regard.activity import Activity, activity
from regard.cli.display import hidden_bar


@dataclass(frozen=True)
class LineResult:
    """The result of one input line."""

    lines: str
    """Output lines, each with its newline."""
    remarks: tuple[str, ...] = ()
    """Messages for standard error."""


Item = TypeVar("Item")

CUT_LINE = 1 << 20
"""Bytes of an input line that are read. A longer one is cut here and answered, with a warning that names it."""


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

    def parse(self, first: int, lines: list[str]) -> list[Item]:
        """The lines of a window as items to process. `first`: the number of its first line. Windows come in order."""
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
    from regard.cli.streams import print_status, refuse_own_input
    from regard.engine.stream import LARGEST_WINDOW, streamed
    from regard.errors import DataError
    from regard.machine import usable_cores

    refuse_own_input(output_file, input_file)
    interactive = _is_typed(input_file)
    if interactive and sys.stderr is not None and sys.stderr.isatty():
        print_status("type a line and press Enter; Ctrl-D ends")
    source = _InputLines(input_file)
    with (
        hidden_bar() if _on_terminal(output_file) else nullcontext(),
        _destination(output_file, settings, source) as write,
        activity(processor.name) as progress,
    ):
        speed = _Speed(progress, source)
        pending: list[_Window] = []

        def items() -> Iterator[tuple[int, list[Item]]]:
            for window in source.windows(1 if interactive else LARGEST_WINDOW):
                pending.append(window)
                yield window.first, processor.parse(window.first, window.texts)

        batches = streamed(
            items(),
            processor.process,
            threads=2 * usable_cores(),
            width=processor.width,
            together=processor.max_batch_width,
            ahead=0 if interactive else 1,
        )
        with closing(batches):
            for results in batches:
                window = pending.pop(0)
                for place in window.invalid:
                    results[place] = LineResult("\n")  # an empty line in every output format
                for place in window.cut:
                    warning = f"regard: warning: line {window.first + place + 1} is longer than {CUT_LINE:,} bytes"
                    remarks = (f"{warning}; its end was not read", *results[place].remarks)
                    results[place] = replace(results[place], remarks=remarks)
                for result in results:
                    for remark in result.remarks:
                        print_status(remark)
                write("".join(result.lines for result in results), window)
                speed.report(window)
    if source.first_invalid is not None:
        raise DataError(
            f"{source.first_invalid}; lines that are not UTF-8, here {source.invalid:,}, are empty in the output"
        )


def quiet_if_typed(input_file: str) -> AbstractContextManager[None]:
    """No bar during the block if the input is typed: it would overwrite what the user types."""
    return hidden_bar() if _is_typed(input_file) else nullcontext()


def _is_typed(input_file: str) -> bool:
    """Whether a person types the input and waits for the result of each line."""
    return input_file == "-" and sys.stdin is not None and sys.stdin.isatty()


def _on_terminal(output_file: str | None) -> bool:
    """Whether results appear on a terminal, line by line."""
    return output_file in (None, "-") and sys.stdout is not None and sys.stdout.isatty()


@dataclass(frozen=True)
class _Window:
    """Consecutive input lines that are processed together."""

    first: int
    """The number of the first line, from 0."""
    texts: list[str]
    """The lines. One that is not UTF-8 is empty."""
    invalid: list[int]
    """Positions in the window of lines that are not UTF-8."""
    cut: list[int]
    """Positions of lines of which only the beginning was read."""
    end: int
    """Bytes of the input up to the end of the window."""
    digest: str
    """SHA-256 of those bytes."""


class _InputLines:
    """The input lines, with a digest of the bytes read so far."""

    def __init__(self, path: str) -> None:
        from regard.data.readers import read_cut

        self._path, self._raw = path, read_cut(path, CUT_LINE)
        self._hash = hashlib.sha256()
        self.lines, self.bytes = 0, 0
        self.invalid = 0  # lines that are not UTF-8
        self.first_invalid: str | None = None  # the error message of the first of them
        self.size = (
            None if path == "-" or path.endswith(".gz") or not Path(path).is_file() else Path(path).stat().st_size
        )

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def skip(self, lines: int) -> None:
        """Skip lines that an earlier command has processed."""
        for line, _ in islice(self._read(), lines):
            self._decoded(line, self.lines)

    def windows(self, largest: int) -> Iterator[_Window]:
        from regard.engine.stream import windows

        first = self.lines
        for raw in windows(self._read(), first, largest, _size):
            texts = [self._decoded(line, number) for number, (line, _) in enumerate(raw, first + 1)]
            invalid = [place for place, text in enumerate(texts) if text is None]
            cut = [place for place, (_, was_cut) in enumerate(raw) if was_cut]
            yield _Window(first, [text or "" for text in texts], invalid, cut, self.bytes, self.digest)
            first = self.lines

    def _decoded(self, line: bytes, number: int) -> str | None:
        from regard.data.readers import decode_line
        from regard.errors import DataError

        try:
            return line.decode("utf-8") if self.invalid else decode_line(line, self._path, number)
        except UnicodeDecodeError:
            self.invalid += 1
        except DataError as error:
            self.invalid, self.first_invalid = 1, str(error)
        return None

    def _read(self) -> Iterator[tuple[bytes, bool]]:
        for line, was_cut in self._raw:
            self._hash.update(line + b"\n")
            self.lines += 1
            self.bytes += len(line) + 1
            yield line, was_cut


def _size(line: tuple[bytes, bool]) -> int:
    return len(line[0])


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


class _Speed:
    """Reports the lines per second, and the time left if the input's size is known."""

    def __init__(self, progress: Activity, source: _InputLines) -> None:
        self._progress, self._size = progress, source.size
        self._before = (source.lines, source.bytes)  # what an earlier command processed

    def report(self, window: _Window) -> None:
        """The lines up to the end of the window are done."""
        from regard.cli.bar import clock

        lines, seconds = window.first + len(window.texts), max(self._progress.seconds, 1e-9)
        note = f"{lines:,} lines  {(lines - self._before[0]) / seconds:,.0f} lines/s"
        if self._size is None:
            self._progress.report(None, note)
        else:
            left = seconds * max(0, self._size - window.end) / max(1, window.end - self._before[1])
            self._progress.report(min(1.0, window.end / max(1, self._size)), f"{note}  {clock(left)} left")
