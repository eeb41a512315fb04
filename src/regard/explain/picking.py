"""Chooses alignment settings by their error rate on development data with gold links.

For each method it tries the mean of all heads, the best layer, the best head and a combination of heads. Each uses the weights of the step
that generated a token, or of the step that read it (`shift`). Then it tries link rules for the best of these.

Shapes: L layers, H heads, W source words, U target words.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from regard.activity import activity
from regard.bundle.config import AlignmentConfig, AlignmentMethod
from regard.errors import DataError
from regard.metrics.alignment import AlignmentScore, Links, alignment_error_rate
from regard.tasks.translate.alignment import (
    Weights,
    after_reading,
    best_links,
    merged,
    to_one,
    token_weights,
)
from regard.tasks.translate.pairs import Pairs
from regard.tasks.translate.translator import Translator
from regard.text.marked import shortened

METHODS: tuple[AlignmentMethod, ...] = ("attention", "norm", "zeroing")
LEAST = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
MOST_HEADS = 8  # of a combination

Gold = Sequence[tuple[Links, Links]]  # sure and possible links of each pair


@dataclass(frozen=True)
class Candidate:
    """Alignment settings and their score on the development data."""

    choice: str  # mean, layer, head, combination or links
    settings: AlignmentConfig
    score: AlignmentScore


def pick_alignment(
    model: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    gold: Gold,
    methods: Sequence[AlignmentMethod] = METHODS,
) -> list[Candidate]:
    """The candidates of all methods, lowest alignment error rate first."""
    if not sources:
        raise DataError("no development sentences to pick an alignment by")
    pairs = Pairs(
        [
            shortened(model.tokenizers.source, model.tokenizers.source.encode(text), model.max_tokens)
            for text in sources
        ],
        [
            shortened(model.tokenizers.target, model.tokenizers.target.encode(text), model.max_tokens)
            for text in targets
        ],
    )
    candidates = [candidate for method in methods for candidate in _candidates(model, pairs, method, gold)]
    return sorted(candidates, key=lambda candidate: candidate.score.aer)


def _candidates(model: Translator, pairs: Pairs, method: AlignmentMethod, gold: Gold) -> Iterator[Candidate]:
    """The best candidate of each choice, for one method."""
    stacks = [
        _word_weights(model, *pair)
        for pair in zip(model.evidence(pairs, method), pairs.sources, pairs.targets, strict=True)
    ]
    layers, heads = stacks[0][0].shape[:2]

    def evaluate(choice: str, settings: AlignmentConfig) -> Candidate:
        predicted = [frozenset(_links(stack, settings)) for stack in stacks]
        score = alignment_error_rate(predicted, [sure for sure, _ in gold], [possible for _, possible in gold])
        return Candidate(choice, settings, score)

    def best(choice: str, settings: Sequence[AlignmentConfig]) -> Candidate:
        candidates = []
        with activity(f"trying {method}, {choice}", len(settings), "settings") as progress:
            for config in settings:
                candidates.append(evaluate(choice, config))
                progress.advance()
        return min(candidates, key=lambda candidate: candidate.score.aer)

    shifts = (False, True)
    mean = best("mean", [AlignmentConfig(method=method, shift=shift) for shift in shifts])
    layer = best(
        "layer", [AlignmentConfig(method=method, layer=n, shift=shift) for n in range(layers) for shift in shifts]
    )
    all_heads = [(n, h) for n in range(layers) for h in range(heads)]
    head = best(
        "head", [AlignmentConfig(method=method, heads=(place,), shift=shift) for place in all_heads for shift in shifts]
    )
    combined = _combination(head, all_heads, best)
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
    all_heads: Sequence[tuple[int, int]],
    best: Callable[[str, Sequence[AlignmentConfig]], Candidate],
) -> Candidate:
    """Greedy forward selection of heads: starts with the best head and adds the most useful one while the error rate falls."""
    current = Candidate("combination", head.settings, head.score)
    while current.settings.heads is not None and len(current.settings.heads) < min(MOST_HEADS, len(all_heads)):
        chosen = current.settings.heads
        longer = [
            current.settings.model_copy(update={"heads": (*chosen, place)})
            for place in all_heads
            if place not in chosen
        ]
        candidate = best("combination", longer)
        if candidate.score.aer >= current.score.aer:
            break
        current = candidate
    return current


def _word_weights(model: Translator, stack: Tensor, source: list[int], target: list[int]) -> tuple[Weights, Weights]:
    """Weights [L, H, U, W] between words, of the steps that generated each target word and of the steps that read it."""
    source_words, target_words = model.tokenizers.source.words(source), model.tokenizers.target.words(target)
    counts = (max(source_words, default=-1) + 1, max(target_words, default=-1) + 1)
    chose, read = (merged(weights, source_words, target_words, *counts) for weights in (stack, after_reading(stack)))
    return chose, read


def _links(stack: tuple[Weights, Weights], settings: AlignmentConfig) -> list[tuple[int, int]]:
    weights = token_weights(stack[settings.shift], settings.layer, settings.heads)
    return best_links(to_one(weights), settings.links, settings.least)
