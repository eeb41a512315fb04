"""Glossaries and protected strings of a server: those of its owner, of each direction, and those that a request brings.

A request may protect strings to the letter, and by the names of our own patterns. It may not bring a regular expression: one can be written
that takes forever. Those of the owner run with the time limit of `text/protected.py`.
"""

import re
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.data.corpus_config import Direction
from regard.errors import ConfigError, DataError
from regard.serve.errors import RequestError
from regard.serve.settings import LimitSettings, ServeSettings
from regard.tasks.translate.terms.glossary import Entry, Glossary, entry_of
from regard.tasks.translate.terms.guided import Terms
from regard.text.protected import DEFAULT, NUMBERS, Protection, literal

MOST_CHARACTERS = 2_000
"""Characters of one text with terms: what is looked for in it grows with their product."""
LONGEST = 100
"""Characters of a term, a form or a protected string of a request."""
MOST_FORMS = 10
"""Forms of a term of a request."""
NO_TERMS: Mapping[Direction, Terms] = {}
"""Of a server without glossaries and protected strings."""
_PAIR = re.compile(r"([^\s=/\\-]{2,20}-[^\s=/\\]{2,20})=(.+)")
_GIVE_PAIRS = 'give pairs of a term and its translation, as in [["chat", "tomcat"]]'


def glossary_files(given: Sequence[str]) -> dict[str, str]:
    """Direction -> file, of flags such as `terms.tsv` and `fr-en=terms.tsv`. The empty direction is the only one of the server."""
    files: dict[str, str] = {}
    for text in given:
        match = _PAIR.fullmatch(text)
        pair, file = (match[1], match[2]) if match else ("", text)
        if pair in files:
            which = f"{pair} has two files" if pair else "two files without their languages"
            raise ConfigError(f"--glossary {text}: {which}; write one for each direction, as in fr-en={file}")
        files[pair] = file
    return files


def owned_terms(settings: ServeSettings, directions: Collection[Direction]) -> dict[Direction, Terms]:
    """The terms of each direction that models translate, as the settings say. Reads the files."""
    protection = Protection.of(settings.protect) if settings.protect else None
    glossaries: dict[Direction, Glossary] = {}
    for pair, path in settings.glossary.items():
        direction = _direction(pair, path, list(dict.fromkeys(directions)))
        if direction in glossaries:
            raise ConfigError(
                f"glossary.{pair or '-'.join(direction)} = {path}: this direction has two files; join them"
            )
        glossaries[direction] = Glossary.read(path, *direction)
    if protection is None:
        return {direction: Terms(None, glossary) for direction, glossary in glossaries.items()}
    return {direction: Terms(protection, glossaries.get(direction)) for direction in directions}


def _direction(pair: str, path: Path, directions: Sequence[Direction]) -> Direction:
    """The direction of a glossary."""
    listed = ", ".join("-".join(direction) for direction in directions)
    if not pair:
        if len(directions) != 1:
            raise ConfigError(
                f"--glossary {path}: the server translates {listed or 'nothing'}; "
                f"say which direction, as in --glossary {'-'.join(directions[0]) if directions else 'fr-en'}={path}"
            )
        return directions[0]
    found = next((direction for direction in directions if "-".join(direction) == pair), None)
    if found is None:
        raise ConfigError(f"glossary.{pair} = {path}: no model translates that directly; there is {listed or 'none'}")
    return found


@dataclass(eq=False)
class RequestTerms:
    """The glossary and protected strings of one request, beside those of the server."""

    patterns: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    _made: dict[tuple[Direction, int], Terms] = field(default_factory=dict)
    _making: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def beside(self, owned: Terms | None, direction: Direction) -> Terms:
        """The terms of a direction: the request's before the server's. The same object each time, so that its texts share batches.

        The first call compiles patterns and takes tens of milliseconds: not in the event loop.
        """
        key = direction, id(owned)
        with self._making:
            if key not in self._made:
                protection, glossary = (owned.protection, owned.glossary) if owned else (None, None)
                if self.patterns:
                    protection = Protection.of([*(protection.patterns if protection else ()), *self.patterns])
                if self.entries:
                    glossary = Glossary(self.entries, *direction).before(glossary)
                self._made[key] = Terms(protection, glossary)
            return self._made[key]


