"""Texts in which placeholder pieces stand for protected strings: to ids, for training and translation, and back.

Spaces are kept: a placeholder with a space before it is a space mark and the piece, and text that goes on without a space has none in its
ids. So `open {file}.` comes back as it was. It knows no patterns.
"""

from collections.abc import Mapping, Sequence

from regard.text.marked import MarkedTokenizer, unmarked
from regard.text.normalise import SPACE_MARK, tidy
from regard.text.protected import Span
from regard.text.reserved_text import going_on
from regard.text.tokenizer import Tokenizer

KINDS = ("bpe", "unigram", "char")
"""The kinds of tokenisers whose pieces say where spaces are."""


def placeholder_ids(tokenizer: Tokenizer) -> tuple[int, ...]:
    """The ids of the placeholders that may stand in a text of this tokeniser."""
    vocabulary = tokenizer.vocabulary
    return vocabulary.reserved.placeholders if tokenizer.kind in KINDS and SPACE_MARK in vocabulary else ()


def encode_with(tokenizer: Tokenizer, text: str, spans: Sequence[Span], placeholders: Sequence[int]) -> list[int]:
    """The ids of a text with a placeholder in place of each span."""
    plain = unmarked(tokenizer)
    space = plain.vocabulary.id_of(SPACE_MARK)
    ids: list[int] = []
    last = 0
    for span, placeholder in zip(spans, placeholders, strict=True):
        ids += _between(plain, text[last : span.start], last > 0, space)
        if ids and text[span.start - 1].isspace() and span.start:
            ids.append(space)
        ids.append(placeholder)
        last = span.end
    ids += _between(plain, text[last:], last > 0, space)
    return [*tokenizer.begin, *ids, *tokenizer.end] if isinstance(tokenizer, MarkedTokenizer) else ids


def decode_with(tokenizer: Tokenizer, ids: Sequence[int], strings: Mapping[int, str]) -> str:
    """The text of ids with a string for each placeholder; those without a string are left out."""
    vocabulary = tokenizer.vocabulary
    text, rest = "", list[int]()
    for index in ids:
        if index in strings:
            text += vocabulary.exact(rest) + strings[index]
            rest = []
        else:
            rest.append(index)
    return tidy((text + vocabulary.exact(rest)).replace(SPACE_MARK, " "))


def _between(plain: Tokenizer, part: str, follows: bool, space: int) -> list[int]:
    """The ids of text between placeholders. follows: whether a placeholder stands before it."""
    if not part.strip():
        return []
    if not follows:
        return plain.encode(part)
    if not part[0].isspace():
        return going_on(plain, part)
    return [space, *plain.encode(part)] if plain.kind == "char" else plain.encode(part)
