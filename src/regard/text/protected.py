"""Strings of a text that are not translated: URLs, e-mail addresses, placeholders of software, and what patterns of the user match.

It finds them and knows no model. The patterns of a user run with a time limit, since some take exponential time.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from regard.errors import ConfigError, DataError

if TYPE_CHECKING:
    import regex

DEFAULT, NUMBERS = "default", "numbers"
"""The names that stand for patterns of our own."""
MOST_PATTERNS, LONGEST_PATTERN = 50, 1000
MOST_REPEATED = 10_000
"""The product of the counts of a pattern, such as 1000 in a{1000}: nested ones multiply, and so does the memory they take."""
SECONDS = 1.0
"""The most time that the patterns of a user may take for one text."""

_DEFAULT = re.compile(
    r"""
      (?:\b(?:https?|ftp|file)://|\bwww\.)                       # a URL, without the full stop or bracket behind it
      (?:\([^\s()<>"'`]*\)|[^\s()<>"'`])*(?:\([^\s()<>"'`]*\)|[^\s()<>"'`.,;:!?\[\]{}])
    | (?<![\w.+-])\w[\w.+-]{0,63}@\w[\w-]{0,62}(?:\.\w[\w-]{0,62}){1,8}  # an e-mail address
    | \{\{[^{}\n]{0,200}\}\}                                      # {{ x }}
    | [$%\#]\{[^{}\n]{0,200}\}                                    # ${x}, %{x}, #{x}
    | \{[^\s{}]{0,200}\}                                          # {name}, {0}, {}, {price:.2f}
    | %\(\w{1,100}\)[-+\#0]{0,4}\d{0,4}(?:\.\d{1,4})?[a-zA-Z]     # %(name)d
    | (?<![\d%])%(?:\d{1,3}\$)?[-+\#0]{0,4}(?:\d{1,4}|\*)?(?:\.(?:\d{1,4}|\*))?(?:hh|h|ll|l|z|j)?[diouxXeEfFgGcrsapn@]
    | %%
    """,
    re.VERBOSE,
)
_COUNT = re.compile(r"\{(\d*),?(\d*)\}")
_RECURSION = re.compile(r"\(\?(?:R|[+-]?\d|&|P>)")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,:/'\u2019\u00a0\u202f-]\d+)*(?!\w)")


class Span(NamedTuple):
    """A part of a text, from character `start` up to `end`."""

    start: int
    end: int


@dataclass(frozen=True)
class Protection:
    """The patterns of what is not translated. `default` and `numbers` stand for patterns of our own, all else is a regular expression.

    Regular expressions are those of the package `regex`, which has all that Python's own module has.
    """

    patterns: tuple[str, ...] = (DEFAULT,)

    def __post_init__(self) -> None:
        if len(self.patterns) > MOST_PATTERNS:
            raise ConfigError(f"{len(self.patterns)} patterns of what to protect: give at most {MOST_PATTERNS}")
        _ = self._own  # refuses invalid ones

    @staticmethod
    def of(patterns: Iterable[str]) -> "Protection":
        """The protection of patterns that a user lists, each once. An empty one is refused."""
        distinct = tuple(dict.fromkeys(patterns))
        if "" in distinct:
            raise ConfigError("protect '': matches nothing; write a regular expression, default or numbers")
        return Protection(distinct)

    @cached_property
    def _own(self) -> "list[regex.Pattern[str]]":
        return [_compiled(pattern) for pattern in self.patterns if pattern not in (DEFAULT, NUMBERS)]

    def spans(self, text: str) -> list[Span]:
        """The protected parts of a text, in order. Matches that overlap or touch, as in `%s%s`, are one part."""
        found: list[tuple[int, int]] = []
        if DEFAULT in self.patterns:
            found += [match.span() for match in _DEFAULT.finditer(text)]
        if NUMBERS in self.patterns:
            found += [match.span() for match in _NUMBER.finditer(text)]
        for pattern in self._own:
            try:
                found += [match.span() for match in pattern.finditer(text, timeout=SECONDS, concurrent=True)]
            except MemoryError:
                raise DataError(
                    f"protect {pattern.pattern!r}: takes too much memory for {text[:40]!r}; write a simpler one"
                ) from None
            except TimeoutError:
                raise DataError(
                    f"protect {pattern.pattern!r}: takes more than {SECONDS:g} s for {text[:40]!r}; "
                    "repetitions inside of repetitions, such as (a+)+, take exponential time: write it without"
                ) from None
        return _united(_trimmed(text, span) for span in found)


def literal(string: str) -> str:
    """The pattern of a string that is taken to the letter: nothing in it has a meaning, so it cannot take long."""
    return _whole(string)


def occurrences(text: str, strings: Sequence[str]) -> list[Span]:
    """Where the strings stand in a text, the longest first. One that begins or ends with a letter is no part of a longer word."""
    distinct = sorted({string for string in strings if string}, key=lambda string: (-len(string), string))
    if not distinct:
        return []
    return [Span(*match.span()) for match in re.finditer("|".join(map(_whole, distinct)), text)]


def _whole(string: str) -> str:
    before = r"(?<!\w)" if re.match(r"\w", string) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", string) else ""
    return f"{before}{re.escape(string)}{after}"


def _compiled(pattern: str) -> "regex.Pattern[str]":
    import regex

    if len(pattern) > LONGEST_PATTERN:
        raise ConfigError(
            f"protect: a pattern of {len(pattern):,} characters; the longest may have {LONGEST_PATTERN:,}"
        )
    if prod(max(1, *(int(number[:9] or 0) for number in counts)) for counts in _COUNT.findall(pattern)) > MOST_REPEATED:
        raise ConfigError(
            f"protect {pattern!r}: its counts multiply to more than {MOST_REPEATED:,}; write smaller ones, or + and *"
        )
    if _RECURSION.search(pattern):
        raise ConfigError(f"protect {pattern!r}: a pattern that calls itself may take all memory; write it without")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return regex.compile(pattern)
    except regex.error as error:
        place = "" if error.pos is None else f" at character {error.pos + 1}"
        raise ConfigError(
            f"protect {pattern!r}: not a regular expression: {error.msg}{place}; "
            r"write \{ for a brace, or one of the names default and numbers"
        ) from None
    except (RecursionError, OverflowError, ValueError, KeyError, MemoryError) as error:
        raise ConfigError(f"protect {pattern!r}: not a regular expression that can be used: {error}") from None


def _trimmed(text: str, span: tuple[int, int]) -> Span:
    """The span without white space at its ends, which normalisation does not keep."""
    start, end = span
    part = text[start:end]
    return Span(start + len(part) - len(part.lstrip()), max(start, start + len(part.rstrip())))


def _united(spans: Iterable[Span]) -> list[Span]:
    united: list[Span] = []
    for start, end in sorted(spans):
        if start >= end:
            continue
        if united and start <= united[-1].end:
            united[-1] = Span(united[-1].start, max(end, united[-1].end))
        else:
            united.append(Span(start, end))
    return united
