"""`SourceDecoder`: what an encoder-decoder Transformer and a prefix language model share, teacher-forced and step by step.

Each reads its source once into keys and values, and has a stack of blocks for the target that looks at them.

Shapes: B batch, S source, T target, P prefix, D width, V outputs (the target vocabulary without pad), k hypotheses, R = B k rows.
"""

from abc import abstractmethod
from collections.abc import Sequence

from jaxtyping import Float, Int, Num
from torch import Tensor, nn

from regard.layers.attention import KeyValueCache
from regard.layers.copying import CopiedSource
from regard.layers.positions import RelativeBias
from regard.models.blocks import begin_decoder, step_decoder
from regard.models.network import EncoderDecoder, StepRecord
from regard.models.prepared import SharedState
from regard.models.state import TransformerState
from regard.ops.probe import Probe, within


class SourceDecoder(EncoderDecoder):
    """Front, blocks and the projection to the vocabulary, for targets of sources that a subclass reads."""

    decoder: nn.ModuleList
    decoder_norm: nn.Module
    decoder_bias: RelativeBias | None

    @abstractmethod
    def read(
        self, source: Num[Tensor, "B *source"], probe: Probe | None = None
    ) -> tuple[Sequence[KeyValueCache], Float[Tensor, "B 1 1 S"], CopiedSource | None]:
        """The keys and values of the source for each block, its padding mask, and what may be copied from it."""

    @abstractmethod
    def target_mask(
        self, x: Float[Tensor, "R T D"], earlier: int, source_mask: Float[Tensor, "B 1 1 S"]
    ) -> Float[Tensor, "*mask T _"] | None:
        """The mask of the mixers for T new positions of the target after `earlier` ones; None: the causal mask alone."""

    def attention_of(self, weights: Float[Tensor, "_ H _ S"], rows: tuple[int, ...]) -> Float[Tensor, "B k S"]:
        """The attention to the source that a step records, from the weights of the last block. rows: B, k."""
        return weights.mean(dim=1).view(*rows, -1)

    def hidden(
        self, source: Num[Tensor, "B *source"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Float[Tensor, "B T _"]:
        """The last hidden states, which `project` maps to logits."""
        caches, source_mask, copied = self.read(source, probe)
        x = self.target.embed(target_in, probe=within(probe, "decoder"))
        mask = self.target_mask(x, 0, source_mask)
        for number, (block, cache) in enumerate(zip(self.decoder, caches, strict=True)):
            at = within(probe, f"decoder.{number}")
            x = block(x, mask=mask, source=cache, source_mask=source_mask, probe=at)
        return self.with_copies(self.decoder_norm(x), copied, probe)

    def start(
        self, source: Num[Tensor, "B *source"] | None, prefix: Int[Tensor, "B P"] | None = None
    ) -> TransformerState | SharedState:
        """Read the source and prefill the prefix, once for all steps."""
        assert source is not None, "an encoder-decoder needs a source"
        projected, source_mask, copied = self.read(source)
        caches = tuple((keys.contiguous(), values.contiguous()) for keys, values in projected)  # read at every step
        state = TransformerState(caches, source_mask, begin_decoder(self.decoder, len(source)), 0, copied)
        if prefix is not None and prefix.shape[1]:
            state = self._extend(prefix, state, 1, None)[1]
        prepared = self.prepared(self.decoder, self.decoder_norm) if self.decoder_bias is None else None
        if prepared is None:
            return state
        return prepared.begin_with_source(state.decoder.mixers, caches, source_mask, copied)

    def step(
        self, tokens: Int[Tensor, "B k"], state: TransformerState | SharedState, record: bool = False
    ) -> tuple[Float[Tensor, "B k V"], TransformerState | SharedState, StepRecord | None]:
        """Feed one token per hypothesis. Returns the logits of the next, the new state and the attention."""
        if isinstance(state, SharedState):
            if not record:
                x = self.target.embed(tokens.reshape(-1, 1), state.caches.length)[:, 0]
                x, longer = state.prepared.step(x, state)
                if state.copied is not None:
                    x = self.with_copies(x.view(*tokens.shape, -1), state.copied).flatten(0, 1)
                return self.project_step(x, state.prepared).view(*tokens.shape, -1), longer, None
            plain = state.plain()  # it has attention weights to show
            assert isinstance(plain, TransformerState)
            state = plain
        probe = Probe(f"*.{len(self.decoder) - 1}.cross.weights") if record else None
        x, new = self._extend(tokens.reshape(-1, 1), state, tokens.shape[1], probe)
        seen = None if probe is None else StepRecord(self.attention_of(probe[next(iter(probe))], tuple(tokens.shape)))
        hidden = self.with_copies(self.decoder_norm(x.view(*tokens.shape, -1)), state.copied)
        return self.project(hidden), new, seen

    def _extend(
        self, tokens: Int[Tensor, "R T"], state: TransformerState, hypotheses: int, probe: Probe | None
    ) -> tuple[Float[Tensor, "R T D"], TransformerState]:
        """Feed more tokens after those of the state. Returns their hidden states and the new state."""
        x = self.target.embed(tokens, state.length)
        x, decoder = step_decoder(
            self.decoder,
            x,
            state.decoder,
            hypotheses,
            mask=self.target_mask(x, state.length, state.source_mask),
            source=state.source,
            source_mask=state.source_mask,
            probe=probe,
        )
        length = state.length + tokens.shape[1]
        return x, TransformerState(state.source, state.source_mask, decoder, length, state.copied)
