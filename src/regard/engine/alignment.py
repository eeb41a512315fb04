"""From evidence between tokens, attention or what takes its place, to links between words. It knows neither the network nor the tokenizers.

Row t of the evidence is from when the decoder chose target token t, having read the tokens before it; row t + 1 is from when it had read t.

Shapes: L layers, H heads, T target tokens, S source tokens (both may be followed by the end mark's), W words.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.bundle.config import AlignmentConfig, AlignmentMethod, LinkRule
from regard.engine.translation import Links
from regard.errors import ConfigError

__all__ = [  # the settings too, for those who may not see a bundle
    "AlignmentConfig",
    "AlignmentMethod",
    "after_reading",
    "best_links",
    "merged",
    "to_one",
    "token_weights",
    "word_weights",
]


def token_weights(
    stack: Tensor, layer: int | None = None, heads: Sequence[tuple[int, int]] | None = None, said: bool = False
) -> Tensor:
    """[L, H, T, S] -> [T, S]: the mean over some heads (layer, head), over those of one layer, or over all.

    said: a token has the row of the step that read it, not of the step that chose it (Chen et al. 2020, "shift").
    """
    layers, each = stack.shape[:2]
    for one, head in heads or [(layer or 0, 0)]:
        if one >= layers or head >= each:
            raise ConfigError(
                f"alignment by layer {one}, head {head}: this model has {layers} layers of {each} heads, counted from 0; "
                "pick a way to align on this model"
            )
    if heads is not None:
        weights = torch.stack([stack[one, head] for one, head in heads]).mean(dim=0)
    else:
        weights = stack.mean(dim=(0, 1)) if layer is None else stack[layer].mean(dim=0)
    return after_reading(weights) if said else weights


def after_reading(weights: Tensor) -> Tensor:
    """[..., T, S] with row t + 1 in the place of row t; the end mark, which is never read, keeps its own."""
    return torch.cat([weights[..., 1:, :], weights[..., -1:, :]], dim=-2)


def word_weights(
    weights: Tensor,  # [T, S]
    source_words: Sequence[int],  # the word of each source token
    target_words: Sequence[int],  # the word of each target token
    source_count: int,
    target_count: int,
) -> Tensor:
    """[target words, source words]: how much of each target word's attention goes to each source word.

    What goes to the tokens of one source word is summed, what comes from the tokens of one target word is averaged. The end marks,
    rows and columns past the given tokens, are left out, and the rest of each row is scaled to sum to 1.
    """
    return to_one(merged(weights, source_words, target_words, source_count, target_count))


def merged(
    weights: Tensor,  # [..., T, S]
    source_words: Sequence[int],
    target_words: Sequence[int],
    source_count: int,
    target_count: int,
) -> Tensor:
    """`word_weights` of any number of matrices before it is scaled."""
    inner = weights[..., : len(target_words), : len(source_words)].double()
    to_source = _membership(source_words, source_count)  # [S, W]
    to_target = _membership(target_words, target_count)  # [T, W]
    sizes = to_target.sum(dim=0).clamp(min=1.0)
    return (to_target / sizes).T @ inner @ to_source


def to_one(words: Tensor) -> Tensor:
    """Each row scaled to sum to 1; a row of zeros stays one."""
    totals = words.sum(dim=-1, keepdim=True)
    return torch.where(totals > 0.0, words / totals, 0.0)


def best_links(weights: Tensor, rule: LinkRule = "target", least: float = 0.0) -> Links:
    """For each target word of [target words, source words] the source word with the largest weight, of equals the first.

    A row of zeros gives no link, nor does a weight below `least`. By the rule `both` each must be the other's best, once every column is
    scaled too; by `either` one of them is enough.
    """
    if not weights.numel():
        return []
    found = {(source, target) for target, source in _largest(weights, least)}
    if rule != "target":
        backwards = set(_largest(to_one(weights.T), least))
        found = found & backwards if rule == "both" else found | backwards
    return sorted(found, key=lambda link: (link[1], link[0]))


def _largest(rows: Tensor, least: float) -> list[tuple[int, int]]:
    """(row, the column of its largest value) where that is above 0 and not below `least`."""
    largest = rows.max(dim=1)
    chosen = (rows == largest.values[:, None]).int().argmax(dim=1)  # the first: `max` leaves it open which
    pairs = zip(chosen.tolist(), largest.values.tolist(), strict=True)
    return [(row, column) for row, (column, value) in enumerate(pairs) if value > 0.0 and value >= least]


def _membership(words: Sequence[int], count: int) -> Tensor:
    """[tokens, words]: 1 where the token belongs to the word. Tokens of words that are not there belong to none."""
    belongs = torch.zeros(len(words), count, dtype=torch.float64)
    for token, word in enumerate(words):
        if 0 <= word < count:
            belongs[token, word] = 1.0
    return belongs
