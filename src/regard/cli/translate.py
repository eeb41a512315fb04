"""`regard translate`: lines in, lines out, in order, in memory that does not grow; an empty line gives an empty line."""

import hashlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

if TYPE_CHECKING:
    from regard.bundle.ctranslate2 import Precision
    from regard.cli.bar import Bar
    from regard.engine.load import Engine
    from regard.engine.model import Model
    from regard.engine.translation import Translation

CHARACTERS = 5000  # that are translated together: about a thousand tokens


def translate(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    input_file: Annotated[str, typer.Option("-i", "--input", help="Text to translate; - is stdin.")] = "-",
    output_file: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help="Where results go; stdout by default. If interrupted, run it again: it goes on."
        ),
    ] = None,
    beam: Annotated[int, typer.Option(help="Hypotheses kept at each step; 1 is greedy.")] = 5,
    alpha: Annotated[float, typer.Option(help="Scores are divided by length^alpha.")] = 1.0,
    nbest: Annotated[int, typer.Option(help="Print the N best as `line ||| text ||| F0=logprob ||| score`.")] = 1,
    sample: Annotated[bool, typer.Option("--sample", help="Draw from the model instead of searching.")] = False,
    temperature: Annotated[float, typer.Option(help="For --sample.")] = 1.0,
    top_k: Annotated[int, typer.Option(help="For --sample: only the k likeliest tokens; 0: all.")] = 0,
    top_p: Annotated[float, typer.Option(help="For --sample: only the likeliest tokens that make up p.")] = 1.0,
    seed: Annotated[int, typer.Option(help="For --sample.")] = 0,
    max_length: Annotated[int | None, typer.Option(help="Longest output in tokens.")] = None,
    align: Annotated[
        bool, typer.Option("--align", help="Add word alignments after a tab (Pharaoh, source-target).")
    ] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
    engine: Annotated[str, typer.Option(help="auto, torch, or ct2: CTranslate2, faster on a CPU.")] = "auto",
    precision: Annotated[str, typer.Option(help="Of CTranslate2's weights: float32 or int8.")] = "float32",
) -> None:
    """Translate text with a trained model."""
    from regard.engine.load import load
    from regard.engine.translation import TruncationWarning
    from regard.errors import ConfigError

    if not sample and (temperature, top_k, top_p) != (1.0, 0, 1.0):
        raise ConfigError("--temperature, --top-k and --top-p are for --sample; add it, or leave them out")
    model = load(bundle, device, cast("Engine", engine), cast("Precision", precision))
    options: dict[str, Any] = {
        "beam": beam,
        "alpha": alpha,
        "nbest": nbest,
        "sample": sample,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "max_length": max_length,
    }
    job = Job(model, options, seed=seed, align=align)
    settings = {**options, "seed": seed, "align": align, "engine": engine, "precision": precision}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)  # told with the line's number
        model.translate([], seed=seed, **options)  # a mistake in the options is told before anything is read
        translate_file(job, input_file, output_file, settings | {"model": _identity(model)})


@dataclass(frozen=True)
class Job:
    """What is done with each line."""

    model: "Model"
    options: Mapping[str, Any]
    seed: int
    align: bool

    def work(self, first: int, numbers: list[int], texts: list[str]) -> list[tuple[str, bool]]:
        """The lines of output for some of a window's texts, and whether the end of the text was left out."""
        found = self.model.translate(texts, seed=self.seed + first, **self.options)
        return [
            ("".join(f"{line}\n" for line in self._lines(first + number, translation)), translation.truncated)
            for number, translation in zip(numbers, found, strict=True)
        ]

    def _lines(self, number: int, translation: "Translation") -> Iterator[str]:
        if self.options["nbest"] == 1:
            yield f"{translation.text}\t{_pharaoh(translation)}" if self.align else translation.text
            return
        for one in translation.alternatives:
            fields = [str(number), one.text, f"F0={one.logprob:.6f}", f"{one.score:.6f}"]
            yield " ||| ".join([*fields, _pharaoh(one)] if self.align else fields)


