"""`PreparedDecoder`: the decoder of a Transformer for single steps, without calls of modules. `step_decoder` serves all networks.

It is made of the weights once, while a network is evaluated (`PreparedOnce`). The contract tests compare both ways with teacher forcing.

Shapes: B sentences, P places of sentences, k hypotheses each, R = B k rows, S source, H heads, d head width, D width, V outputs.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.layers.attention import KeyValueCache
from regard.layers.block import Block
from regard.layers.copying import CopiedSource
from regard.layers.mixer import MixerState
from regard.layers.packed import PackedLinear
from regard.layers.positions import RotaryPositions
from regard.layers.shared_cache import MOST_SHARING, SharedCaches
from regard.layers.step_block import Norm, SourceCache, StepBlock, Turn, can_prepare, prepared_norm
from regard.models.blocks import blocks_of
from regard.models.state import DecoderState, TransformerState

PlainState = TransformerState | DecoderState


@dataclass(frozen=True, slots=True)
class SharedState:
    """The state of a prepared decoder."""

    prepared: "PreparedDecoder"
    caches: SharedCaches
    source: tuple[SourceCache, ...] | None = None  # per layer; None: a language model
    source_mask: Float[Tensor, "P 1 1 S"] | None = None  # None: no source is padded
    copied: CopiedSource | None = None  # of B sentences

    @property
    def hypotheses(self) -> int:
        """The hypotheses of each sentence."""
        return self.caches.past.hypotheses

    def reorder(self, sentences: Int[Tensor, " N"], parents: Int[Tensor, "N k"]) -> "SharedState | PlainState":
        """Keep these sentences, with the hypotheses `parents` of each. Too many of them get caches of their own."""
        if parents.shape[1] > MOST_SHARING:
            return self.plain().reorder(sentences, parents)
        caches, places = self.caches.reorder(sentences, parents)
        copied = None if self.copied is None else self.copied.keep(sentences)
        if places is None or self.source is None:
            return SharedState(self.prepared, caches, self.source, self.source_mask, copied)
        size = self.caches.past.size
        source = tuple(
            (_of_places(keys, places, size), _of_places(values, places, size)) for keys, values in self.source
        )
        mask = None if self.source_mask is None else self.source_mask.index_select(0, places)
        return SharedState(self.prepared, caches, source, mask, copied)

    def plain(self) -> "PlainState":
        """The same state as `step_decoder` takes it."""
        past, heads = self.caches.past, self.caches.layers[0].pairs.shape[2]
        decoder = DecoderState(self.caches.by_rows(), past.hypotheses)
        if self.source is None:
            return decoder
        pairs, mask = [(keys.transpose(1, 2), values) for keys, values in self.source], self.source_mask
        if past.places is not None:
            pairs = [(_of_places(a, past.places, past.size), _of_places(b, past.places, past.size)) for a, b in pairs]
            mask = None if mask is None else mask.index_select(0, past.places)
        source = tuple((a.view(-1, heads, *a.shape[1:]), b.view(-1, heads, *b.shape[1:])) for a, b in pairs)
        if mask is None:
            mask = source[0][0].new_zeros(len(source[0][0]), 1, 1, source[0][0].shape[2])
        return TransformerState(source, mask, decoder, self.caches.length, self.copied)


def _of_places(part: Float[Tensor, "h m n"], places: Int[Tensor, " B"], size: int) -> Float[Tensor, "g m n"]:
    """The heads of these places, g = B H of h = P H."""
    kept = part.view(size, -1, *part.shape[1:]).index_select(0, places)
    return kept.flatten(0, 1)


class PreparedDecoder:
    """The blocks, the last norm and the outputs of a network, for single steps."""

    def __init__(
        self,
        stack: nn.ModuleList,
        last_norm: nn.Module,
        outputs: Float[Tensor, "V D"],
        offsets: Float[Tensor, " V"] | None,
    ) -> None:
        self._blocks = [StepBlock(block) for block in blocks_of(stack)]
        norm = prepared_norm(last_norm)
        assert norm is not None
        self._norm: Norm = norm
        self._outputs = PackedLinear(outputs, offsets)
        self._rotary: RotaryPositions | None = blocks_of(stack)[0].mixer.rotary  # type: ignore[attr-defined]
        self._turns: tuple[Float[Tensor, "T d"], Float[Tensor, "T d"]] | None = None

    def begin(self, caches: tuple[MixerState, ...]) -> SharedState:
        """The state after what a language model has read. caches: the plain ones of sentences with one hypothesis each."""
        return SharedState(self, SharedCaches.of([(keys, values) for keys, values in caches]))

    def begin_with_source(
        self,
        caches: tuple[MixerState, ...],
        source: tuple[KeyValueCache, ...],
        mask: Float[Tensor, "B 1 1 S"],
        copied: CopiedSource | None = None,
    ) -> SharedState:
        """The state of a decoder that looks at a source."""
        begun = self.begin(caches)
        columns = tuple(
            (keys.transpose(2, 3).flatten(0, 1).contiguous(), values.flatten(0, 1)) for keys, values in source
        )
        return SharedState(self, begun.caches, columns, mask if bool(mask.any()) else None, copied)

    def step(self, x: Float[Tensor, "R D"], state: SharedState) -> tuple[Float[Tensor, "R D"], SharedState]:
        """All blocks and the last norm for one new position of each hypothesis."""
        turn = self._turn(state.caches.length, x)
        caches = state.caches.extended()
        source, mask = state.source, state.source_mask
        for number, block in enumerate(self._blocks):
            own_source = None if source is None else source[number]
            x = block.step(x, caches.layers[number], caches, turn, own_source, mask)
        return self._norm(x), SharedState(self, caches, source, mask, state.copied)

    def project(self, hidden: Float[Tensor, "R D"]) -> Float[Tensor, "R V"]:
        """The logits of hidden states."""
        return self._outputs(hidden)

    def _turn(self, position: int, x: Float[Tensor, "R D"]) -> Turn | None:
        """The rotation of a position; None: positions are not rotary."""
        if self._rotary is None:
            return None
        if self._turns is None or len(self._turns[0]) <= position:
            self._rotary.reach(position + 1)
            cosines, sines = self._rotary.cosines.to(x.dtype), self._rotary.sines.to(x.dtype)
            self._turns = torch.cat([cosines, cosines], dim=1), torch.cat([-sines, sines], dim=1)
        cosines, sines = self._turns
        return cosines[position], sines[position]


class PreparedOnce:
    """The prepared decoder of a network, made anew when its weights have changed.

    A network that is being trained forgets it when it changes its mode, since its weights may be changed by other processes. Other changes
    are seen by torch's counter of them.
    """

    def __init__(self) -> None:
        self._key: tuple[tuple[int, int], ...] = ()
        self._made: PreparedDecoder | None = None

    def __reduce__(self) -> tuple[type["PreparedOnce"], tuple[()]]:
        """A copy of a network prepares its own weights."""
        return PreparedOnce, ()

    def forget(self) -> None:
        """The weights may change now."""
        self._key, self._made = (), None

    def of(
        self,
        stack: nn.ModuleList,
        last_norm: nn.Module,
        outputs: Float[Tensor, "V D"],
        offsets: Float[Tensor, " V"] | None,
    ) -> PreparedDecoder | None:
        """The prepared decoder of these parts as they are now; None: they cannot be prepared, or are being trained."""
        if torch.is_grad_enabled() or stack.training:
            return None
        weights = [*stack.parameters(), *last_norm.parameters(), outputs, *([] if offsets is None else [offsets])]
        if any(weight.is_inference() for weight in weights):  # torch does not count their changes
            return None
        key = tuple((weight.data_ptr(), weight._version) for weight in weights)
        if key != self._key:
            self._key, self._made = key, None
            if _can_prepare(stack, last_norm, weights):
                own = outputs.detach(), None if offsets is None else offsets.detach()
                self._made = PreparedDecoder(stack, last_norm, *own)
        return self._made


def _can_prepare(stack: nn.ModuleList, last_norm: nn.Module, weights: list[Tensor]) -> bool:
    types = {weight.dtype for weight in weights}
    return (
        len(types) == 1
        and types <= {torch.float32, torch.float64}
        and prepared_norm(last_norm) is not None
        and len(stack) > 0
        and all(isinstance(block, Block) and can_prepare(block) for block in stack)
    )
