"""The filters of `regard data clean` that look at one pair: their settings, and what each finds. It reads no files."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from pydantic import Field, field_validator, model_validator

from regard.data.check import RATIO, RATIO_CHARACTERS
from regard.data.damage import encoding_damage, markup
from regard.data.language import KANA_AND_HAN
from regard.settings import Settings

FILTERS = {
    "unreadable": "not UTF-8, or no pair",
    "empty": "a side without text",
    "encoding": "U+FFFD, control characters, mojibake, Latin and Cyrillic letters in one word",
    "html": "tags and entities",
    "length": "too few or too many words, too many characters, a word that is too long",
    "ratio": "lengths that do not fit",
    "copy": "the target is the source, or nearly",
    "links": "addresses (URLs, mail) that the other side lacks",
    "numbers": "numbers above 12 that the other side lacks",
    "language": "a side in another language",
    "duplicate": "a pair that was there before",
    "near-duplicate": "a pair that was there before but for case, spaces and punctuation",
    "misaligned": "by words that occur together: --misaligned",
    "model": "by a translator: --model",
}
"""Name -> what it finds, in the order in which they are asked. The first that finds something names the reason."""

_IDEOGRAPHS = re.compile(f"[{KANA_AND_HAN}]")
_WITHOUT_SPACES = re.compile(f"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff{KANA_AND_HAN}]")
_NUMBER = re.compile(r"\d+(?:[.,'\u00a0\u202f ]\d{3}(?!\d))*(?:[.,]\d+)?")
_NO_DIGIT = re.compile(r"\D")
_LINK = re.compile(r"(?:https?://|www\.)[^\s<>\"'«»]+|[\w.+-]+@[\w-]+\.[\w.-]*\w")
_LETTER = re.compile(r"[^\W\d_]")
_LARGEST_SPELLED = 12  # smaller numbers are often written as words
_COPIED_LETTERS = 10  # a shorter text may be a name


class CleanSettings(Settings):
    """The thresholds of the filters."""

    without: tuple[str, ...] = ()
    """Filters that are not asked."""

    min_words: int = Field(default=1, ge=0)
    """Fewest words of a side."""

    max_words: int = Field(default=150, ge=1)
    """Most words of a side; each character of Chinese and Japanese is one."""

    max_characters: int = Field(default=1_000, ge=1)
    """Most characters of a side."""

    longest_word: int = Field(default=50, ge=1)
    """Most characters of a word, but for links and for scripts without spaces."""

    ratio: float = Field(default=RATIO, ge=1)
    """Largest factor between the length ratio of a pair and the median ratio, in characters, if one side has 20."""

    copy_similarity: float = Field(default=0.8, gt=0, le=1)
    """Similarity of both sides from which they are copies: shared character trigrams, 1 for equal texts."""

    number_mismatch: float = Field(default=0.5, ge=0, le=1)
    """Largest share of the numbers above 12 that the other side lacks."""

    language_margin: float = Field(default=6.0, ge=0)
    """Nats by which a side is more probable in another language than in its own."""

    gain: float = 0.0
    """Smallest gain with `model`: log-probability per token with the source, above that with another source."""

    misaligned: bool = False
    """Whether to look for misaligned and swapped pairs by words that occur together."""

    @field_validator("without")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in FILTERS or name == "unreadable":
                raise ValueError(f"{name!r} is no filter; they are {', '.join([*FILTERS][1:])}")
        return names

    @model_validator(mode="after")
    def _some_length_fits(self) -> Self:
        if self.min_words > self.max_words:
            raise ValueError(
                f"min_words = {self.min_words} is above max_words = {self.max_words}, so no pair is kept; exchange them"
            )
        return self


@dataclass(frozen=True)
class Sampled:
    """Facts from a sample of the corpus that the filters need."""

    ratio: float
    """The median of source characters / target characters."""
    moses: bool
    """Whether the text is escaped as by the tokeniser of Moses."""


Reason = tuple[str, str]
"""The filter that drops a pair, and the value that it found."""
PairFilter = Callable[[str, str], str | None]


def pair_filters(settings: CleanSettings, sampled: Sampled) -> list[tuple[str, PairFilter]]:
    """The filters of one pair that are asked, in order. Each returns the value for which it drops a pair, or None."""

    def length(source: str, target: str) -> str | None:
        return _length(source, settings) or _length(target, settings)

    def ratio(source: str, target: str) -> str | None:
        sizes = len(source), len(target)
        factor = sizes[0] / sizes[1] / sampled.ratio
        unusual = max(sizes) >= RATIO_CHARACTERS and not 1 / settings.ratio <= factor <= settings.ratio
        return f"{factor:.2f}" if unusual else None

    def copied(source: str, target: str) -> str | None:
        similarity = copy_similarity(source, target)
        return f"{similarity:.2f}" if similarity >= settings.copy_similarity else None

    def numbers(source: str, target: str) -> str | None:
        share, missing = number_mismatch(source, target)
        return missing if share > settings.number_mismatch else None

    table: dict[str, PairFilter] = {
        "empty": lambda source, target: (
            None if source and target else ("source" if target else "target" if source else "both")
        ),
        "encoding": lambda source, target: encoding_damage(source) or encoding_damage(target),
        "html": lambda source, target: markup(source, sampled.moses) or markup(target, sampled.moses),
        "length": length,
        "ratio": ratio,
        "copy": copied,
        "numbers": numbers,
        "links": missing_links,
    }
    return [
        (name, table[name]) for name in FILTERS if name in table and (name == "empty" or name not in settings.without)
    ]


def _length(text: str, settings: CleanSettings) -> str | None:
    if len(text) > settings.max_characters:
        return f"{len(text)} characters"
    words = (text if text.isascii() else _IDEOGRAPHS.sub(" x ", text)).split()
    if not settings.min_words <= len(words) <= settings.max_words:
        return f"{len(words)} words"
    if len(text) > settings.longest_word and (longest := max(words, key=len, default="")):
        is_word = len(longest) > settings.longest_word and not _LINK.search(longest)
        if is_word and not _WITHOUT_SPACES.search(longest):
            return f"a word of {len(longest)} characters"
    return None


def copy_similarity(source: str, target: str) -> float:
    """The Dice coefficient of the character trigrams of both sides, without case; 0 for what may be a name or hardly shares words."""
    if source == target:
        return 1.0 if len(_LETTER.findall(source)) >= _COPIED_LETTERS else 0.0
    left, right = source.casefold(), target.casefold()
    words = set(left.split()), set(right.split())
    if 2 * len(words[0] & words[1]) < min(map(len, words)) or len(_LETTER.findall(left)) < _COPIED_LETTERS:
        return 0.0
    grams = [Counter(text[place : place + 3] for place in range(len(text) - 2)) for text in (left, right)]
    return 2 * (grams[0] & grams[1]).total() / max(1, grams[0].total() + grams[1].total())


def number_mismatch(source: str, target: str) -> tuple[float, str]:
    """The share of the numbers that only one side has, and those numbers. Signs between digits do not count, nor small numbers."""
    left, right = _numbers(source), _numbers(target)
    if left == right:
        return 0.0, ""
    digits = [_digits(text) for text in (source, target)]
    # "3.5 million" and "3,500,000", or "19:30" and "1930", share their digits
    missing = [number for number in (left - right).elements() if number.rstrip("0") not in digits[1]]
    missing += [number for number in (right - left).elements() if number.rstrip("0") not in digits[0]]
    return len(missing) / max(1, left.total() + right.total()), " ".join(missing)


def _numbers(text: str) -> Counter[str]:
    if text.isalpha() or not any(map(str.isdecimal, text)):
        return Counter()
    plain = (_digits(found) for found in _NUMBER.findall(text))
    return Counter(number for number in plain if number and int(number[:30]) > _LARGEST_SPELLED)


def _digits(text: str) -> str:
    """The digits of a text as ASCII, without zeros in front."""
    digits = _NO_DIGIT.sub("", text)
    return (digits if digits.isascii() else "".join(str(int(digit)) for digit in digits)).lstrip("0")


def missing_links(source: str, target: str) -> str | None:
    """A link that only one side has; None: there is none."""
    if not any(mark in text for text in (source, target) for mark in ("http", "www.", "@")):
        return None
    left, right = ({found.rstrip(".,;:!?)]/").casefold() for found in _LINK.findall(text)} for text in (source, target))
    return min(left ^ right, default=None)
