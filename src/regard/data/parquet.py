"""Reads and writes pairs in parquet files, in bounded memory, by pyarrow (the extra `parquet`).

Columns: `translation`, a struct of languages, as in Hugging Face's datasets; or `source` and `target`; or columns that are named by the
languages. A file may come from a stranger: what unpacks to many times its size is refused, as for .gz.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.data.config import LANGUAGE_SETTINGS, find_language
from regard.data.formats import LanguagePair, language_keys
from regard.data.opening import FREE_BYTES, MOST_RATIO, REFUSED_LINE
from regard.errors import DataError, FileError
from regard.extras import require
from regard.foreign import open_regular, refuse_exhausted

ROWS = 8_000
"""Rows that are held at once while reading; a text that they share is held once."""
GROUP_ROWS = 50_000
"""Rows of a group, which are held at once while writing."""
_BUFFER = 1 << 20
_METADATA_BYTES = 64 << 20
_MEND = "write it again, or convert it elsewhere to .tsv or .jsonl"


def require_pyarrow(name: str) -> None:
    """Refuse a parquet file where pyarrow is not installed."""
    require("pyarrow", f"reading or writing {name}")
    import pyarrow

    # imports pandas if it is there, and Ctrl-C in an import ends the process at once: before a file is begun
    pyarrow.array([""])


def parquet_pairs(path: str | Path, languages: LanguagePair) -> Iterator[tuple[str, str]]:
    """The pairs of a parquet file, row by row."""
    return ((row[0], row[1]) for row in parquet_rows(path, languages))


def parquet_rows(path: str | Path, languages: LanguagePair, further: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """Source, target and further columns of text, row by row."""
    name = str(path)
    require_pyarrow(name)
    with _read_errors(name), open_regular(Path(path)) as stream:
        size = os.fstat(stream.fileno()).st_size
        sides = _sides(_opened(stream).schema_arrow, languages, name, further)
        columns = list(dict.fromkeys(".".join(side) for side in sides))
        file = _opened(stream, columns)
        row, unpacked = 0, 0
        for batch in file.iter_batches(batch_size=ROWS, columns=columns, use_threads=False):
            texts = [_texts(batch, side) for side in sides]
            for values in zip(*texts, strict=True):
                row += 1
                for text, side in zip(values, sides, strict=True):
                    if not isinstance(text, str):
                        raise DataError(
                            f"{name}: row {row}: no text under {'.'.join(side)!r}; remove the row, or fill it"
                        )
                    unpacked += len(text)
                    if len(text) > REFUSED_LINE:
                        raise DataError(
                            f"{name}: row {row}: a text of more than {REFUSED_LINE:,} characters; break it into sentences"
                        )
            if unpacked > FREE_BYTES and unpacked > MOST_RATIO * size:
                raise DataError(
                    f"{name}: row {row}: unpacks to more than {MOST_RATIO} times its size, which text does not; {_MEND}"
                )
            yield from zip(*texts, strict=True)


def _opened(stream: Any, columns: Sequence[str] = ()) -> Any:
    """The file, whose `columns` are read as dictionaries: a text that many rows share is in memory once."""
    import pyarrow.parquet as parquet

    return parquet.ParquetFile(
        stream,
        read_dictionary=list(columns),
        buffer_size=_BUFFER,
        pre_buffer=False,
        thrift_string_size_limit=_METADATA_BYTES,
        thrift_container_size_limit=_METADATA_BYTES,
    )


def _texts(batch: Any, side: tuple[str, ...]) -> list[str | None]:
    """The texts of a column; rows with one text share one string."""
    import pyarrow.compute as compute

    column = batch.column(side[0])
    if len(side) > 1:
        column = compute.struct_field(column, side[1])
    lengths = compute.binary_length(column.dictionary).take(column.indices)
    if (compute.sum(lengths).as_py() or 0) <= FREE_BYTES:
        short: list[str | None] = column.dictionary_decode().to_pylist()
        return short
    places = column.indices.to_pylist()
    used = sorted({place for place in places if place is not None})
    texts = dict(zip(used, column.dictionary.take(used).to_pylist(), strict=True)) if used else {}
    return [None if place is None else texts[place] for place in places]


def _sides(schema: Any, languages: LanguagePair, name: str, further: Sequence[str] = ()) -> tuple[tuple[str, ...], ...]:
    """The columns of source and target, the field of a struct too, and further ones. Refused is what is no text."""
    import pyarrow.types as types

    fields = {field.name: field.type for field in schema}
    if "translation" in fields and types.is_struct(fields["translation"]):
        texts = {field.name: field.type for field in fields["translation"]}
        source, target = language_keys(texts, languages, name)
        sides: tuple[tuple[str, ...], ...] = ("translation", source), ("translation", target)
        found: tuple[Any, ...] = texts[source], texts[target]
    else:
        keys: tuple[str | None, str | None] = ("source", "target")
        if not {"source", "target"} <= fields.keys() and languages[0] is not None and languages[1] is not None:
            keys = find_language(languages[0], fields), find_language(languages[1], fields)
        left, right = keys
        if left is None or right is None or not {left, right} <= fields.keys():
            raise DataError(
                f"{name}: no columns 'source' and 'target', 'translation' or languages, but {', '.join(fields) or 'none'}; "
                f"rename them, or set {LANGUAGE_SETTINGS}"
            )
        sides = (left,), (right,)
        found = fields[left], fields[right]
    lacking = next((column for column in further if column not in fields), None)
    if lacking is not None:
        raise DataError(f"{name}: no column {lacking!r}, but {', '.join(fields)}; each row names its languages there")
    sides, found = (*sides, *((column,) for column in further)), (*found, *map(fields.__getitem__, further))
    for side, kind in zip(sides, found, strict=True):
        plain = kind.value_type if types.is_dictionary(kind) else kind
        if not (types.is_string(plain) or types.is_large_string(plain) or types.is_string_view(plain)):
            raise DataError(f"{name}: column {'.'.join(side)!r} is of type {kind}, not of texts; {_MEND}")
    return sides


@contextmanager
def _read_errors(name: str) -> Iterator[None]:
    """Turn what pyarrow and the system say of a file into a `DataError`."""
    import pyarrow

    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{name}: no such file; check the path") from None
    except FileError as error:
        raise DataError(f"{error}; give a file") from None
    except (DataError, MemoryError):
        raise
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError):
            refuse_exhausted(Path(name), error)
            if error.errno is not None:
                raise DataError(f"{name}: cannot be read: {error.strerror or error}; check the path") from None
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{name}: not a parquet file that can be read ({reason}); {_MEND}") from None


class ParquetWriter:
    """Writes pairs as rows of `translation`, or of `source` and `target` if the languages are not known."""

    def __init__(self, path: Path, languages: LanguagePair) -> None:
        import pyarrow
        import pyarrow.parquet as parquet

        source, target = languages
        text = pyarrow.string()
        self._struct = None
        if source is None or target is None:
            self._schema = pyarrow.schema([("source", text), ("target", text)])
        else:
            self._struct = pyarrow.struct([(source, text), (target, text)])
            self._schema = pyarrow.schema([("translation", self._struct)])
        self._writer = parquet.ParquetWriter(path, self._schema, compression="zstd")
        self._sources: list[str] = []
        self._targets: list[str] = []
        self.altered = 0

    def write(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        self._sources += sources
        self._targets += targets
        if len(self._sources) >= GROUP_ROWS:
            self._write_group()

    def close(self) -> None:
        self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        import pyarrow

        columns = [pyarrow.array(texts, pyarrow.string()) for texts in (self._sources, self._targets)]
        if self._struct is not None:
            columns = [pyarrow.StructArray.from_arrays(columns, fields=list(self._struct))]
        self._writer.write_table(pyarrow.Table.from_arrays(columns, schema=self._schema))
        self._sources, self._targets = [], []
