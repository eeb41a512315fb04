"""Forecasters that read patches of the past: an encoder alone, and encoder-decoders that write the future patch by patch.

Shapes: B windows, L steps of the past, H of the horizon, P steps of a patch, N patches of the past, T = ceil(H / P) of the future,
D width, E width of an embedding, Q quantiles.
"""

import math
from abc import abstractmethod
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.layers.attention import project_source
from regard.layers.dropout import Dropout
from regard.layers.linear import Linear
from regard.layers.recurrent import PARTS
from regard.layers.series import QuantileHead, SeriesFront
from regard.models.blocks import (
    added_positions,
    attention_layers,
    begin_decoder,
    causal_mask,
    decoder_blocks,
    encoder_blocks,
    last_norm,
    relative_bias,
    rotary_positions,
    run_encoder,
    step_decoder,
)
from regard.models.config import ForecastRecurrentConfig, ForecastTransformerConfig, PatchConfig
from regard.models.forecasters import ForecastNetwork
from regard.models.recurrent import source_encoder, state_decoder
from regard.ops.masks import additive
from regard.ops.probe import Probe, within
from regard.ops.series import patch_count, patches

Heads = tuple[Tensor, Tensor]
"""Values [B, T, P] and distances of the quantiles [B, T, P, Q] of patches."""

Step = Callable[[Tensor, int], Heads]
"""(the patch before [B, 1, P], its number) -> the heads of the next patch."""


class PatchedEncoder(ForecastNetwork):
    """The encoder of a Transformer over patches, all states joined and mapped to the horizon (Nie et al. 2023)."""

    def __init__(self, config: PatchConfig, context: int, horizon: int, quantiles: int, known: int) -> None:
        super().__init__(config, context, horizon, quantiles, known)
        self.source = SeriesFront(
            patch=config.patch,
            stride=config.stride,
            width=config.width,
            dropout=Dropout(config.dropout),
            positions=added_positions(config),
        )
        self.encoder_bias = relative_bias(config, bidirectional=True)
        self.encoder = encoder_blocks(config, rotary_positions(config))
        self.encoder_norm = last_norm(config)
        self.dropout = Dropout(config.head_dropout)
        count = patch_count(context, config.patch, config.stride)
        self.head = QuantileHead(inputs=count * config.width, steps=horizon, quantiles=quantiles)

    def predict(
        self, past: Float[Tensor, "B L"], future: Float[Tensor, "B H"] | None, probe: Probe | None
    ) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B H Q"]]:
        x, real = self.source(past, within(probe, "encoder"))
        x, _ = run_encoder(self.encoder, x, real, self.encoder_bias, probe)
        value, distance = self.head(self.dropout(self.encoder_norm(x).flatten(1)))
        return value, distance

    def attended(
        self, past: Float[Tensor, "B L"], known: Float[Tensor, "B LH F"] | None = None
    ) -> tuple[str, Float[Tensor, "B R L"]] | None:
        """The attention of each layer to each past step: the mean of its heads and patches. None if no mixer is attention."""
        probe = Probe(optional=["encoder.*.self.weights"])
        self(past, known, None, probe)
        weights = [probe[name].mean(dim=(1, 2)) for name in probe]  # [B, N] each
        if not weights:
            return None
        return "layer", by_step(torch.stack(weights, dim=1), self.context, self.source.patch, self.source.stride)


