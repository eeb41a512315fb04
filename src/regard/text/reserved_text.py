"""Reads and writes texts in which the name of a reserved piece, such as `<mask>`, means that piece.

`Tokenizer.encode` takes such a name for plain text and `Tokenizer.decode` leaves the pieces out; here they are understood and shown.
"""

import re
from collections.abc import Sequence

from regard.text.normalise import SPACE_MARK
from regard.text.reserved import is_gap_name
from regard.text.tokenizer import Tokenizer

_SUBWORDS = ("bpe", "unigram")
"""The kinds whose pieces say whether a space stands before them, and that have pieces within words."""
_ANCHOR = "\ue000"  # for private use, so that no vocabulary merges it with what follows


def encode_reserved(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a text; the names of reserved pieces in it become those pieces.

    What follows a gap without a space, as the full stop in `on the <mask>.`, goes on with the word of the gap.
    """
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
        gap = number > 0 and is_gap_name(parts[number - 1])
        own = going_on(tokenizer, part) if gap and not part[:1].isspace() else tokenizer.encode(part)
        if spaces:
            space = [tokenizer.vocabulary.id_of(SPACE_MARK)]
            before = space if ids and part[:1].isspace() else []
            after = space if own and number + 1 < len(parts) and part[-1:].isspace() else []
            own = [*before, *own, *after]
        ids += own
    return ids


def going_on(tokenizer: Tokenizer, part: str) -> list[int]:
    """The ids of text without a space before it. A tokeniser of words knows no part of a word."""
    if tokenizer.kind not in _SUBWORDS:
        return tokenizer.encode(part)
    before, both = tokenizer.encode(_ANCHOR), tokenizer.encode(_ANCHOR + part)
    return both[len(before) :] if both[: len(before)] == before else tokenizer.encode(part)


def decode_reserved(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of ids, with the names of reserved pieces between the words, or before the rest of a word that goes on with a gap."""
    names = {index: name for name, index in tokenizer.vocabulary.reserved.names.items()}
    text, gap, rest = "", False, list[int]()
    for index in [*map(int, ids), None]:
        if index is not None and index not in names:
            rest.append(index)
            continue
        own, joined = tokenizer.decode(rest), gap and _goes_on(tokenizer, rest)
        text += own if joined or not (text and own) else f" {own}"
        if index is not None:
            text += f" {names[index]}" if text else names[index]
            gap = is_gap_name(names[index])
        rest = []
    return text


def _goes_on(tokenizer: Tokenizer, ids: Sequence[int]) -> bool:
    """Whether ids go on with the word before them."""
    spellings = map(tokenizer.vocabulary.spelling, ids[:1])
    return tokenizer.kind in _SUBWORDS and not any(spelling.startswith(SPACE_MARK) for spelling in spellings)
