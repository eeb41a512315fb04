"""Small changes of a sentence that a reader would forgive: typos, case, punctuation, word order. Each is drawn from a seed."""

import re
from collections.abc import Callable
from random import Random

from regard.explain.failures.words import WORD

LETTERS_OF_A_TYPO = 4  # a shorter word keeps its letters
WORDS_OF_A_TYPO = 6  # one typo for so many words
_PUNCTUATION = re.compile(r"\s*[^\w\s'’\-]+(?=\s|$)")


def typos(text: str, random: Random) -> str:
    """Two neighbouring letters inside a word are exchanged, in one of six words, at least in one."""
    long = [match for match in WORD.finditer(text) if len(match[0]) >= LETTERS_OF_A_TYPO]
    letters = list(text)
    for match in random.sample(long, min(len(long), max(1, len(long) // WORDS_OF_A_TYPO))):
        places = [place for place in range(match.start() + 1, match.end() - 1) if letters[place] != letters[place + 1]]
        if places:
            place = random.choice(places)
            letters[place], letters[place + 1] = letters[place + 1], letters[place]
    return "".join(letters)


def lower_case(text: str, random: Random) -> str:
    """Without capitals."""
    return text.lower()


def upper_case(text: str, random: Random) -> str:
    """In capitals."""
    return text.upper()


def no_punctuation(text: str, random: Random) -> str:
    """Without punctuation between and after the words."""
    return _PUNCTUATION.sub("", text)


def swapped_words(text: str, random: Random) -> str:
    """Two neighbouring words in the middle are exchanged."""
    parts = text.split(" ")
    if len(parts) < 3:
        return text
    place = random.randrange(len(parts) - 1)
    parts[place], parts[place + 1] = parts[place + 1], parts[place]
    return " ".join(parts)


def shuffled_words(text: str, random: Random) -> str:
    """All words in another order."""
    parts = text.split(" ")
    random.shuffle(parts)
    return " ".join(parts)


def missing_word(text: str, random: Random) -> str:
    """Without one of its words."""
    parts = text.split(" ")
    if len(parts) > 1:
        del parts[random.randrange(len(parts))]
    return " ".join(parts)


Perturbation = Callable[[str, Random], str]

FORGIVABLE: dict[str, Perturbation] = {
    "typos": typos,
    "lower_case": lower_case,
    "upper_case": upper_case,
    "no_punctuation": no_punctuation,
    "swapped_words": swapped_words,
}
"""Name -> a change that should hardly change the meaning."""

OF_TEXT: dict[str, Perturbation] = {**FORGIVABLE, "shuffled_words": shuffled_words}
"""Name -> a change that a language model should notice."""


def in_words(name: str) -> str:
    """The name of a change in words."""
    return name.replace("_", " ")
