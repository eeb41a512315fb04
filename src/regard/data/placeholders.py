"""Placeholder pieces in training pairs: strings that stand on both sides of a pair, such as URLs, become reserved pieces on both sides.

So a model learns to carry the pieces over, whatever they stand for. The first string of a source is the first piece, as in translation.
Which pairs get pieces is drawn from their line numbers. It reads no files.
"""

import random
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, field_validator

from regard.errors import ConfigError
from regard.settings import Settings
from regard.text.build import TokenizerPair
from regard.text.placeholders import encode_with, placeholder_ids
from regard.text.protected import DEFAULT, LONGEST_PATTERN, MOST_PATTERNS, Protection, Span

RESERVED = 16
"""The pieces that are reserved where text.reserved.placeholders says nothing."""


class PlaceholderData(Settings):
    """Which strings of training pairs become placeholder pieces."""

    patterns: tuple[Annotated[str, Field(min_length=1, max_length=LONGEST_PATTERN)], ...] = Field(
        default=(DEFAULT,), min_length=1, max_length=MOST_PATTERNS
    )
    """Regular expressions, or `default` (URLs, e-mail, {name}, %s ..) and `numbers`, as of `regard translate --protect`."""

    share: float = Field(default=1.0, gt=0, le=1)
    """Share of the pairs with such strings that get pieces; the others show the strings to the model as they are."""

    @field_validator("patterns")
    @classmethod
    def _valid(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        Protection(patterns)
        return patterns


class PairPlaceholders:
    """Encodes pairs with placeholder pieces."""

    def __init__(self, config: PlaceholderData, tokenizers: TokenizerPair) -> None:
        self._config, self._tokenizers = config, tokenizers
        self._protection = Protection(config.patterns)
        self._sides = placeholder_ids(tokenizers.source), placeholder_ids(tokenizers.target)
        self.pieces = min(map(len, self._sides))
        if not self.pieces:
            kind = tokenizers.source.kind
            raise ConfigError(
                f"data.placeholders: the vocabulary ({kind}) has no placeholder pieces; set text.reserved.placeholders, "
                "with train.start text.grow too; words as pieces (kind 'word') have none that say where spaces are"
            )

    def __call__(self, line: int, source: str, target: str) -> tuple[list[int], list[int]] | None:
        """The ids of the pair in this line; None: it is encoded as any other."""
        draw = random.Random(line)
        spans = self._protection.spans(source)
        if not spans or draw.random() >= self._config.share:
            return None
        found = shared(source, spans, target, self._protection.spans(target))[: self.pieces]
        if not found:
            return None
        first = [(span, self._sides[0][number]) for number, (span, _) in enumerate(found)]
        second = sorted((span, self._sides[1][number]) for number, (_, span) in enumerate(found))
        return (
            encode_with(self._tokenizers.source, source, [span for span, _ in first], [piece for _, piece in first]),
            encode_with(self._tokenizers.target, target, [span for span, _ in second], [piece for _, piece in second]),
        )


def shared(source: str, sources: Sequence[Span], target: str, targets: Sequence[Span]) -> list[tuple[Span, Span]]:
    """The spans of the source, in order, whose string is a span of the target too; each with the first such that is left."""
    left = list(targets)
    found = []
    for span in sources:
        string = source[span.start : span.end]
        same = next((other for other in left if target[other.start : other.end] == string), None)
        if same is not None:
            left.remove(same)
            found.append((span, same))
    return found
