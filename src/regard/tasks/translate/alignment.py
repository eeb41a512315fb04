"""From evidence between tokens, such as attention weights, to links between words. Pure functions of arrays, without torch.

Row t of the evidence is from the decoder step that predicts target token t. Row t + 1 is from the step that reads token t as its input.
A tensor on the CPU is taken as an array.

Shapes: L layers, H heads, T target tokens, S source tokens (both may be followed by the end mark's), W words.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard.bundle.config import LinkRule
from regard.errors import ConfigError
from regard.tasks.translate.translation import Links

if TYPE_CHECKING:
    from torch import Tensor

Weights = NDArray[np.float64]


def token_weights(
    stack: "Tensor | NDArray[np.floating]",
    layer: int | None = None,
    heads: Sequence[tuple[int, int]] | None = None,
    shift: bool = False,
) -> Weights:
    """[L, H, T, S] -> [T, S]: the mean over the given heads (layer, head), over the heads of one layer, or over all.

    shift: use the row of the step that reads a token, not of the step that predicts it (Chen et al. 2020, "shift").
    """
    values: Weights = np.asarray(stack, dtype=np.float64)
    layers, each = values.shape[:2]
    for number, head in heads or [(layer or 0, 0)]:
        if number >= layers or head >= each:
            raise ConfigError(
                f"alignment by layer {number}, head {head}: this model has {layers} layers of {each} heads, counted from 0; "
                "pick a way to align on this model"
            )
    if heads is not None:
        weights: Weights = np.stack([values[number, head] for number, head in heads]).mean(axis=0)
    else:
        weights = values.mean(axis=(0, 1)) if layer is None else values[layer].mean(axis=0)
    return after_reading(weights) if shift else weights


def after_reading(weights: "Tensor | NDArray[np.floating]") -> Weights:
    """[..., T, S] with row t replaced by row t + 1. The end mark, which is never an input, keeps its row."""
    values: Weights = np.asarray(weights, dtype=np.float64)
    return np.concatenate([values[..., 1:, :], values[..., -1:, :]], axis=-2)


def word_weights(
    weights: "Tensor | NDArray[np.floating]",  # [T, S]
    source_words: Sequence[int],  # the word of each source token
    target_words: Sequence[int],  # the word of each target token
    source_count: int,
    target_count: int,
) -> Weights:
    """[target words, source words]: the share of each target word's attention on each source word.

    Weights are summed over the tokens of a source word and averaged over the tokens of a target word. End marks, the rows and columns past
    the given tokens, are left out. Each row is then scaled to sum to 1.
    """
    return to_one(merged(weights, source_words, target_words, source_count, target_count))


def merged(
    weights: "Tensor | NDArray[np.floating]",  # [..., T, S]
    source_words: Sequence[int],
    target_words: Sequence[int],
    source_count: int,
    target_count: int,
) -> Weights:
    """`word_weights` without the scaling, for any number of matrices."""
    values: Weights = np.asarray(weights, dtype=np.float64)
    inner = values[..., : len(target_words), : len(source_words)]
    to_source = _membership(source_words, source_count)  # [S, W]
    to_target = _membership(target_words, target_count)  # [T, W]
    sizes = to_target.sum(axis=0).clip(min=1.0)
    words: Weights = (to_target / sizes).T @ inner @ to_source
    return words


def to_one(words: "Tensor | NDArray[np.floating]") -> Weights:
    """Scale each row to sum to 1. Rows of zeros stay zero."""
    values: Weights = np.asarray(words, dtype=np.float64)
    totals = values.sum(axis=-1, keepdims=True)
    scaled: Weights = np.divide(values, totals, out=np.zeros_like(values), where=totals > 0.0)
    return scaled


def best_links(weights: "Tensor | NDArray[np.floating]", rule: LinkRule = "target", least: float = 0.0) -> Links:
    """Links from weights [target words, source words]: each target word to its source word with the largest weight (the first, if equal).

    A row of zeros or a largest weight below `least` gives no link. rule: `target` is this direction; `both` keeps links that are the best
    in both directions, with columns scaled to sum to 1 for the other; `either` keeps links of either direction.
    """
    values: Weights = np.asarray(weights, dtype=np.float64)
    if not values.size:
        return []
    links = {(source, target) for target, source in _largest(values, least)}
    if rule != "target":
        backwards = set(_largest(to_one(values.T), least))
        links = links & backwards if rule == "both" else links | backwards
    return sorted(links, key=lambda link: (link[1], link[0]))


def _largest(rows: Weights, least: float) -> list[tuple[int, int]]:
    """(row, column of its largest value, the first of equals) for rows whose largest value is above 0 and at least `least`."""
    pairs = zip(rows.argmax(axis=1).tolist(), rows.max(axis=1).tolist(), strict=True)
    return [(row, column) for row, (column, value) in enumerate(pairs) if value > 0.0 and value >= least]


def _membership(words: Sequence[int], count: int) -> Weights:
    """[tokens, words]: 1 where the token belongs to the word. Tokens of words from `count` on belong to none."""
    belongs = np.zeros((len(words), count))
    for token, word in enumerate(words):
        if 0 <= word < count:
            belongs[token, word] = 1.0
    return belongs