def check_lengths(texts: Sequence[str]) -> None:
    """Refuse a text that is too long to look for terms in."""
    longest = max(map(len, texts), default=0)
    if longest > MOST_CHARACTERS:
        raise RequestError(
            f"a text of {longest} characters: with a glossary or protected strings it may have {MOST_CHARACTERS}; "
            "send sentences"
        )


def terms_of_request(glossary: Any, protect: Any, limits: LimitSettings) -> RequestTerms | None:
    """The terms in the fields of a request, as JSON or as texts of a form; None: it brings none. What is wrong is named.

    glossary: pairs of a term and its translation or several, or lines as in a file. protect: strings, `default` or `numbers`.
    """
    patterns = _patterns(protect, limits.protect)
    entries = _entries(glossary, limits.glossary)
    return RequestTerms(patterns, entries) if patterns or entries else None


def _patterns(given: Any, most: int) -> tuple[str, ...]:
    """The patterns of what a request protects."""
    strings = _listed(given, "protect", "give strings, default or numbers", most)
    patterns = []
    for number, string in enumerate(strings):
        place = f"protect[{number}]"
        if not isinstance(string, str):
            raise RequestError(f"{place}: not a text; give a string, default or numbers")
        _check_length(string, place)
        if not string.strip():
            raise RequestError(f"{place}: {string!r} is nothing to protect; give a string, default or numbers")
        patterns.append(string if string in (DEFAULT, NUMBERS) else literal(string.strip()))
    return tuple(dict.fromkeys(patterns))


def _entries(given: Any, most: int) -> tuple[Entry, ...]:
    """The terms that a request brings."""
    if isinstance(given, str):
        lines = (line.rstrip("\r") for line in given.split("\n"))
        given = [line for line in lines if line.strip() and not line.startswith("#")]
    entries = []
    for number, pair in enumerate(_listed(given, "glossary", _GIVE_PAIRS, most)):
        place = f"glossary[{number}]"
        if isinstance(pair, str):
            term, _, rest = pair.partition("\t")
            pair = [term, rest.split("|")] if rest else None
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise RequestError(f"{place}: no pair; {_GIVE_PAIRS}")
        term, forms = pair
        forms = [forms] if isinstance(forms, str) else forms
        if not isinstance(forms, list | tuple) or not all(isinstance(text, str) for text in (term, *forms)):
            raise RequestError(f"{place}: not texts; {_GIVE_PAIRS}")
        if len(forms) > MOST_FORMS:
            raise RequestError(f"{place}: {len(forms)} translations; a term of a request has at most {MOST_FORMS}")
        for text in (term, *forms):
            _check_length(text, place)
        try:
            entries.append(entry_of(term, forms, number + 1, place))
        except DataError as error:
            raise RequestError(str(error)) from None
    return tuple(entries)


def _listed(given: Any, name: str, fix: str, most: int) -> Sequence[Any]:
    """The items of a field: a list, or one text; nothing, if the request does not have it."""
    if given is None or given == "":
        return ()
    items = [given] if isinstance(given, str) else given
    if not isinstance(items, list | tuple):
        raise RequestError(f"{name}: not a list; {fix}")
    if len(items) > most:
        raise RequestError(f"{name}: {len(items)} entries; this server allows at most {most} (limits.{name})")
    return items


def _check_length(text: str, place: str) -> None:
    if len(text) > LONGEST:
        raise RequestError(f"{place}: {text[:20]!r} .. has {len(text)} characters; at most {LONGEST} are allowed")
