"""From evidence between tokens, such as attention weights, to links between words. Pure functions of tensors.

Row t of the evidence is from the decoder step that predicts target token t. Row t + 1 is from the step that reads token t as its input.

Shapes: L layers, H heads, T target tokens, S source tokens (both may be followed by the end mark's), W words.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.bundle.config import LinkRule
from regard.errors import ConfigError
from regard.tasks.translate.translation import Links


def token_weights(
    stack: Tensor, layer: int | None = None, heads: Sequence[tuple[int, int]] | None = None, shift: bool = False
) -> Tensor:
    """[L, H, T, S] -> [T, S]: the mean over the given heads (layer, head), over the heads of one layer, or over all.

    shift: use the row of the step that reads a token, not of the step that predicts it (Chen et al. 2020, "shift").
    """
    layers, each = stack.shape[:2]
    for number, head in heads or [(layer or 0, 0)]:
        if number >= layers or head >= each:
            raise ConfigError(
                f"alignment by layer {number}, head {head}: this model has {layers} layers of {each} heads, counted from 0; "
                "pick a way to align on this model"
            )
    if heads is not None:
        weights = torch.stack([stack[number, head] for number, head in heads]).mean(dim=0)
    else:
        weights = stack.mean(dim=(0, 1)) if layer is None else stack[layer].mean(dim=0)
    return after_reading(weights) if shift else weights


def after_reading(weights: Tensor) -> Tensor:
    """[..., T, S] with row t replaced by row t + 1. The end mark, which is never an input, keeps its row."""
    return torch.cat([weights[..., 1:, :], weights[..., -1:, :]], dim=-2)


def word_weights(
    weights: Tensor,  # [T, S]
    source_words: Sequence[int],  # the word of each source token
    target_words: Sequence[int],  # the word of each target token
    source_count: int,
    target_count: int,
) -> Tensor:
    """[target words, source words]: the share of each target word's attention on each source word.

    Weights are summed over the tokens of a source word and averaged over the tokens of a target word. End marks, the rows and columns past
    the given tokens, are left out. Each row is then scaled to sum to 1.
    """
    return to_one(merged(weights, source_words, target_words, source_count, target_count))


def merged(
    weights: Tensor,  # [..., T, S]
    source_words: Sequence[int],
    target_words: Sequence[int],
    source_count: int,
    target_count: int,
) -> Tensor:
    """`word_weights` without the scaling, for any number of matrices."""
    inner = weights[..., : len(target_words), : len(source_words)].double()
    to_source = _membership(source_words, source_count)  # [S, W]
    to_target = _membership(target_words, target_count)  # [T, W]
    sizes = to_target.sum(dim=0).clamp(min=1.0)
    return (to_target / sizes).T @ inner @ to_source


def to_one(words: Tensor) -> Tensor:
    """Scale each row to sum to 1. Rows of zeros stay zero."""
    totals = words.sum(dim=-1, keepdim=True)
    return torch.where(totals > 0.0, words / totals, 0.0)


def best_links(weights: Tensor, rule: LinkRule = "target", least: float = 0.0) -> Links:
    """Links from weights [target words, source words]: each target word to its source word with the largest weight (the first, if equal).

    A row of zeros or a largest weight below `least` gives no link. rule: `target` is this direction; `both` keeps links that are the best
    in both directions, with columns scaled to sum to 1 for the other; `either` keeps links of either direction.
    """
    if not weights.numel():
        return []
    links = {(source, target) for target, source in _largest(weights, least)}
    if rule != "target":
        backwards = set(_largest(to_one(weights.T), least))
        links = links & backwards if rule == "both" else links | backwards
    return sorted(links, key=lambda link: (link[1], link[0]))


def _largest(rows: Tensor, least: float) -> list[tuple[int, int]]:
    """(row, column of its largest value) for rows whose largest value is above 0 and at least `least`."""
    largest = rows.max(dim=1)
    chosen = (rows == largest.values[:, None]).int().argmax(dim=1)  # the first: `max` leaves it open which
    pairs = zip(chosen.tolist(), largest.values.tolist(), strict=True)
    return [(row, column) for row, (column, value) in enumerate(pairs) if value > 0.0 and value >= least]


def _membership(words: Sequence[int], count: int) -> Tensor:
    """[tokens, words]: 1 where the token belongs to the word. Tokens of words from `count` on belong to none."""
    belongs = torch.zeros(len(words), count, dtype=torch.float64)
    for token, word in enumerate(words):
        if 0 <= word < count:
            belongs[token, word] = 1.0
    return belongs