class PatchWriter(ForecastNetwork):
    """The base of encoder-decoders: the future is written patch by patch, each read back before the next.

    In training the true patches are read (teacher forcing). The start token is the last patch of the past.
    """

    source: SeriesFront
    target: SeriesFront

    def predict(
        self, past: Float[Tensor, "B L"], future: Float[Tensor, "B H"] | None, probe: Probe | None
    ) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B H Q"]]:
        patch = self.target.patch
        count = -(-self.horizon // patch)
        start = patches(past, patch, patch)[:, -1:]
        if future is not None:
            cut = F.pad(future, (0, count * patch - self.horizon)).view(len(past), count, patch)
            value, distance = self.write(past, torch.cat([start, cut[:, :-1]], dim=1), probe)
        else:
            value, distance = self._write_freely(self.stepper(past), start, count)
        return value.flatten(1)[:, : self.horizon], distance.flatten(1, 2)[:, : self.horizon]

    def _write_freely(self, step: Step, start: Float[Tensor, "B 1 P"], count: int) -> Heads:
        previous, written = start, []
        for number in range(count):
            written.append(step(previous, number))
            previous = written[-1][0]
        return torch.cat([value for value, _ in written], dim=1), torch.cat([rest for _, rest in written], dim=1)

    def attended(
        self, past: Float[Tensor, "B L"], known: Float[Tensor, "B LH F"] | None = None
    ) -> tuple[str, Float[Tensor, "B R L"]] | None:
        """The attention of every written patch to each past step, in the last layer. None: a decoder without attention."""
        probe = Probe(optional=["decoder.*.cross.weights"])
        self(past, known, self(past, known)[..., 0], probe)  # it reads back what it writes
        names = [name for name in probe if name.count(".") == 3]  # not the single steps of a recurrent decoder
        if not names:
            return None
        weights = probe[names[-1]].mean(dim=1)  # [B, T, N]
        return "forecast patch", by_step(weights, self.context, self.source.patch, self.source.stride)

    @abstractmethod
    def write(
        self, past: Float[Tensor, "B L"], inputs: Float[Tensor, "B T P"], probe: Probe | None
    ) -> tuple[Float[Tensor, "B T P"], Float[Tensor, "B T P Q"]]:
        """Teacher forcing: the heads after each of the input patches."""

    @abstractmethod
    def stepper(self, past: Float[Tensor, "B L"]) -> Step:
        """The function that writes the next patch. All steps together equal `write`."""


class TransformerForecaster(PatchWriter):
    """The encoder-decoder Transformer of the lectures, with patches for words."""

    def __init__(
        self, config: ForecastTransformerConfig, context: int, horizon: int, quantiles: int, known: int
    ) -> None:
        super().__init__(config, context, horizon, quantiles, known)
        self.source, self.target = (
            SeriesFront(
                patch=config.patch,
                stride=stride,
                width=config.width,
                dropout=Dropout(config.dropout),
                positions=added_positions(config),
            )
            for stride in (config.stride, config.patch)
        )
        self.encoder_bias = relative_bias(config, bidirectional=True)
        self.decoder_bias = relative_bias(config, bidirectional=False)
        rotary = rotary_positions(config)
        self.encoder = encoder_blocks(config, rotary)
        self.decoder = decoder_blocks(config, rotary, cross=True)
        self.encoder_norm, self.decoder_norm = last_norm(config), last_norm(config)
        self.head = QuantileHead(inputs=config.width, steps=config.patch, quantiles=quantiles)

    def write(
        self, past: Float[Tensor, "B L"], inputs: Float[Tensor, "B T P"], probe: Probe | None
    ) -> tuple[Float[Tensor, "B T P"], Float[Tensor, "B T P Q"]]:
        states, source_mask = self._encode(past, probe)
        x = self.target.embed(inputs, probe=within(probe, "decoder"))
        mask = causal_mask(self.decoder_bias, x)
        caches = project_source(attention_layers(self.decoder), states)
        for number, (block, cache) in enumerate(zip(self.decoder, caches, strict=True)):
            at = within(probe, f"decoder.{number}")
            x = block(x, mask=mask, source=cache, source_mask=source_mask, probe=at)
        value, distance = self.head(self.decoder_norm(x))
        return value, distance

    def _encode(self, past: Float[Tensor, "B L"], probe: Probe | None = None) -> tuple[Tensor, Tensor]:
        x, real = self.source(past, within(probe, "encoder"))
        x, mask = run_encoder(self.encoder, x, real, self.encoder_bias, probe)
        return self.encoder_norm(x), mask

    def stepper(self, past: Float[Tensor, "B L"]) -> Step:
        states, source_mask = self._encode(past)
        caches = tuple(project_source(attention_layers(self.decoder), states))
        state = begin_decoder(self.decoder, len(past))

        def step(previous: Tensor, number: int) -> Heads:
            nonlocal state
            x = self.target.embed(previous, number)
            mask = causal_mask(self.decoder_bias, x, number)
            x, state = step_decoder(
                self.decoder, x, state, 1, mask=mask, source=caches, source_mask=source_mask, probe=None
            )
            heads: Heads = self.head(self.decoder_norm(x))
            return heads

        return step


class RecurrentForecaster(PatchWriter):
    """The recurrent encoder-decoder, with attention to the past (Bahdanau et al. 2015) or through one vector (Sutskever et al. 2014)."""

    def __init__(self, config: ForecastRecurrentConfig, context: int, horizon: int, quantiles: int, known: int) -> None:
        super().__init__(config, context, horizon, quantiles, known)
        self.source, self.target = (
            SeriesFront(
                patch=config.patch, stride=stride, width=config.embedding_width, dropout=Dropout(config.dropout)
            )
            for stride in (config.stride, config.patch)
        )
        self.shape = (PARTS[config.cell], config.depth[1], config.width)  # of a state
        self.encoder = source_encoder(config)
        self.bridge = Linear(config.source_width, math.prod(self.shape))
        self.decoder = state_decoder(config)
        self.dropout = Dropout(config.dropout)
        self.head = QuantileHead(inputs=config.embedding_width, steps=config.patch, quantiles=quantiles)

    def write(
        self, past: Float[Tensor, "B L"], inputs: Float[Tensor, "B T P"], probe: Probe | None
    ) -> tuple[Float[Tensor, "B T P"], Float[Tensor, "B T P Q"]]:
        memory, state = self._encode(past, probe)
        x = self.target.embed(inputs, probe=within(probe, "decoder"))
        hidden, _ = self.decoder(x, state, memory, within(probe, "decoder"))
        value, distance = self.head(self.dropout(hidden))
        return value, distance

    def _encode(self, past: Float[Tensor, "B L"], probe: Probe | None = None):  # type: ignore[no-untyped-def]
        x, real = self.source(past, within(probe, "encoder"))
        states, summary = self.encoder(x, real)
        hidden, *memories = self.bridge(summary).view(len(past), *self.shape).unbind(1)
        state = self.decoder.first((torch.tanh(hidden), *memories))
        if self.decoder.attention is None:
            return None, state
        return self.decoder.attention.project_source(states, additive(real[:, None, None, :], states.dtype)), state

    def stepper(self, past: Float[Tensor, "B L"]) -> Step:
        memory, state = self._encode(past)

        def step(previous: Tensor, number: int) -> Heads:
            nonlocal state
            hidden, state = self.decoder(self.target.embed(previous, number), state, memory, None)
            heads: Heads = self.head(hidden)
            return heads

        return step


def by_step(weights: Float[Tensor, "B R N"], context: int, patch: int, stride: int) -> Float[Tensor, "B R L"]:
    """Weights of patches spread evenly over their steps. What falls before the first step is left out, and each row sums to 1."""
    count = weights.shape[-1]
    length = (count - 1) * stride + patch
    steps = weights.new_zeros(*weights.shape[:-1], length)
    for number in range(count):
        steps[..., number * stride : number * stride + patch] += weights[..., number, None]
    steps = steps[..., length - context :] if length > context else steps
    return steps / steps.sum(dim=-1, keepdim=True)
