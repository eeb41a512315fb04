"""Decoding states of networks, such as KV caches. Each satisfies the protocol `search.State`.

Shapes: B sentences, k hypotheses each, R = B k rows, H heads, S source, t tokens generated, d head width.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

from regard.layers.attention import KeyValueCache
from regard.layers.copying import CopiedSource
from regard.layers.decoders import EncodedSource
from regard.layers.mixer import MixerState, reordered


def rows_of(sentences: Int[Tensor, " B"], parents: Int[Tensor, "B k"], hypotheses: int) -> Int[Tensor, " R"]:
    """The row of each parent hypothesis, where every sentence has `hypotheses` rows."""
    return (sentences[:, None] * hypotheses + parents).flatten()


@runtime_checkable
class StackState(Protocol):
    """The state of a stack of blocks."""

    @property
    def hypotheses(self) -> int:
        """The hypotheses of each sentence, k."""
        ...

    def reorder(self, sentences: Int[Tensor, " N"], parents: Int[Tensor, "N k"]) -> "StackState":
        """Keep these sentences, with the hypotheses `parents` of each."""
        ...


@dataclass(frozen=True, slots=True)
class DecoderState:
    """The states of a stack's mixers, such as KV caches, of each hypothesis."""

    mixers: tuple[MixerState, ...]  # per layer
    hypotheses: int  # k

    def reorder(self, sentences: Int[Tensor, " N"], parents: Int[Tensor, "N k"]) -> "DecoderState":
        """Keep these sentences, with the hypotheses `parents` of each."""
        rows = rows_of(sentences, parents, self.hypotheses)
        return DecoderState(tuple(reordered(mixer, rows) for mixer in self.mixers), parents.shape[1])


@dataclass(frozen=True, slots=True)
class TransformerState:
    """Keys and values of the source, per sentence, and the state of the decoder."""

    source: tuple[KeyValueCache, ...]  # per layer
    source_mask: Float[Tensor, "B 1 1 S"]  # added to scores
    decoder: DecoderState
    length: int  # t
    copied: CopiedSource | None = None

    @property
    def hypotheses(self) -> int:
        """The hypotheses of each sentence."""
        return self.decoder.hypotheses

    def reorder(self, sentences: Int[Tensor, " N"], parents: Int[Tensor, "N k"]) -> "TransformerState":
        """Keep these sentences, with the hypotheses `parents` of each."""
        source, source_mask = self.source, self.source_mask
        if sentences.shape[0] != source_mask.shape[0]:
            source = tuple(
                (keys.index_select(0, sentences), values.index_select(0, sentences)) for keys, values in source
            )  # not keys[sentences]: it takes twice as long on a CPU
            source_mask = source_mask.index_select(0, sentences)
        copied = None if self.copied is None else self.copied.keep(sentences)
        return TransformerState(source, source_mask, self.decoder.reorder(sentences, parents), self.length, copied)


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
    """The state of the decoder and the tokens of each hypothesis. The tokens are needed when a full context is shortened."""

    decoder: StackState
    tokens: Int[Tensor, "R t"]

    def reorder(self, sentences: Int[Tensor, " N"], parents: Int[Tensor, "N k"]) -> "CausalState":
        """Keep these sentences, with the hypotheses `parents` of each."""
        rows = rows_of(sentences, parents, self.decoder.hypotheses)
        return CausalState(self.decoder.reorder(sentences, parents), self.tokens[rows])
