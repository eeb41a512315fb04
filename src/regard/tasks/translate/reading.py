"""Tokenizes and truncates the texts of a translator.

A text longer than `max_tokens` tokens, or `most_characters` of them, is truncated with a warning. The other texts are not affected.
"""

import warnings
from collections.abc import Callable, Sequence

from regard.engine.input_length import TruncationWarning, most_characters
from regard.errors import DataError
from regard.tasks.checks import check_texts
from regard.tasks.translate.pairs import Pairs
from regard.tasks.translate.translation import Source
from regard.text.build import TokenizerPair
from regard.text.marked import shortened
from regard.text.tokenizer import Tokenizer

ENCODED_TOGETHER = 256  # texts tokenized together: bounds the memory for tokens past `max_tokens`


class Reader:
    """Tokenizes sources and targets, and truncates them to `max_tokens` tokens."""

    def __init__(self, tokenizers: TokenizerPair, max_tokens: int) -> None:
        self._tokenizers, self.max_tokens = tokenizers, max_tokens

    def sources(self, texts: Sequence[str]) -> list[Source]:
        """The tokenized texts."""
        check_texts(texts)
        rows, cut = self._encode(texts, self._tokenizers.source, "source")
        return [Source(text, ids, number in cut) for number, (text, ids) in enumerate(zip(texts, rows, strict=True))]

    def pairs(self, sources: Sequence[str], targets: Sequence[str]) -> Pairs:
        """The tokenized sources and targets."""
        check_texts(sources, "sources")
        check_texts(targets, "targets")
        if len(sources) != len(targets):
            raise DataError(f"{len(sources)} sources, but {len(targets)} targets: give one target for each source")
        source_ids, cut_sources = self._encode(sources, self._tokenizers.source, "source")
        target_ids, cut_targets = self._encode(targets, self._tokenizers.target, "target")
        return Pairs(source_ids, target_ids, cut_targets, cut_sources | cut_targets)

    def _encode(self, texts: Sequence[str], tokenizer: Tokenizer, side: str) -> tuple[list[list[int]], set[int]]:
        """The ids of each text, and the numbers of the truncated texts."""
        rows: list[list[int]] = []
        cut: dict[int, str] = {}  # number -> its length
        most = most_characters(self.max_tokens)
        for start in range(0, len(texts), ENCODED_TOGETHER):
            part = texts[start : start + ENCODED_TOGETHER]
            for text, ids in zip(part, tokenizer.encode_batch([text[:most] for text in part]), strict=True):
                if len(text) > most:
                    cut[len(rows)] = f"{len(text)} characters"
                elif len(ids) > self.max_tokens:
                    cut[len(rows)] = f"{len(ids)} tokens"
                rows.append(shortened(tokenizer, ids, self.max_tokens))
        if cut:
            first = min(cut)
            warnings.warn(
                f"{len(cut)} {side} texts are longer than {self.max_tokens} tokens and were cut there; "
                f"the first is number {first + 1}, with {cut[first]}",
                TruncationWarning,
                stacklevel=4,
            )
        return rows, set(cut)


def read_to_each(reader_of: Callable[[str], Reader], texts: Sequence[str], languages: Sequence[str]) -> list[Source]:
    """The tokenized texts, each to a target language of its own. reader_of: the reader of a target language."""
    check_texts(texts)
    if len(languages) != len(texts):
        raise DataError(
            f"{len(texts)} texts, but {len(languages)} languages in to: give one for each text, or one for all"
        )
    found: dict[int, Source] = {}
    for language in dict.fromkeys(languages):
        places = [place for place, own in enumerate(languages) if own == language]
        found.update(zip(places, reader_of(language).sources([texts[place] for place in places]), strict=True))
    return [found[place] for place in range(len(texts))]
