"""Which source word each target word comes from, of pairs of texts. It joins tokenizers and evidence, and makes no pass of its own.

Shapes: L layers, H heads, T target and S source tokens with their end marks.
"""

from collections.abc import Callable, Sequence

from torch import Tensor

from regard.bundle.config import AlignmentConfig, AlignmentMethod
from regard.engine.alignment import best_links, token_weights, word_weights
from regard.engine.pairs import Pairs
from regard.engine.translation import Alignment, Links
from regard.text.build import TokenizerPair

Evidence = Callable[[Pairs, AlignmentMethod, int], list[Tensor]]
"""(pairs, method, batch_tokens) -> [L, H, T, S] of each pair."""


class Aligner:
    """Tokenizers, and what speaks for links between their tokens."""

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
        """Weights and links between the words of texts."""
        words = [
            (self._source.normalise(source).split(), self._target.normalise(target).split())
            for source, target in zip(sources, targets, strict=True)
        ]
        counts = [(len(some), len(others)) for some, others in words]
        return [
            Alignment(best_links(weights, how.links, how.least), weights, *words[number], number in pairs.cut)
            for number, weights in enumerate(self._word_weights(pairs, counts, how, batch_tokens))
        ]

    def links(self, pairs: Pairs, how: AlignmentConfig, batch_tokens: int) -> list[Links]:
        """Links between the words of what was read and of what was said."""
        counts = [
            (max(self._source.words(source), default=-1) + 1, len(self._target.decode(target).split()))
            for source, target in zip(pairs.sources, pairs.targets, strict=True)
        ]
        weights = self._word_weights(pairs, counts, how, batch_tokens)
        return [best_links(one, how.links, how.least) for one in weights]

    def _word_weights(
        self, pairs: Pairs, counts: Sequence[tuple[int, int]], how: AlignmentConfig, batch_tokens: int
    ) -> list[Tensor]:
        """For each pair the weights [target words, source words]; counts: the words of its source and of its target."""
        return [
            word_weights(
                token_weights(stack, how.layer, how.heads, how.said),
                self._source.words(source),
                self._target.words(target),
                *count,
            )
            for stack, source, target, count in zip(
                self._evidence(pairs, how.method, batch_tokens), pairs.sources, pairs.targets, counts, strict=True
            )
        ]
