"""Sources as tensors: `Sources` is what a task says of them, `IdSources` are rows of ids. A search only indexes the rows of the tensor.

Shapes: B sources, S ids with end mark.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from regard.engine.batching import padded

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class Sources(Protocol):
    """Makes the tensor of the sources of a batch."""

    def tensor(self, sources: Sequence[Any], end_token: int, device: "torch.device") -> "Tensor":
        """[B, ..]"""
        ...

    def length(self, source: Any) -> int:
        """The places of a source that the coverage penalty counts."""
        ...


class IdSources:
    """Rows of ids, which get an end mark and padding."""

    def __init__(self, pad: int) -> None:
        self._pad = pad

    def tensor(self, sources: Sequence[Sequence[int]], end_token: int, device: "torch.device") -> "Tensor":
        """[B, S]"""
        return padded([[*ids, end_token] for ids in sources], self._pad, device)

    def length(self, source: Sequence[int]) -> int:
        """Without the end mark, which needs no coverage."""
        return len(source)
