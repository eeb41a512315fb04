"""Decoding states of networks, such as KV caches. Each satisfies the protocol `search.State`.

Shapes: B sentences, k hypotheses each, R = B k rows, H heads, S source, t tokens generated, d head width.
"""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from regard.layers.attention import KeyValueCache
from regard.layers.decoders import EncodedSource
from regard.layers.mixer import MixerState, reordered


def rows_of(sentences: Int[Tensor, " B"], parents: Int[Tensor, "B k"], hypotheses: int) -> Int[Tensor, " R"]:
    """The row of each parent hypothesis, where every sentence has `hypotheses` rows."""
    return (sentences[:, None] * hypotheses + parents).flatten()


@dataclass(frozen=True, slots=True)
class TransformerState:
    """Keys and values of the source, per sentence, and the mixer states (KV caches), per hypothesis."""

    source: tuple[KeyValueCache, ...]  # per layer
    source_mask: Float[Tensor, "B 1 1 S"]  # added to scores
    mixers: tuple[MixerState, ...]  # per layer, of R rows
    hypotheses: int  # k
    length: int  # t

    def reorder(self, sentences: Int[Tensor, " N"], parents: Int[Tensor, "N k"]) -> "TransformerState":
        """Keep these sentences, with the hypotheses `parents` of each."""
        rows = rows_of(sentences, parents, self.hypotheses)
        source, source_mask = self.source, self.source_mask
        if sentences.shape[0] != source_mask.shape[0]:
            source = tuple((keys[sentences], values[sentences]) for keys, values in source)
            source_mask = source_mask[sentences]
        mixers = tuple(reordered(state, rows) for state in self.mixers)
        return TransformerState(source, source_mask, mixers, parents.shape[1], self.length)


@dataclass(frozen=True, slots=True)
class RecurrentState:
    """The encoded source, per sentence, and the decoder's state, per hypothesis."""

    source: EncodedSource | None  # None: a decoder without attention
    rows: tuple[Tensor, ...]  # [R, ..] each
    hypotheses: int  # k

    def reorder(self, sentences: Int[Tensor, " N"], parents: Int[Tensor, "N k"]) -> "RecurrentState":
        """Keep these sentences, with the hypotheses `parents` of each."""
        rows = rows_of(sentences, parents, self.hypotheses)
        source = self.source
        if source is not None and len(sentences) != len(source.keys):
            source = source.keep(sentences)
        return RecurrentState(source, reordered(self.rows, rows), parents.shape[1])


@dataclass(frozen=True, slots=True)
class CausalState:
    """The mixer states (KV caches) and the tokens of each hypothesis. The tokens are needed when a full context is shortened."""

    mixers: tuple[MixerState, ...]  # per layer, of R rows
    tokens: Int[Tensor, "R t"]
    hypotheses: int  # k

    def reorder(self, sentences: Int[Tensor, " N"], parents: Int[Tensor, "N k"]) -> "CausalState":
        """Keep these sentences, with the hypotheses `parents` of each."""
        rows = rows_of(sentences, parents, self.hypotheses)
        mixers = tuple(reordered(state, rows) for state in self.mixers)
        return CausalState(mixers, self.tokens[rows], parents.shape[1])
