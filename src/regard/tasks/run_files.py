"""The JSON files of a run as typed records: metrics.json, log.jsonl and the rows of the results.

A file that is damaged, or has a value of another type than the programs that read it expect, is a `DataError` of one line that
names the file, the line and the key. Keys that are not known here are kept: extensions add scores and columns.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, create_model, model_validator

from regard.errors import ConfigError, DataError, FileError
from regard.foreign import bounded_lines, parse_json, read_text, refuse_exhausted
from regard.metrics.scores import METRICS
from regard.settings import Record

_Count = Annotated[int, Field(ge=0, lt=2**53)]
_Seconds = Annotated[float, Field(ge=0)]


class _Strict(Record):
    """A record that converts nothing: callers read the values as they are in the file."""

    model_config = ConfigDict(strict=True, extra="allow")


class _Languages(_Strict):
    source: str | None = None
    target: str | None = None


class _Forgetting(_Strict):
    set: str
    before: dict[str, float]
    after: dict[str, float]


class Metrics(_Strict):
    """metrics.json of a finished run: its scores, and its cost."""

    task: str | None = None
    set: str | None = None
    steps: _Count | None = None
    parameters: _Count | None = None
    tokens: _Count | None = None
    seconds: _Seconds | None = None
    precision: str | None = None
    decoding_seconds: _Seconds | None = None
    engine: str | None = None
    sentences: _Count | None = None
    texts: _Count | None = None
    evaluated_words: _Count | None = None
    languages: _Languages | None = None
    labels: list[str] | None = None
    confusion: list[list[_Count]] | None = None
    notes: list[str] = Field(default_factory=list)
    forgetting: _Forgetting | None = None
    signatures: dict[str, str] | None = None

    @model_validator(mode="after")
    def _check_scores(self) -> Self:
        for name, value in (self.model_extra or {}).items():
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if name in METRICS and value is not None and not number:
                raise ValueError(f"{name} = {value!r}: input should be a number")
        return self


class _Event(_Strict):
    """A line of log.jsonl."""

    event: str | None = None
    step: _Count = 0
    seconds: _Seconds | None = None


class _Step(_Event):
    tokens: _Count | None = None


class _Sample(_Strict):
    source: str = ""
    reference: str = ""
    hypothesis: str = ""


class _Validated(_Event):
    samples: list[_Sample] | None = None


class _Part(_Strict):
    name: str


class _Diagnosed(_Event):
    parts: list[_Part]


_EVENTS: dict[str, type[_Event]] = {"step": _Step, "validated": _Validated, "diagnosed": _Diagnosed}


class TranslationRow(_Strict):
    """A line of translations.jsonl."""

    source: str
    reference: str
    hypothesis: str
    score: float
    gold: str = ""


class CaptionRow(_Strict):
    """A line of captions.jsonl."""

    picture: str
    reference: str
    hypothesis: str
    score: float
    references: tuple[str, ...] = ()


class PictureRow(_Strict):
    """A line of predictions.jsonl of a classifier of pictures."""

    picture: str
    expected: str
    found: str
    probability: float
    probability_of_expected: float
    png: str | None = None


class ForecastRow(_Strict):
    """A line of forecasts.jsonl."""

    series: str
    origin: str
    times: list[str]
    past: list[float]
    truth: list[float]
    forecast: list[float]
    quantiles: dict[str, list[float]]
    mse: float


def read_metrics(run: Path) -> dict[str, Any]:
    """metrics.json of a run."""
    path = run / "metrics.json"
    with_fix = f"leave {run} out"
    return _checked(_parsed(_text(path, with_fix), str(path), with_fix), str(path), Metrics, with_fix)


def read_rows(path: Path, row: type[Record] = _Strict) -> list[dict[str, Any]]:
    """The lines of a results file, each a `row`."""
    fix = "run `regard train` again with another --out"
    lines = _text(path, fix).split("\n")
    return [
        _checked(_parsed(line, f"{path}:{number}", fix), f"{path}:{number}", row, fix)
        for number, line in enumerate(lines, 1)
        if line
    ]


def row_with(columns: Sequence[str]) -> type[Record]:
    """The record of a line that has these columns: texts, or lists of texts such as the tags of words."""
    fields: dict[str, Any] = dict.fromkeys(columns, (str | list[str], ...))
    return create_model("Row", __base__=_Strict, **fields)


def read_events(path: Path) -> list[dict[str, Any]]:
    """The events of a log.jsonl. An incomplete last line is ignored."""
    fix = "remove the line or restore the log"
    events = []
    for number, line in _lines(path):
        where = f"{path}:{number}"
        try:
            event = _parsed(line.decode("utf-8", "replace"), where, fix)
        except DataError:
            if not line.endswith(b"\n"):  # the writer was stopped here
                break
            raise DataError(f"{where}: not a JSON object; {fix}") from None
        if not isinstance(event, dict):
            raise DataError(f"{where}: not a JSON object; {fix}")
        kind = event.get("event")
        events.append(_checked(event, where, _EVENTS.get(kind, _Event) if isinstance(kind, str) else _Event, fix))
    return events


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a log that are not blank, with their numbers."""
    try:
        for number, line in enumerate(bounded_lines(path), 1):
            if line.strip():
                yield number, line
    except FileError as error:
        raise DataError(str(error)) from None
    except OSError as error:
        refuse_exhausted(path, error)
        raise DataError(
            f"{path}: cannot read the log ({error.strerror}); name a run directory that holds one"
        ) from None


def _text(path: Path, fix: str) -> str:
    try:
        return read_text(path, _LARGEST)
    except FileError as error:
        raise DataError(f"{error}; {fix}") from None
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError):
            refuse_exhausted(path, error)
        raise DataError(f"{path}: cannot be read as UTF-8 text: {error}; {fix}") from None


_LARGEST = 1 << 30  # bytes of a results file: a test set of millions of sentences


def _parsed(text: str, where: str, fix: str) -> Any:
    try:
        return parse_json(text, f"{where}: damaged")
    except FileError as error:
        raise DataError(f"{error}; {fix}") from None


def _checked(value: Any, where: str, kind: type[Record], fix: str) -> dict[str, Any]:
    """The value as it is, if it is an object that fits the record."""
    try:
        kind.parse(value, where)
    except ConfigError as error:
        raise DataError(f"{error}; {fix}") from None
    assert isinstance(value, dict)
    return value
