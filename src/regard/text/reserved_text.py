"""Reads and writes texts in which the name of a reserved piece, such as `<mask>`, means that piece.

`Tokenizer.encode` takes such a name for plain text and `Tokenizer.decode` leaves the pieces out; here they are understood and shown.
"""

import re
from collections.abc import Sequence

from regard.text.normalise import SPACE_MARK
from regard.text.tokenizer import Tokenizer


def encode_reserved(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a text; the names of reserved pieces in it become those pieces."""
    names = tokenizer.vocabulary.reserved.names
    if not names:
        return tokenizer.encode(text)
    ids: list[int] = []
    spaces = tokenizer.kind == "char"  # of other kinds, a piece has its space with it
    parts = re.split(f"({'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})", text)
    for number, part in enumerate(parts):
        if number % 2:
            ids.append(names[part])
            continue
        own = tokenizer.encode(part)
        if spaces:
            space = [tokenizer.vocabulary.id_of(SPACE_MARK)]
            before = space if ids and part[:1].isspace() else []
            after = space if own and number + 1 < len(parts) and part[-1:].isspace() else []
            own = [*before, *own, *after]
        ids += own
    return ids


def decode_reserved(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of ids, with the names of reserved pieces between the words."""
    names = {index: name for name, index in tokenizer.vocabulary.reserved.names.items()}
    parts: list[str] = []
    rest: list[int] = []
    for index in [*ids, None]:
        if index is not None and index not in names:
            rest.append(int(index))
            continue
        parts.append(tokenizer.decode(rest))
        rest = []
        if index is not None:
            parts.append(names[index])
    return " ".join(filter(None, parts))
