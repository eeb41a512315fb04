"""The file formats of pairs, and which files a command line names. It opens no file."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.data.config import LANGUAGE_SETTINGS, STDIN, find_language
from regard.data.corpus_config import language_of
from regard.errors import ConfigError, DataError

LanguagePair = tuple[str | None, str | None]
PairFormat = Literal["tsv", "jsonl", "tmx", "parquet", "zip"]
"""The formats that hold both sides in one file."""
FileFormat = Literal["moses", "tsv", "jsonl", "tmx", "parquet", "zip"]
"""The same, and two text files, as Moses has them: line n of one translates line n of the other."""

FORMATS: dict[str, PairFormat] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "tsv",
    "": "tsv",  # standard input, /dev/fd/63
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".tmx": "tmx",
    ".parquet": "parquet",
    ".zip": "zip",
}
"""Suffix of a file name -> format. `.gz` may follow the suffix of a text format."""
FILE_FORMATS: tuple[FileFormat, ...] = ("moses", "tsv", "jsonl", "tmx", "parquet", "zip")
PACKED: frozenset[FileFormat] = frozenset({"parquet", "zip"})
"""Formats that are compressed in themselves, and read from any place of a file: neither .gz nor standard input."""
_WITHOUT_LINES = ("tmx", "parquet", "zip")


@dataclass(frozen=True)
class PairFiles:
    """The files of one corpus: one, or the two of Moses."""

    kind: FileFormat
    paths: tuple[str, ...]

    @property
    def source(self) -> str | None:
        return self.paths[0] if self.kind == "moses" else None

    @property
    def target(self) -> str | None:
        return self.paths[1] if self.kind == "moses" else None

    @property
    def pairs(self) -> str | None:
        return None if self.kind == "moses" else self.paths[0]

    @property
    def form(self) -> PairFormat | None:
        """The format of `pairs`."""
        return None if self.kind == "moses" else self.kind

    @property
    def name(self) -> str:
        """The files in messages."""
        return " and ".join("stdin" if path == STDIN else path for path in self.paths)

    @property
    def languages(self) -> LanguagePair:
        """The languages that the suffixes of two files tell."""
        return (language_of(self.source), language_of(self.target)) if self.kind == "moses" else (None, None)


def pair_format(path: str | Path) -> PairFormat:
    """The format of a file that holds both sides, by its suffix."""
    suffix = _suffix(path)
    if suffix not in FORMATS:
        raise DataError(
            f"{path}: pairs are read from .tsv, .jsonl and .tmx (also .gz), .parquet and .zip, not from {suffix!r}; "
            "convert the file, or give two text files as src and tgt"
        )
    return FORMATS[suffix]


def has_lines(path: str | Path) -> bool:
    """Whether a file of this name consists of lines."""
    return FORMATS.get(_suffix(path)) not in _WITHOUT_LINES


def _suffix(path: str | Path) -> str:
    return Path(str(path).removesuffix(".gz")).suffix.lower()


def take_files(names: Sequence[str], kind: str | None, option: str, usage: str) -> tuple[PairFiles, Sequence[str]]:
    """The corpus that the first names are, and the other names. kind: its format; None: what the name tells."""
    if not names:
        raise ConfigError(
            f"a file is missing; give {usage}, each one file or the two of a Moses pair, train.en train.de"
        )
    if kind is not None and kind not in FILE_FORMATS:
        raise ConfigError(f"{option} {kind}: not one of {', '.join(FILE_FORMATS)}")
    by_name: FileFormat = FORMATS.get(_suffix(names[0]), "moses")
    form = next((name for name in FILE_FORMATS if name == kind), by_name)
    size = 2 if form == "moses" else 1
    if (
        kind is None
        and size == 2
        and len(names) > 1
        and names[1] != STDIN
        and _suffix(names[1]) in FORMATS
        and _suffix(names[1])
    ):
        raise ConfigError(
            f"{names[0]}: neither the name of a format ({', '.join(filter(None, FORMATS))}) nor, with {names[1]}, of a Moses pair; "
            f"say what it is: {option} {'|'.join(FILE_FORMATS)}"
        )
    if len(names) < size:
        raise ConfigError(
            f"{names[0]}: by its name one side of a Moses pair, whose other file is missing; give both, train.en train.de, "
            f"or the format of the file: {option} {'|'.join(FILE_FORMATS[1:])}"
        )
    paths = tuple(names[:size])
    if paths.count(STDIN) > 1:
        raise ConfigError("'-' stands for one side of a Moses pair at most; give the other as a file")
    if form in PACKED and (paths[0] == STDIN or paths[0].endswith(".gz")):
        raise ConfigError(f"{paths[0]}: {form} is neither piped nor packed as .gz; give a file such as corpus.{form}")
    return PairFiles(form, paths), names[size:]


def language_keys(available: Collection[str], languages: LanguagePair, where: str) -> tuple[str, str]:
    """The keys of source and target among languages such as `en` and `de_DE`."""
    source, target = (_language_key(available, language, where) for language in languages)
    return source, target


def _language_key(available: Collection[str], language: str | None, where: str) -> str:
    listed = ", ".join(available)
    if language is None:
        raise DataError(f"{where}: languages {listed}; say which is which with {LANGUAGE_SETTINGS}")
    key = find_language(language, available)
    if key is None:
        raise DataError(f"{where}: no text in {language!r}, only in {listed}; set {LANGUAGE_SETTINGS}")
    return key
