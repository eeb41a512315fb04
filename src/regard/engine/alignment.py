"""From attention between tokens to links between words. It knows neither the network nor the tokenizers.

Row t of the attention is where the decoder looked while it chose target token t, having read the tokens before it.

Shapes: L layers, H heads, T target tokens, S source tokens (both may be followed by the end mark's), W words.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.engine.translation import Links


def token_weights(stack: Tensor, layer: int | None = None) -> Tensor:
    """[L, H, T, S] -> [T, S]: the mean over the heads of one layer, or of all layers."""
    return stack.mean(dim=(0, 1)) if layer is None else stack[layer].mean(dim=0)


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
    inner = weights[: len(target_words), : len(source_words)].double()
    to_source = _membership(source_words, source_count)  # [S, W]
    to_target = _membership(target_words, target_count)  # [T, W]
    sizes = to_target.sum(dim=0).clamp(min=1.0)
    words = (to_target / sizes).T @ inner @ to_source
    totals = words.sum(dim=1, keepdim=True)
    return torch.where(totals > 0.0, words / totals, 0.0)


def best_links(weights: Tensor) -> Links:
    """For each target word of [target words, source words] the source word with the largest weight, of equals the first.

    A row of zeros gives no link.
    """
    if not weights.numel():
        return []
    largest = weights.max(dim=1)
    chosen = (weights == largest.values[:, None]).int().argmax(dim=1)  # the first: `max` leaves it open which
    pairs = zip(chosen.tolist(), largest.values.tolist(), strict=True)
    return [(source, target) for target, (source, value) in enumerate(pairs) if value > 0.0]


def _membership(words: Sequence[int], count: int) -> Tensor:
    """[tokens, words]: 1 where the token belongs to the word. Tokens of words that are not there belong to none."""
    belongs = torch.zeros(len(words), count, dtype=torch.float64)
    for token, word in enumerate(words):
        if 0 <= word < count:
            belongs[token, word] = 1.0
    return belongs
