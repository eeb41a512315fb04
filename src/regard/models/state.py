"""What a network remembers between two steps of a search. Each satisfies `search.State` by its shape, without knowing it.

Shapes: B sentences, k hypotheses each, H heads, S source, t tokens said so far, d head width.
"""

from dataclasses import dataclass

from torch import Tensor

from regard.layers.attention import Memory
from regard.layers.decoders import SourceMemory


@dataclass(frozen=True, slots=True)
class TransformerState:
    """Keys and values of the source, once a sentence, and of what each hypothesis has said."""

    source: tuple[Memory, ...]  # per layer [B, H, S, d]
    source_mask: Tensor  # [B, 1, 1, S] added to scores
    past: tuple[Memory, ...]  # per layer [B * k, H, t, d]
    hypotheses: int  # k
    said: int  # t

    def reorder(self, sentences: Tensor, parents: Tensor) -> "TransformerState":
        """Keep the sentences [B'] and give each the hypotheses that descend from parents [B', k']."""
        rows = (sentences[:, None] * self.hypotheses + parents).flatten()
        source, source_mask = self.source, self.source_mask
        if sentences.shape[0] != source_mask.shape[0]:
            source = tuple((keys[sentences], values[sentences]) for keys, values in source)
            source_mask = source_mask[sentences]
        # not keys[rows]: it takes twice as long on a CPU
        past = tuple((keys.index_select(0, rows), values.index_select(0, rows)) for keys, values in self.past)
        return TransformerState(source, source_mask, past, parents.shape[1], self.said)


@dataclass(frozen=True, slots=True)
class RecurrentState:
    """What there is to look at, once a sentence, and the decoder's state of each hypothesis."""

    source: SourceMemory | None  # None: a decoder without attention
    rows: tuple[Tensor, ...]  # [B * k, ..] each
    hypotheses: int  # k

    def reorder(self, sentences: Tensor, parents: Tensor) -> "RecurrentState":
        """Keep the sentences [B'] and give each the hypotheses that descend from parents [B', k']."""
        rows = (sentences[:, None] * self.hypotheses + parents).flatten()
        source = self.source
        if source is not None and len(sentences) != len(source.keys):
            source = source.keep(sentences)
        return RecurrentState(source, tuple(part[rows] for part in self.rows), parents.shape[1])


@dataclass(frozen=True, slots=True)
class CausalState:
    """Keys and values of what each hypothesis has said, and its tokens, for when the first of them must be forgotten."""

    past: tuple[Memory, ...]  # per layer [B * k, H, t, d]
    tokens: Tensor  # [B * k, t]
    hypotheses: int  # k

    def reorder(self, sentences: Tensor, parents: Tensor) -> "CausalState":
        """Keep the sentences [B'] and give each the hypotheses that descend from parents [B', k']."""
        rows = (sentences[:, None] * self.hypotheses + parents).flatten()
        past = tuple((keys[rows], values[rows]) for keys, values in self.past)
        return CausalState(past, self.tokens[rows], parents.shape[1])
