"""Reads the files of tasks that are no translation, as pairs: `regard data convert --from scan`, and so on.

| name | content | pair |
| --- | --- | --- |
| `scan` | `IN: walk twice OUT: I_WALK I_WALK` | command, actions |
| `cmudict` | `read(2)  R EH1 D # past` | letters with spaces between them, phonemes |
| `cmudict-unstressed` | the same | the same without the digits of stress; a pronunciation that then repeats is left out |
| `code` | two files, description and line of code | words and marks of the description with spaces between them, the code |
| `cogs` | sentence, tab, logical form, tab, type | sentence, logical form |
| `scitldr` | JSON lines of abstracts (`data.summaries`) | abstract, its first summary |
| `scitldr-2` .. `-5` | the same | abstract, its second .. fifth summary; nothing where it has none |
| `scitldr-lead`, `-central` | the same | abstract, its first sentence, or the one most like the others |
| `scitldr-oracle`, `-title` | the same | abstract, the sentence nearest to its summaries, or its title |

So what trains on pairs trains on these. They are never told by the name of a file.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from regard.data.config import STDIN
from regard.data.convert import PairReader, read_files
from regard.data.formats import FILE_FORMATS, LanguagePair, PairFiles, take_files
from regard.data.readers import Pair, display_name, read_lines, stored_pairs
from regard.data.summaries import central, lead, oracle, reference, summary_pairs, title
from regard.errors import ConfigError, DataError, shown

MOST_REFERENCES = 5
_SCAN = re.compile(r"IN: (.+?) OUT: (.+)")
_VARIANT = re.compile(r"(.+?)\(\d+\)")
_PHONEME = re.compile(r"[A-Z]+[0-2]?")
_COMMENT = ";;;"  # of releases before 2014
# Of a description: a quoted text with its quotation marks, a word or number, any other mark.
_PARTS = re.compile(r"""(?<!\w)(?:"[^"]*"|'[^']*')(?!\w)|\w+|[^\w\s]""")


@dataclass(frozen=True)
class TaskFormat:
    """A format that is read and never written."""

    files: int
    """How many files hold a corpus."""
    read: Callable[[Sequence[str]], Iterator[Pair]]
    """The paths -> the pairs."""


def take_corpus(names: Sequence[str], read_as: str | None, usage: str) -> tuple[PairFiles, PairReader, Sequence[str]]:
    """The corpus that the first names of a command line are, how it is read, and the other names. read_as: what `--from` says."""
    form = TASK_FORMATS.get(read_as or "")
    if form is None:
        if read_as is not None and read_as not in FILE_FORMATS:
            raise ConfigError(f"--from {read_as}: not one of {', '.join((*FILE_FORMATS, *TASK_FORMATS))}")
        files, rest = take_files(names, read_as, "--from", usage)
        return files, read_files, rest
    paths = tuple(names[: form.files])
    if len(names) <= form.files:
        needed = usage if form.files == 1 else usage.replace("IN", "DESCRIPTIONS CODE")
        raise ConfigError(f"--from {read_as}: {len(names)} file name{'s' * (len(names) != 1)}; give {needed}")
    if paths.count(STDIN) > 1:
        raise ConfigError("standard input '-' can be read only once; give one of the two as a file")
    return PairFiles("tsv" if form.files == 1 else "moses", paths), partial(_task_pairs, form), names[form.files :]


def split_files(
    names: Sequence[str], read_as: str | None, write_as: str | None
) -> tuple[PairFiles, PairFiles, PairReader]:
    """The files to read and to write, from the names of a command line, and how they are read: IN OUT, each one corpus."""
    source, read, rest = take_corpus(names, read_as, "IN OUT")
    output, more = take_files(rest, write_as, "--to", "IN OUT")
    if more:
        raise ConfigError(
            f"{more[0]}: {len(names)} files; give IN and OUT, each one file or the two of a Moses pair "
            "(train.en train.de), and --from or --to if the names do not tell the format"
        )
    return source, output, read


