"""The settings of one of several corpora, and the directions that its pairs are read in. It opens no file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Self

from pydantic import Field, model_validator

from regard.settings import Settings

Direction = tuple[str, str]
"""(source language, target language)"""

MOST_WEIGHT = 1_000

_LANGUAGE = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"  # also the form of a language in `text.reserved`
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}([-_][A-Za-z]{2,4})?")
_FILE_KIND = re.compile(r"txt|raw|tok|bpe|spm|src|trg|tgt|ref|in|out|lc|low|tc|csv|tsv|tab|tmx|xml|dat|bin|log|md")

Language = Annotated[str, Field(pattern=_LANGUAGE)]


class CorpusData(Settings):
    """One of several parallel corpora."""

    src: str | None = None
    """Source side, one sentence a line, as data.src."""

    tgt: str | None = None
    """Target side, as data.tgt."""

    pairs: str | None = None
    """Both sides in one file, as data.pairs."""

    weight: float = Field(default=1.0, gt=0, le=MOST_WEIGHT)
    """How often each pair is seen in an epoch: 3 thrice, 0.25 in every fourth epoch, 1.5 once and in every second epoch twice."""

    src_lang: Language | None = None
    """Source language of this corpus; by default data.src_lang, or the suffix of `src`."""

    tgt_lang: Language | None = None
    """Target language of this corpus; by default data.tgt_lang, or the suffix of `tgt`."""

    both: bool = False
    """Read the corpus in both directions."""

    directions: tuple[tuple[Language, Language], ...] = ()
    """Directions of a file of pairs whose third and fourth columns, or keys `src_lang` and `tgt_lang`, name the languages of each."""

    valid_src: str | None = None
    """Source side of the validation text of this direction."""

    valid_tgt: str | None = None
    """Target side of the validation text of this direction."""

    valid_pairs: str | None = None
    """Both sides of the validation text in one file, as `pairs`."""

    test_src: str | None = None
    """Source side of the test text of this direction."""

    test_tgt: str | None = None
    """Target side of the test text of this direction."""

    test_pairs: str | None = None
    """Both sides of the test text in one file, as `pairs`."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        for prefix in ("", "valid_", "test_"):
            check_sides(self, f"{prefix}src", f"{prefix}tgt")
            check_one_form(self, f"{prefix}src", f"{prefix}pairs")
        if self.src is None and self.pairs is None:
            raise ValueError("a corpus without files; give src and tgt, or pairs")
        return self

    @model_validator(mode="after")
    def _one_way_to_name_languages(self) -> Self:
        if self.src_lang is not None and self.src_lang == self.tgt_lang:
            raise ValueError(
                f"src_lang and tgt_lang are both {self.src_lang!r}; a model translates between two languages"
            )
        if not self.directions:
            return self
        if self.pairs is None:
            raise ValueError(
                "directions: needs pairs, a file with the languages of each pair; of src and tgt set src_lang and tgt_lang"
            )
        for name in ("src_lang", "tgt_lang", "valid_src", "test_src"):
            if getattr(self, name) is not None:
                instead = "leave it out" if name.endswith("lang") else f"give {name.replace('src', 'pairs')}"
                raise ValueError(
                    f"{name} = {getattr(self, name)!r}: directions say that each pair names its languages; {instead}"
                )
        for number, (source, target) in enumerate(self.directions):
            if source == target:
                raise ValueError(f"directions: {source!r} to itself; name two languages")
            if (source, target) in self.directions[:number]:
                raise ValueError(f"directions: {source!r} to {target!r} is named twice; name it once")
            if self.both and (target, source) in self.directions:
                raise ValueError(
                    f"both: directions already name {source!r} to {target!r} and back; leave one of them out"
                )
        return self


@dataclass(frozen=True, slots=True)
class Directed:
    """A corpus in one direction."""

    corpus: int
    """Its number among the training corpora, from 0."""
    source: str | None
    target: str | None
    swapped: bool = False
    """Whether the sides of the files are exchanged."""
    by_column: bool = False
    """Whether each pair names its languages, and only those of this direction are meant."""

    @property
    def direction(self) -> Direction:
        """The two languages, which are known."""
        assert self.source is not None
        assert self.target is not None
        return self.source, self.target

    @property
    def stored(self) -> tuple[str | None, str | None]:
        """The languages of the two sides as the file has them."""
        return (self.target, self.source) if self.swapped else (self.source, self.target)


