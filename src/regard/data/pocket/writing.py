"""How a sentence of the pocket corpus is written: its capital, its commas, its final mark.

A template puts punctuation as tokens of its own: "," between clauses, "?" at the end of a question, "!" at the end of a
command. Here each sentence is written in one of many ways: with a capital and a final mark as in a book ("Le chat
dort."), without both as in a chat ("le chat dort"), or with one of them. The translation is written in the same way:
- English begins with a capital where French does. Names, and the English I, days, months, languages and nationalities,
  have their capital in every way of writing; French days, months, languages and nationalities have none.
- English has the final mark and the commas of the French sentence.
- French has a space before "?" and "!", mostly; people leave it out, so a part of the sentences does. English has none.

The links: a mark is linked to its counterpart. A mark without a space before it is a part of the word that it follows,
which is then linked to what both its parts are linked to.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from regard.data.pocket.tokens import Draft, Token

SPACED = ("?", "!")  # marks with a space before them in French


class Writing(NamedTuple):
    """One way of writing a sentence."""

    capital: bool = False
    final: str = ""  # ".", "!", "?" or nothing
    commas: bool = False
    space: bool = True  # before "?" and "!" in French


def kind_of(french: Sequence[Token]) -> str:
    """The final mark that a template asks for: "?", "!", or "." for a statement."""
    return french[-1][0] if french[-1][0] in SPACED else "."


def draw_writing(draft: Draft, kind: str) -> Writing:
    """Six in ten sentences begin with a capital. Most of them end with a mark; few of the others do, but questions."""
    capital = draft.chance(0.6)
    final = ""
    if draft.chance(0.92 if capital else 0.5 if kind == "?" else 0.12):
        # A command may end as a statement does, and a statement may be exclaimed.
        final = {"?": "?", "!": "." if draft.chance(0.5) else "!", ".": "!" if draft.chance(0.04) else "."}[kind]
    return Writing(capital, final, draft.chance(0.9 if capital else 0.15), draft.chance(0.75))


def written(french: Sequence[Token], english: Sequence[Token], writing: Writing) -> tuple[list[Token], list[Token]]:
    """Both sides of a spelled sentence, written in the given way."""
    mark = 1 << max(marks.bit_length() for _, marks in (*french, *english))  # that of the final mark
    source = _punctuated(french, writing, mark, writing.space)
    target = _punctuated(english, writing, mark, False)
    if writing.capital:
        source[0] = _capitalised(source[0])
    if source[0][0][0].isupper():  # a name in the first place has its capital anyway
        target[0] = _capitalised(target[0])
    return source, target


def _punctuated(tokens: Sequence[Token], writing: Writing, mark: int, space: bool) -> list[Token]:
    """The words with the commas and the final mark; `space`: whether one stands before "?" and "!"."""
    words: list[Token] = []
    for word, marks in tokens:
        if word == ",":
            if writing.commas:
                words[-1] = (words[-1][0] + word, words[-1][1] | marks)
        elif word not in SPACED:
            words.append((word, marks))
    if writing.final in SPACED and space:
        words.append((writing.final, mark))
    elif writing.final:
        words[-1] = (words[-1][0] + writing.final, words[-1][1] | mark)
    return words


def _capitalised(token: Token) -> Token:
    return token[0][0].upper() + token[0][1:], token[1]


def plain(text: str) -> str:
    """A sentence without case and punctuation: the same for all ways of writing it."""
    return " ".join(re.sub(r"[.,?!]", " ", text).lower().split())
