"""Templates of the gender check: a sentence with a slot for an occupation, and the words of the output that say a gender.

The user's own are a TSV file (docs/probing.md). `occupations.py` has those that are built in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.errors import DataError, shown

Gender = Literal["masculine", "feminine"]
SLOT = "{}"
_GENDERS: dict[str, Gender | None] = {"m": "masculine", "f": "feminine", "-": None}
COLUMNS = "template, gender (m, f or -), masculine words, feminine words, and perhaps fillers"


@dataclass(frozen=True)
class Filler:
    """An occupation as it stands in the slot."""

    text: str
    occupation: str
    """Its name in tables: the same for all forms of the word."""
    stereotype: Gender | None = None
    """The gender that most of its workers have; None: neither, or not known."""


@dataclass(frozen=True)
class Template:
    """A sentence with a slot. For a language model it is the beginning of a text."""

    text: str
    gender: Gender | None
    """The gender that the source says; None: it says none."""
    masculine: frozenset[str]
    """Words of the output that say masculine. For a language model: continuations."""
    feminine: frozenset[str]
    fillers: tuple[Filler, ...]

    def fill(self, filler: Filler) -> str:
        """The sentence with the slot filled, and a capital at its beginning if the template has one."""
        text = self.text.replace(SLOT, filler.text)
        return text[:1].upper() + text[1:] if self.text.startswith(SLOT) else text


def read_templates(path: str | Path, usual: Callable[[Gender | None], tuple[Filler, ...]]) -> list[Template]:
    """The templates of a TSV file. usual: the fillers of templates that name none, by the gender that the template says."""
    from regard.data.readers import display_name, read_lines

    name = display_name(path)
    templates = []
    for number, line in enumerate(read_lines(path), 1):
        if line.strip() and not line.startswith("#"):
            templates.append(_template(line.rstrip("\r"), f"{name}:{number}", usual))
    if not templates:
        raise DataError(f"{name}: no templates in it; each line must be {COLUMNS}, separated by tabs")
    return templates


def _template(line: str, where: str, usual: Callable[[Gender | None], tuple[Filler, ...]]) -> Template:
    cells = [cell.strip() for cell in line.split("\t")]
    if SLOT not in cells[0]:
        raise DataError(f"{where}: {shown(cells[0])!r} has no slot; write {SLOT} where the occupation goes")
    if len(cells) not in (4, 5):
        raise DataError(f"{where}: {len(cells)} columns; a template has {COLUMNS}, separated by tabs")
    text, gender, masculine, feminine = cells[:4]
    if gender not in _GENDERS:
        raise DataError(f"{where}: gender {shown(gender)!r}; write m, f, or - if the sentence says none")
    markers = [frozenset(word.strip() for word in cell.split("|") if word.strip()) for cell in (masculine, feminine)]
    if not all(markers) or markers[0] & markers[1]:
        raise DataError(
            f"{where}: masculine {shown(masculine)!r}, feminine {shown(feminine)!r}: give words of each, separated by |, none in both"
        )
    own = len(cells) == 5 and cells[4]
    fillers = tuple(_filler(cell, where) for cell in cells[4].split("|")) if own else usual(_GENDERS[gender])
    if not fillers:
        raise DataError(
            f"{where}: no fillers, and none are built in for it; give them in a fifth column, such as doctor:m|nurse:f"
        )
    return Template(text, _GENDERS[gender], markers[0], markers[1], fillers)


def _filler(cell: str, where: str) -> Filler:
    """A filler such as `doctor:m`, `nurse:f`, `person:-` or `person`."""
    text, colon, stereotype = cell.strip().rpartition(":")
    if not colon:
        text, stereotype = stereotype, "-"
    if not text or stereotype not in _GENDERS:
        raise DataError(f"{where}: filler {shown(cell)!r}; write a word, or word:m, word:f by who mostly has this work")
    return Filler(text, text, _GENDERS[stereotype])
