"""Word alignment of text pairs: from evidence between tokens to links between words. It runs no network.

Shapes: L layers, H heads, T target and S source tokens with their end marks.
"""

from collections.abc import Callable, Sequence

from torch import Tensor

from regard.bundle.config import AlignmentConfig, AlignmentMethod
from regard.engine.input_length import MAX_CHARACTERS
from regard.tasks.translate.alignment import best_links, token_weights, word_weights
from regard.tasks.translate.pairs import Pairs
from regard.tasks.translate.translation import Alignment, Links
from regard.text.build import TokenizerPair
from regard.text.tokenizer import Tokenizer

MOST_WORDS = 4096  # of a truncated text: bounds the weights of its words, which are zero past the tokens that were read

Evidence = Callable[[Pairs, AlignmentMethod, int], list[Tensor]]
"""(pairs, method, batch_tokens) -> [L, H, T, S] of each pair."""


class Aligner:
    """Aligns words, by the evidence for links between tokens."""

    def __init__(self, tokenizers: TokenizerPair, evidence: Evidence) -> None:
        self._source, self._target = tokenizers.source, tokenizers.target
        self._evidence = evidence

    def align(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        pairs: Pairs,  # their tokens
        how: AlignmentConfig,
        batch_tokens: int,
    ) -> list[Alignment]:
        """Word alignments of text pairs: weights and links."""
        words = [
            (_words(self._source, source, source_ids), _words(self._target, target, target_ids))
            for source, source_ids, target, target_ids in zip(
                sources, pairs.sources, targets, pairs.targets, strict=True
            )
        ]
        counts = [(len(source_words), len(target_words)) for source_words, target_words in words]
        return [
            Alignment(best_links(weights, how.links, how.least), weights, *words[number], number in pairs.cut)
            for number, weights in enumerate(self._word_weights(pairs, counts, how, batch_tokens))
        ]

    def links(self, pairs: Pairs, how: AlignmentConfig, batch_tokens: int) -> list[Links]:
        """Links between source and target words of pairs of tokens."""
        counts = [
            (max(self._source.words(source), default=-1) + 1, len(self._target.decode(target).split()))
            for source, target in zip(pairs.sources, pairs.targets, strict=True)
        ]
        weights = self._word_weights(pairs, counts, how, batch_tokens)
        return [best_links(own, how.links, how.least) for own in weights]

    def _word_weights(
        self, pairs: Pairs, counts: Sequence[tuple[int, int]], how: AlignmentConfig, batch_tokens: int
    ) -> list[Tensor]:
        """The weights [target words, source words] of each pair. counts: the numbers of its source and target words."""
        return [
            word_weights(
                token_weights(stack, how.layer, how.heads, how.shift),
                self._source.words(source),
                self._target.words(target),
                *count,
            )
            for stack, source, target, count in zip(
                self._evidence(pairs, how.method, batch_tokens), pairs.sources, pairs.targets, counts, strict=True
            )
        ]


def _words(tokenizer: Tokenizer, text: str, ids: Sequence[int]) -> list[str]:
    """The words of the normalised text: all of those that `ids` cover, and at most `MOST_WORDS` more."""
    covered = max(tokenizer.words(ids), default=-1) + 1
    return tokenizer.normalise(text[:MAX_CHARACTERS]).split()[: covered + MOST_WORDS]
