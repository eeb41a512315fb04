"""Encodes texts of several lines, and decodes them.

Most tokenisers encode one line. Two lines are separated by the piece of the byte "\\n", which every learned vocabulary has. A byte-level
tokeniser keeps line breaks by itself.
"""

from collections.abc import Sequence

from regard.errors import TextError
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import Vocabulary


def newline_of(vocabulary: Vocabulary) -> int:
    """The id that ends a line."""
    if vocabulary.newline is None:
        raise TextError("the vocabulary has no piece for a line break, so it cannot hold texts of several lines")
    return vocabulary.newline


def encode_lines(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of all lines, separated by the id of "\\n"; a text that ends in "\\n" ends in that id."""
    if tokenizer.keeps_lines:
        return tokenizer.encode(text)
    first_line, *further_lines = tokenizer.encode_batch(text.split("\n"))
    newline = newline_of(tokenizer.vocabulary)
    return [*first_line, *(index for line in further_lines for index in (newline, *line))]


def decode_lines(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of `ids`, lines separated by "\\n"."""
    if tokenizer.keeps_lines:
        return tokenizer.vocabulary.exact(ids)
    newline, lines = newline_of(tokenizer.vocabulary), list[list[int]]([[]])
    for index in ids:
        if index == newline:
            lines.append([])
        else:
            lines[-1].append(index)
    return "\n".join(tokenizer.decode(line) for line in lines)