def directed_corpora(
    rows: Sequence[CorpusData], src_lang: str | None = None, tgt_lang: str | None = None
) -> tuple[Directed, ...]:
    """Every corpus in each of its directions. src_lang, tgt_lang: of corpora that do not name their own."""
    parts: list[Directed] = []
    for number, row in enumerate(rows):
        named: list[tuple[str | None, str | None]] = [
            (row.src_lang or src_lang or language_of(row.src), row.tgt_lang or tgt_lang or language_of(row.tgt))
        ]
        for source, target in row.directions or named:
            by_column = bool(row.directions)
            parts.append(Directed(number, source, target, by_column=by_column))
            if row.both:
                parts.append(Directed(number, target, source, swapped=True, by_column=by_column))
    return tuple(parts)


def several_directions(parts: Sequence[Directed], rows: Sequence[CorpusData]) -> tuple[Direction, ...]:
    """The directions of a mixture in the order of their corpora, where there are several; else empty.

    A `ValueError` refuses what is unclear.
    """
    known = dict.fromkeys(part.direction for part in parts if part.source and part.target)
    sides = {part.source for part in parts if part.source}, {part.target for part in parts if part.target}
    several = len(known) > 1 or max(map(len, sides)) > 1 or any(row.both for row in rows)
    if not several:
        return ()
    for part in parts:
        row = rows[part.corpus] if rows else None
        name = "the pocket corpus" if row is None else f"{row.pairs or row.src}"
        if not (part.source and part.target):
            side = "tgt" if part.stored[0] else "src"
            raise ValueError(
                f"{name}: a corpus without languages among several directions; give it {side}_lang, such as {side}_lang = 'en'"
            )
        if part.source == part.target:
            raise ValueError(f"{name}: from {part.source!r} to itself; set src_lang and tgt_lang of this corpus")
        unfit = next((name for name in part.direction if not re.fullmatch(_LANGUAGE, name)), None)
        if unfit is not None:
            raise ValueError(
                f"{name}: {unfit!r} is no name of a language for a tag; use letters, digits and hyphens, such as 'en'"
            )
    return tuple(known)


def check_parts(rows: Sequence[CorpusData], parts: Sequence[Directed]) -> None:
    """Refuse validation or test text for some of several directions only."""
    for prefix, meaning in (("valid", "validation"), ("test", "test")):
        given: dict[Direction, bool] = {}
        for part in parts:
            row = rows[part.corpus]
            own = getattr(row, f"{prefix}_src") is not None or getattr(row, f"{prefix}_pairs") is not None
            given[part.direction] = given.get(part.direction, False) or own
        having = [direction for direction, has_text in given.items() if has_text]
        lacking = [direction for direction, has_text in given.items() if not has_text]
        if having and lacking:
            raise ValueError(
                f"corpora: {meaning} text for {direction_name(having[0])}, but none for {direction_name(lacking[0])}; "
                f"give its corpus {prefix}_src and {prefix}_tgt, or leave them out everywhere"
            )


def refuse_own_parts(rows: Sequence[CorpusData]) -> None:
    """Refuse validation and test text of single corpora where all have one direction."""
    for number, row in enumerate(rows):
        for name in ("valid_src", "valid_pairs", "test_src", "test_pairs"):
            if getattr(row, name) is not None:
                general = "test_src and data.test_tgt" if name == "test_pairs" else name
                raise ValueError(
                    f"corpora.{number}.{name} = {getattr(row, name)!r}: the corpora have one direction; set data.{general}"
                )


def direction_name(direction: Direction) -> str:
    """A direction in messages and as a key of metrics, such as `en-de`."""
    return "-".join(direction)


def check_sides(settings: Settings, source: str, target: str) -> None:
    """Refuse one side of a corpus without the other."""
    given = {name: getattr(settings, name) for name in (source, target)}
    for name, other_side in ((source, target), (target, source)):
        if given[name] is not None and given[other_side] is None:
            raise ValueError(f"{name} = {given[name]!r} needs {other_side}, the same sentences in the other language")


def check_one_form(settings: Settings, source: str, pairs: str) -> None:
    """Refuse a corpus that is given both as two files and as one."""
    if getattr(settings, source) is not None and getattr(settings, pairs) is not None:
        raise ValueError(f"{source} and {pairs} exclude each other; give {source} with its target side, or {pairs}")


def language_of(path: str | None) -> str | None:
    """The language that the suffix of a text file names, as in `train.en` and `train.en.gz`."""
    if path is None:
        return None
    suffix = PurePath(path.removesuffix(".gz")).suffix.removeprefix(".")
    return suffix if _LANGUAGE_CODE.fullmatch(suffix) and not _FILE_KIND.fullmatch(suffix) else None
