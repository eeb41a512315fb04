"""A text of several lines as ids, and back.

Tokenisers read one line; between two stands the piece of the byte "\\n", which every vocabulary has.
"""

from collections.abc import Sequence

from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import BYTE_PIECES, Vocabulary

_NEWLINE = BYTE_PIECES[ord("\n")]


def newline_of(vocabulary: Vocabulary) -> int:
    """The id that ends a line."""
    return vocabulary.id_of(_NEWLINE)


def encode_lines(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of all lines, with a line end between two; a text that ends in "\\n" ends in one too."""
    first, *others = tokenizer.encode_batch(text.split("\n"))
    newline = newline_of(tokenizer.vocabulary)
    return [*first, *(index for line in others for index in (newline, *line))]


def decode_lines(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of `ids`, in which line ends are "\\n"."""
    newline, lines = newline_of(tokenizer.vocabulary), list[list[int]]([[]])
    for index in ids:
        if index == newline:
            lines.append([])
        else:
            lines[-1].append(index)
    return "\n".join(tokenizer.decode(line) for line in lines)
