"""Which way to align words is best, told by development data with gold links.

Of each method the mean of all heads, the best layer, the best head and a combination of heads are tried, with the evidence of the step that
chose a token and of the step that read it; then which links to draw from the best of them.

Shapes: L layers, H heads, W source words, U target words.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from regard.engine.alignment import (
    AlignmentConfig,
    AlignmentMethod,
    after_reading,
    best_links,
    merged,
    to_one,
    token_weights,
)
from regard.engine.model import Model
from regard.engine.pairs import Pairs
from regard.errors import DataError
from regard.metrics.alignment import AlignmentScore, Links, alignment_error_rate

METHODS: tuple[AlignmentMethod, ...] = ("attention", "norm", "zeroing")
LEAST = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
MOST_HEADS = 8  # of a combination

Gold = Sequence[tuple[Links, Links]]  # sure and possible links of each pair


@dataclass(frozen=True)
class Candidate:
    """One way to align, and what it is worth on the development data."""

    choice: str  # mean, layer, head, combination, and of a combination the links
    settings: AlignmentConfig
    score: AlignmentScore


def pick_alignment(
    model: Model,
    sources: Sequence[str],
    targets: Sequence[str],
    gold: Gold,
    methods: Sequence[AlignmentMethod] = METHODS,
) -> list[Candidate]:
    """The ways that were tried, the lowest error rate first."""
    if not sources:
        raise DataError("no development sentences to pick an alignment by")
    pairs = Pairs(
        [model.tokenizers.source.encode(text)[: model.max_tokens] for text in sources],
        [model.tokenizers.target.encode(text)[: model.max_tokens] for text in targets],
    )
    found = [candidate for method in methods for candidate in _of_method(model, pairs, method, gold)]
    return sorted(found, key=lambda candidate: candidate.score.aer)


def _of_method(model: Model, pairs: Pairs, method: AlignmentMethod, gold: Gold) -> Iterator[Candidate]:
    stacks = [
        _words(model, *one) for one in zip(model.evidence(pairs, method), pairs.sources, pairs.targets, strict=True)
    ]
    layers, heads = stacks[0][0].shape[:2]

    def tried(choice: str, settings: AlignmentConfig) -> Candidate:
        predicted = [frozenset(_links(stack, settings)) for stack in stacks]
        score = alignment_error_rate(predicted, [sure for sure, _ in gold], [possible for _, possible in gold])
        return Candidate(choice, settings, score)

    def best(choice: str, settings: Sequence[AlignmentConfig]) -> Candidate:
        return min((tried(choice, one) for one in settings), key=lambda candidate: candidate.score.aer)

    both = (False, True)
    mean = best("mean", [AlignmentConfig(method=method, said=said) for said in both])
    layer = best("layer", [AlignmentConfig(method=method, layer=n, said=said) for n in range(layers) for said in both])
    every = [(n, h) for n in range(layers) for h in range(heads)]
    head = best("head", [AlignmentConfig(method=method, heads=(one,), said=said) for one in every for said in both])
    combined = _combination(head, every, best)
    yield from (mean, layer, head, combined)
    winner = min((mean, layer, head, combined), key=lambda candidate: candidate.score.aer)
    yield best(
        "links",
        [
            winner.settings.model_copy(update={"links": rule, "least": least})
            for rule in ("target", "both", "either")
            for least in LEAST
        ],
    )


def _combination(
    head: Candidate,
    every: Sequence[tuple[int, int]],
    best: Callable[[str, Sequence[AlignmentConfig]], Candidate],
) -> Candidate:
    """From the best head on, the head that helps most is added, as long as one does."""
    known = Candidate("combination", head.settings, head.score)
    while known.settings.heads is not None and len(known.settings.heads) < min(MOST_HEADS, len(every)):
        chosen = known.settings.heads
        longer = [known.settings.model_copy(update={"heads": (*chosen, one)}) for one in every if one not in chosen]
        found = best("combination", longer)
        if found.score.aer >= known.score.aer:
            break
        known = found
    return known


def _words(model: Model, stack: Tensor, source: list[int], target: list[int]) -> tuple[Tensor, Tensor]:
    """[L, H, U, W] of the step that chose each word and of the step that read it; means over heads can be taken of these."""
    source_words, target_words = model.tokenizers.source.words(source), model.tokenizers.target.words(target)
    counts = (max(source_words, default=-1) + 1, max(target_words, default=-1) + 1)
    chose, read = (merged(one, source_words, target_words, *counts) for one in (stack, after_reading(stack)))
    return chose, read


def _links(stack: tuple[Tensor, Tensor], settings: AlignmentConfig) -> list[tuple[int, int]]:
    weights = token_weights(stack[settings.said], settings.layer, settings.heads)
    return best_links(to_one(weights), settings.links, settings.least)
