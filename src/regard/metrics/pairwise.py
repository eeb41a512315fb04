"""chrF between all texts of a small set; the n-grams of each text are counted once. It knows no model.

Shapes: n texts, g different n-grams of one order.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ORDERS, BETA = 6, 2  # chrF2, as sacrebleu counts it by default: characters without white space


def chrf_matrix(texts: Sequence[str]) -> "NDArray[np.float64]":
    """[n, n]: the chrF2 of text i as hypothesis with text j as reference, as `sentence_chrf` scores it, 0 to 100."""
    import numpy as np

    squeezed = ["".join(text.split()) for text in texts]
    size = len(texts)
    precision, recall, orders = (np.zeros((size, size)) for _ in range(3))
    for order in range(1, ORDERS + 1):
        counts = _counts(squeezed, order)  # [n, g]
        totals = counts.sum(axis=1)  # [n]
        matches = np.array([np.minimum(row, counts).sum(axis=1) for row in counts]).reshape(size, size)
        both = (totals[:, None] > 0) & (totals[None] > 0)
        precision += np.where(both, matches / np.maximum(totals[:, None], 1), 0.0)
        recall += np.where(both, matches / np.maximum(totals[None], 1), 0.0)
        orders += both
    precision, recall = precision / np.maximum(orders, 1), recall / np.maximum(orders, 1)
    denominator = BETA**2 * precision + recall
    scores = 100.0 * (1 + BETA**2) * precision * recall / np.where(denominator > 0.0, denominator, 1.0)
    same = np.array([[hypothesis == reference for reference in texts] for hypothesis in texts], dtype=bool).reshape(
        size, size
    )
    return np.where(same, 100.0, scores)


def _counts(texts: Sequence[str], order: int) -> "NDArray[np.int32]":
    """[n, g]: the count of each n-gram in each text."""
    import numpy as np

    columns: dict[str, int] = {}
    grams_of = [Counter(text[at : at + order] for at in range(len(text) - order + 1)) for text in texts]
    for grams in grams_of:
        for gram in grams:
            columns.setdefault(gram, len(columns))
    counts = np.zeros((len(texts), len(columns)), dtype=np.int32)
    for row, grams in enumerate(grams_of):
        counts[row, [columns[gram] for gram in grams]] = list(grams.values())
    return counts
