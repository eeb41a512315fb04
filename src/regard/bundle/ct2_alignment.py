"""The heads of cross-attention that a model for CTranslate2 shows. It averages the first heads of one layer and can show no others.

Heads may stand in any order: those that are asked for are put first, with their rows and columns of the weights.

Shapes: D width, d head width.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from regard.bundle.config import AlignmentConfig
from regard.models.config import ModelConfig, TransformerConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class AttendedHeads(NamedTuple):
    """Heads of one decoder layer, counted from 0, in ascending order."""

    layer: int
    heads: tuple[int, ...]


def attended_heads(how: AlignmentConfig, model: ModelConfig) -> "AttendedHeads | str":
    """The heads whose mean attention aligns words; or, as text, what it is instead that CTranslate2 does not show."""
    if not isinstance(model, TransformerConfig):
        return f"a network of model.kind {getattr(model, 'kind', None)!r}"
    if how.method != "attention":
        return f"the method {how.method!r}"
    layers, every = model.depth[1], tuple(range(model.heads))
    if how.heads is None:
        if how.layer is None and layers > 1:
            return "the mean of all layers"
        chosen = AttendedHeads(how.layer or 0, every)
    else:
        numbers = {layer for layer, _ in how.heads}
        if len(numbers) > 1:
            return "heads of several layers"
        if len({*how.heads}) < len(how.heads):
            return "a head that counts twice"
        chosen = AttendedHeads(numbers.pop(), tuple(sorted(head for _, head in how.heads)))
    if chosen.layer >= layers or chosen.heads[-1] >= model.heads:
        return "a head that the model does not have"
    return chosen


def put_first(attention: Any, chosen: tuple[int, ...], count: int) -> None:
    """Put some of the `count` heads of an attention's specification first. It computes the same."""
    order = [*chosen, *(head for head in range(count) if head not in chosen)]
    if order == [*range(count)]:
        return
    query, key_value, output = attention.linear
    query.weight, query.bias = (_by_head(array, order, 1) for array in (query.weight, query.bias))
    key_value.weight, key_value.bias = (_by_head(array, order, 2) for array in (key_value.weight, key_value.bias))
    output.weight = _by_head(output.weight.T, order, 1).T.copy()


def _by_head(array: "NDArray[np.float32]", order: list[int], parts: int) -> "NDArray[np.float32]":
    """[parts * D, ..] with the d rows of each head, in each part, in this order."""
    grouped = array.reshape(parts, len(order), -1, *array.shape[1:])
    ordered: NDArray[np.float32] = grouped[:, order].reshape(array.shape)
    return ordered
