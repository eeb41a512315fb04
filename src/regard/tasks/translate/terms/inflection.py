"""Simple inflection: the forms that a word of a glossary may take, by the endings of its language. Rules and no dictionary.

It makes more forms than exist, such as `Mannes` and `Manns`. A form is only accepted, or offered to the search, which prefers real ones.
Words of other languages have one form.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

SHORTEST = 3
"""Letters of a word that is inflected."""
_UMLAUTS = {"au": "äu", "a": "ä", "o": "ö", "u": "ü"}
_LAST_VOWEL = re.compile(r"(au|[aou])(?=[^aeiouäöüy]*$)", re.IGNORECASE)


def _english(word: str) -> list[str]:
    if re.search(r"[^aeiou]y$", word):
        return [f"{word[:-1]}ies"]
    if re.search(r"(s|x|z|ch|sh)$", word):
        return [f"{word}es"]
    if word.endswith("man"):
        return [f"{word[:-3]}men"]
    return [f"{word}s", *([f"{word}es"] if word.endswith("o") else [])]


def _german(word: str) -> list[str]:
    if word.endswith("e"):
        plain = [word + ending for ending in ("n", "s", "r", "m")]
    elif re.search(r"(er|el)$", word):
        plain = [word + ending for ending in ("n", "s", "e", "en", "es", "em")]
    else:
        plain = [word + ending for ending in ("e", "en", "es", "s", "er", "n", "ern", "em", "nen")]
    changed = _LAST_VOWEL.sub(lambda match: _umlaut(match[0]), word)
    return plain if changed == word else [*plain, *(changed + ending for ending in ("", "e", "er", "en", "n", "ern"))]


def _umlaut(vowel: str) -> str:
    changed = _UMLAUTS[vowel.lower()]
    return changed if vowel[0].islower() else changed[0].upper() + changed[1:]


def _french(word: str) -> list[str]:
    for ending, others in (
        ("eau", ("eaux",)),
        ("al", ("aux", "ale", "ales", "als")),
        ("eux", ("euse", "euses")),
        ("f", ("ve", "fs", "ves")),
        ("er", ("ère", "ers", "ères")),
        ("c", ("che", "cs", "ches", "que", "ques")),
    ):
        if word.endswith(ending):
            return [word[: -len(ending)] + other for other in others]
    if word[-1] in "sxz":
        return [f"{word}e", f"{word}es"] if word.endswith("s") else []
    if word.endswith("e"):
        return [f"{word}s"]
    double = [f"{word}{word[-1]}e", f"{word}{word[-1]}es"] if re.search(r"(e[nlt]|on)$", word) else []
    return [f"{word}s", f"{word}x", f"{word}e", f"{word}es", *double]


def _spanish(word: str) -> list[str]:
    if word.endswith("o"):
        return [f"{word}s", f"{word[:-1]}a", f"{word[:-1]}as"]
    if word.endswith("z"):
        return [f"{word[:-1]}ces"]
    return [f"{word}s"] if word[-1] in "aeiouáéíóú" else [f"{word}es", f"{word}a", f"{word}as"]


def _italian(word: str) -> list[str]:
    endings = {"o": ("i", "a", "e"), "a": ("e", "i"), "e": ("i",)}.get(word[-1], ())
    return [word[:-1] + ending for ending in endings]


def _portuguese(word: str) -> list[str]:
    if word.endswith("ão"):
        return [f"{word[:-2]}{ending}" for ending in ("ões", "ãos", "ães")]
    return [f"{word[:-1]}ns"] if word.endswith("m") else _spanish(word)


def _dutch(word: str) -> list[str]:
    return [f"{word}n", f"{word}s"] if word.endswith("e") else [f"{word}en", f"{word}s", f"{word}e"]


RULES: dict[str, Callable[[str], list[str]]] = {
    "en": _english,
    "de": _german,
    "fr": _french,
    "es": _spanish,
    "it": _italian,
    "pt": _portuguese,
    "nl": _dutch,
}
"""The rules of each language: a word -> its other forms."""


_ENDING_LETTERS = {
    "en": "iesy",
    "de": "ernsm",
    "fr": "auexlsfvrchqnt",
    "es": "oaseczr",
    "it": "oaei",
    "pt": "oaesmnczr",
    "nl": "ens",
}
"""The letters of all endings of a language, without accents: what a word keeps without them at its end is the same in all its forms."""


@lru_cache(maxsize=100_000)
def key(word: str, language: str | None) -> str:
    """A text that all forms of a word share, without case: those with the same key may be forms of one word, others are not."""
    language = _code(language)
    plain = word.lower()
    if language in RULES and len(word) >= SHORTEST:
        plain = "".join(c for c in unicodedata.normalize("NFD", plain) if not unicodedata.combining(c))
        plain = plain[:2] + plain[2:].rstrip(_ENDING_LETTERS[language])
        if language == "en" and plain.endswith("men"):
            plain = f"{plain[:-2]}an"
    return plain


def _code(language: str | None) -> str:
    """`de` of `de-AT`."""
    return (language or "").lower().replace("_", "-").split("-")[0]


@lru_cache(maxsize=100_000)
def forms(word: str, language: str | None) -> tuple[str, ...]:
    """The word and the forms that it may take, the word first."""
    rules = RULES.get(_code(language))
    if rules is None or len(word) < SHORTEST or not word[-1].isalpha():
        return (word,)
    return tuple(dict.fromkeys([word, *rules(word)]))