def translate_file(job: Job, input_file: str, output_file: str | None, settings: Mapping[str, Any]) -> None:
    """All lines of a file, or of standard input, to another or to standard output."""
    from regard.engine.stream import LARGEST_WINDOW, streamed
    from regard.errors import DataError

    typed = input_file == "-" and sys.stdin.isatty()  # a person waits for the answer to each line
    source = _Source(input_file)
    invalid: list[str] = []
    with _destination(output_file, settings, source) as write, _Progress(source) as progress:
        begun: list[_Window] = []

        def texts() -> Iterator[tuple[int, list[str]]]:
            for window in source.windows(1 if typed else LARGEST_WINDOW):
                begun.append(window)
                yield window.first, window.texts

        results = streamed(
            texts(),
            job.work,
            threads=2 * len(os.sched_getaffinity(0)),
            characters=None if job.options["sample"] else CHARACTERS,  # its draws are numbered by the window
            ahead=0 if typed else 1,
        )
        with closing(results):
            for answers in results:
                window = begun.pop(0)
                for number, (_, truncated) in enumerate(answers, start=window.first + 1):
                    if truncated:
                        limit = f"longer than {job.model.max_tokens} tokens"
                        progress.say(f"regard: warning: line {number} is {limit}; its end was not read")
                write("".join(lines for lines, _ in answers), window)
                invalid += window.invalid
                progress.update(window)
    if invalid:
        raise DataError(f"{invalid[0]}; lines that are not UTF-8, here {len(invalid):,}, are empty in the output")


@dataclass(frozen=True)
class _Window:
    """Lines that are translated together."""

    first: int
    """The number of the first, from 0."""
    texts: list[str]
    """A line that is not UTF-8 is empty."""
    invalid: list[str]
    """What was wrong with those."""
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
        self.size = (
            None if path == "-" or path.endswith(".gz") or not Path(path).is_file() else Path(path).stat().st_size
        )

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def skip(self, lines: int) -> None:
        """Go past what an earlier command has done."""
        for _ in islice(self._read(), lines):
            pass

    def windows(self, largest: int) -> Iterator[_Window]:
        from regard.data.readers import decode_line
        from regard.engine.stream import windows
        from regard.errors import DataError

        first = self.lines
        for raw in windows(self._read(), first, largest):
            texts, invalid = [], []
            for number, line in enumerate(raw, start=first + 1):
                try:
                    texts.append(decode_line(line, self._path, number))
                except DataError as error:
                    texts.append("")
                    invalid.append(str(error))
            yield _Window(first, texts, invalid, self.bytes, self.digest)
            first = self.lines

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
    from regard.cli.streams import results, say

    if path is None or path == "-" or (Path(path).exists() and not Path(path).is_file()):
        with results(path) as stream:

            def write(lines: str, window: _Window) -> None:
                stream.write(lines)
                stream.flush()

            yield write
        return
    with resumable(Path(path), settings) as file:
        if file.lines:
            source.skip(file.lines)
            if (source.lines, source.digest) != (file.lines, file.digest):
                file.refuse_other_input()
            say(f"going on after line {file.lines:,}, as {file.partial} says")

        def add(lines: str, window: _Window) -> None:
            file.add(lines, window.first + len(window.texts), window.digest)

        yield add


class _Progress:
    """A bar on a terminal: lines a second, and the time left where the input's size is known."""

    def __init__(self, source: _Source) -> None:
        self._source = source
        self._began = time.monotonic()
        self._before: tuple[int, int] | None = None  # lines and bytes that were there already
        self._bar: Bar | None = None

    def __enter__(self) -> "_Progress":
        if sys.stderr.isatty():
            from regard.cli.bar import Bar

            self._bar = Bar("translating")
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


def _identity(model: "Model") -> str:
    """What tells one model from another."""
    from regard.bundle.manifest import MANIFEST
    from regard.files import sha256_of

    assert model.bundle is not None
    return sha256_of(model.bundle.directory / MANIFEST)


def _pharaoh(translation: "Translation") -> str:
    from regard.metrics.alignment import to_pharaoh

    return to_pharaoh(frozenset(translation.alignment))