def _task_pairs(form: "TaskFormat", files: PairFiles, _languages: LanguagePair) -> Iterator[Pair]:
    return form.read(files.paths)


def spelled(word: str) -> str:
    """The letters of a word with spaces between them, as a model of pronunciation reads it."""
    return " ".join(word)


def parted(description: str) -> str:
    """A description with its words, marks and quoted texts apart, so that `self._lock` has the pieces of the code `self . _lock`."""
    return " ".join(_PARTS.findall(description))


def _scan(paths: Sequence[str]) -> Iterator[Pair]:
    for number, line in _numbered(paths[0]):
        found = _SCAN.fullmatch(line.strip())
        if found is None:
            raise DataError(
                f"{display_name(paths[0])}:{number}: {shown(line, 60)} is not of SCAN; each line must be IN: command OUT: actions"
            )
        yield found[1], found[2]


def _cmudict(paths: Sequence[str]) -> Iterator[Pair]:
    for number, line in _numbered(paths[0]):
        entry = line.strip()
        word, *phonemes = entry.split(" #")[0].split()
        if entry.startswith(_COMMENT) or word == "#":  # "#HASH-MARK" is a word
            continue
        wrong = next((phoneme for phoneme in phonemes if not _PHONEME.fullmatch(phoneme)), None)
        if not phonemes or wrong is not None:
            what = "no phonemes" if wrong is None else f"{shown(wrong, 20)} is no phoneme"
            raise DataError(
                f"{display_name(paths[0])}:{number}: {what}; each line must be a word and its phonemes, as in cat K AE1 T"
            )
        variant = _VARIANT.fullmatch(word)
        yield spelled(variant[1] if variant else word), " ".join(phonemes)


def _unstressed(paths: Sequence[str]) -> Iterator[Pair]:
    """The variants of a word follow each other."""
    before, known = "", set[str]()
    for word, phonemes in _cmudict(paths):
        plain = " ".join(phoneme.rstrip("012") for phoneme in phonemes.split())
        if word != before:
            before, known = word, set()
        if plain not in known:
            known.add(plain)
            yield word, plain


def _code(paths: Sequence[str]) -> Iterator[Pair]:
    for description, code in stored_pairs(paths[0], paths[1]):
        yield parted(description), " ".join(code.split())


def _cogs(paths: Sequence[str]) -> Iterator[Pair]:
    for sentence, form, _ in typed_rows(paths[0]):
        yield sentence, form


def typed_rows(path: str) -> Iterator[tuple[str, str, str]]:
    """The rows of a file of COGS: sentence, logical form, type."""
    for number, line in _numbered(path):
        columns = line.split("\t")
        if len(columns) != 3:
            raise DataError(
                f"{display_name(path)}:{number}: {len(columns)} column{'s' * (len(columns) != 1)}; "
                "each line must be sentence<TAB>logical form<TAB>type"
            )
        yield columns[0], columns[1], columns[2]


def _numbered(path: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            yield number, line.removesuffix("\r")


TASK_FORMATS: dict[str, TaskFormat] = {
    "scan": TaskFormat(1, _scan),
    "cmudict": TaskFormat(1, _cmudict),
    "cmudict-unstressed": TaskFormat(1, _unstressed),
    "code": TaskFormat(2, _code),
    "cogs": TaskFormat(1, _cogs),
    "scitldr": TaskFormat(1, partial(summary_pairs, partial(reference, number=0))),
    **{
        f"scitldr-{number}": TaskFormat(1, partial(summary_pairs, partial(reference, number=number - 1)))
        for number in range(2, MOST_REFERENCES + 1)
    },
    "scitldr-lead": TaskFormat(1, partial(summary_pairs, lead)),
    "scitldr-central": TaskFormat(1, partial(summary_pairs, central)),
    "scitldr-oracle": TaskFormat(1, partial(summary_pairs, oracle)),
    "scitldr-title": TaskFormat(1, partial(summary_pairs, title)),
}
"""Name after `--from` -> reader."""
