"""`TokenFront`: the input layer of a network, from token ids to hidden states and a mask.

Shapes: B batch, S tokens, D width.
"""

import math
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.layers.positions import AddedPositions
from regard.layers.roles import Role
from regard.ops.masks import real_tokens
from regard.ops.probe import Probe


class TokenFront(nn.Module):
    """Embeddings times sqrt(D), plus positions if they are added to embeddings, with dropout. Pad is the last id of the vocabulary."""

    roles: ClassVar[dict[str, Role]] = {"segment": "table"}

    def __init__(
        self,
        *,
        embedding: nn.Embedding,
        dropout: Dropout,
        positions: AddedPositions | None = None,
        norm: nn.Module | None = None,
        scaled: bool = True,
        unread: int | None = None,
        segment: bool = False,
    ) -> None:
        """norm: after the positions; scaled: whether embeddings are multiplied by sqrt(D); unread: an id that is masked like padding.

        segment: a vector that is added to every embedding and tells this sequence from another one of the same stack.
        """
        super().__init__()
        self.embedding = embedding
        self.positions = positions
        self.norm = norm
        self.scaled = scaled
        self.unread = unread
        self.segment = nn.Parameter(torch.empty(embedding.embedding_dim)) if segment else None
        if self.segment is not None:
            nn.init.normal_(self.segment, std=embedding.embedding_dim**-0.5)  # as `TokenEmbedding`
        self.dropout = dropout
        self.dtype: torch.dtype | None = None
        """The type of the hidden states; None: that of the embedding."""

    @property
    def pad(self) -> int:
        """The id of padding."""
        return self.embedding.num_embeddings - 1

    def forward(
        self, ids: Int[Tensor, "B S"], probe: Probe | None = None
    ) -> tuple[Float[Tensor, "B S D"], Bool[Tensor, "B S"]]:
        """The hidden states, and the mask: True for tokens, False for padding."""
        real = real_tokens(ids, self.pad)
        if self.unread is not None:
            read = ids != self.unread
            read[:, :1] = True  # attention needs one token, also of an empty text
            real = real & read
        return self.embed(ids, probe=probe), real

    def embed(self, ids: Int[Tensor, "B S"], first: int = 0, probe: Probe | None = None) -> Float[Tensor, "B S D"]:
        """The hidden states of tokens, the first at position `first`."""
        x: Tensor = self.embedding(ids)
        scale = math.sqrt(self.embedding.embedding_dim) if self.scaled else 1.0
        if self.scaled:
            x = x * scale
        if probe is not None:
            x = probe.see("words", x)
        if self.segment is not None:
            x = x + self.segment * scale
        if self.positions is not None:
            x = x + self.positions(first, ids.shape[1])
        if self.norm is not None:
            x = self.norm(x)
        x = self.dropout(x if self.dtype is None else x.to(self.dtype))
        return x if probe is None else probe.see("embedding", x)
