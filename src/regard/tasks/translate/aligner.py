"""Word alignment of text pairs: from evidence between tokens to links between words. It runs no network.

Shapes: T target and S source tokens with their end marks.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from regard.activity import activity
from regard.bundle.config import AlignmentConfig, AlignmentMethod
from regard.engine.fast import FastPath
from regard.engine.input_length import MAX_CHARACTERS
from regard.search.hypothesis import Hypothesis
from regard.tasks.translate.alignment import Weights, after_reading, best_links, token_weights, word_weights
from regard.tasks.translate.pairs import Pairs
from regard.tasks.translate.translation import Alignment, Links
from regard.text.build import TokenizerPair
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

MOST_WORDS = 4096  # of a truncated text: bounds the weights of its words, which are zero past the tokens that were read

Evidence = Callable[[Pairs, AlignmentMethod, int], "list[Tensor]"]
"""(pairs, method, batch_tokens) -> [L, H, T, S] of each pair."""


class Aligner:
    """Aligns words: by attention that a faster engine shows, or else by evidence from torch."""

    def __init__(self, tokenizers: TokenizerPair, evidence: Evidence, fast: FastPath) -> None:
        self._source, self._target = tokenizers.source, tokenizers.target
        self._evidence, self._fast = evidence, fast

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

    def links_of_all(
        self,
        sources: Sequence[list[int]],
        hypotheses: Sequence[Sequence[Hypothesis]],
        how: AlignmentConfig,
        batch_tokens: int,
    ) -> list[list[Links]]:
        """The links of all hypotheses of each source."""
        flat = [(source, [*one.tokens]) for source, own in zip(sources, hypotheses, strict=True) for one in own]
        pairs = Pairs([source for source, _ in flat], [target for _, target in flat])
        links = iter(self.links(pairs, how, batch_tokens))
        return [[next(links) for _ in own] for own in hypotheses]

    def _token_weights(self, pairs: Pairs, how: AlignmentConfig, batch_tokens: int) -> list[Weights]:
        """The evidence [T, S] of each pair, a row for each token."""
        found = self._fast.attention(pairs.sources, pairs.targets, how, batch_tokens)
        if found is None:
            stacks = self._evidence(pairs, how.method, batch_tokens)
            return [token_weights(stack, how.layer, how.heads, how.shift) for stack in stacks]
        with activity("aligning", len(pairs.sources), "pairs"):
            rows = dict(found)
        return [after_reading(rows[n]) if how.shift else rows[n] for n in range(len(pairs.sources))]

    def _word_weights(
        self, pairs: Pairs, counts: Sequence[tuple[int, int]], how: AlignmentConfig, batch_tokens: int
    ) -> list[Weights]:
        """The weights [target words, source words] of each pair. counts: the numbers of its source and target words."""
        return [
            word_weights(
                weights,
                self._source.words(source),
                self._target.words(target),
                *count,
            )
            for weights, source, target, count in zip(
                self._token_weights(pairs, how, batch_tokens), pairs.sources, pairs.targets, counts, strict=True
            )
        ]


def _words(tokenizer: Tokenizer, text: str, ids: Sequence[int]) -> list[str]:
    """The words of the normalised text: all of those that `ids` cover, and at most `MOST_WORDS` more."""
    covered = max(tokenizer.words(ids), default=-1) + 1
    return tokenizer.normalise(text[:MAX_CHARACTERS]).split()[: covered + MOST_WORDS]
