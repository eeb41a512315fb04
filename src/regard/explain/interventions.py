"""Interventions on a model: mask a head, replace an embedding, drop a source word. Each is an edit of a `Probe`.

Shapes: B sentences, k hypotheses each, S source, T target, H heads, d head width, D width, V outputs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.engine.runner import Network
from regard.errors import ConfigError, InputTypeError
from regard.explain.capture import PATHS
from regard.explain.explanation import AttentionName
from regard.ops.probe import Edit, OptionalEdit, Probe
from regard.tasks.translate.translator import Translator

Edits = Mapping[str, Edit]


def without_head(attention: AttentionName, layer: int, head: int) -> Edits:
    """Edits that set the context of a head to zero. Layers and heads are counted from 0."""
    if attention not in PATHS:
        raise ConfigError(f"attention {attention!r}: not one of {', '.join(PATHS)}")
    for name, number in (("layer", layer), ("head", head)):
        if number < 0:
            raise ConfigError(f"{name} {number} of {attention} attention: counted from 0; give 0 or more")

    def edit(context: Tensor) -> Tensor:  # [B, H, T, d]
        if head >= context.shape[1]:
            raise ConfigError(
                f"head {head} of {attention} attention, layer {layer}: it has {context.shape[1]} heads, counted from 0"
            )
        kept = torch.ones(context.shape[1], dtype=context.dtype, device=context.device)
        kept[head] = 0.0
        return context * kept[:, None, None]

    stack, kind = PATHS[attention]
    return {f"{stack}.{layer}.{kind}.*context": edit}


def with_embeddings(tokens: Sequence[int], replacement: Tensor) -> Edits:
    """Edits that replace the embeddings of these source positions by `replacement` [D] or [1]."""
    if any(token < 0 for token in tokens):
        raise ConfigError(f"source position {min(tokens)}: counted from 0; give 0 or more")

    def edit(words: Tensor) -> Tensor:  # [B, S, D]
        _, length, width = words.shape
        if tokens and max(tokens) >= length:
            raise ConfigError(
                f"source position {max(tokens)}: the source has {length} tokens with its end mark, counted from 0"
            )
        if tuple(replacement.shape) not in ((1,), (width,)):
            raise ConfigError(f"an embedding of shape {list(replacement.shape)}: this model needs [{width}] or [1]")
        changed = words.clone()
        changed[:, list(tokens)] = replacement.to(words)
        return changed

    return {"encoder.words": edit}


def without_tokens(tokens: Sequence[int]) -> Edits:
    """Edits that drop these source positions: their embeddings are zero and attention to them is masked."""

    def edit(scores: Tensor) -> Tensor:  # [B, H, T, S]
        hidden = torch.zeros(scores.shape[-1], dtype=torch.bool, device=scores.device)
        hidden[list(tokens)] = True
        return scores.masked_fill(hidden, float("-inf"))

    nothing = with_embeddings(tokens, torch.zeros(1))
    attention = OptionalEdit(edit)  # a recurrent encoder has none, and a decoder may have none
    return {**nothing, "encoder.*.self.masked": attention, "decoder.*.cross.*masked": attention}


def edited(model: Translator, edits: Edits) -> Translator:
    """The model with these interventions in every pass. It can search, score, align and be explained.

    It has no key-value cache, so it is slow: use it for a sentence, not for a corpus. An edit that fits nothing in the model is an error of
    the first pass.
    """
    if not isinstance(model, Translator):
        raise InputTypeError(f"model = {model!r}: must be a Translator, as regard.load gives it")
    if not isinstance(edits, Mapping) or not all(map(callable, edits.values())):
        raise InputTypeError(
            f"edits = {edits!r}: must be a dict of name to function: write {{**without_head('cross', 0, 1)}}"
        )
    changed = type(model)(
        EditedNetwork(model.network, edits),
        model.tokenizers,
        languages=model.languages,
        alignment=model.alignment,
        reach=model.reach,
        max_tokens=model.max_tokens,
        bundle=model.bundle,
        longest=model.longest,
    )
    changed.explainer = model.explainer
    return changed


@dataclass(frozen=True)
class PrefixState:
    """The decoding state of an `EditedNetwork`: token ids only, no cache."""

    source: Tensor  # [B, S]
    tokens: Tensor  # [B, k, t]

    def reorder(self, sentences: Tensor, parents: Tensor) -> "PrefixState":
        """Keep the sentences [B'] and give each the hypotheses that descend from parents [B', k']."""
        kept = self.tokens[sentences]
        rows = parents[:, :, None].expand(-1, -1, kept.shape[2])
        return PrefixState(self.source[sentences], kept.gather(1, rows))


class EditedNetwork:
    """A network with edits in every pass. Each decoding step is a forced pass over the whole prefix."""

    def __init__(self, network: Network, edits: Edits) -> None:
        self._network, self._edits = network, edits
        self.start_token, self.end_token = network.start_token, network.end_token
        self.training = network.training

    def train(self, mode: bool = True) -> object:
        """Switch dropout on or off."""
        self.training = mode
        return self._network.train(mode)

    def parameters(self) -> Iterator[nn.Parameter]:
        """All weights."""
        return self._network.parameters()

    def project(self, hidden: Tensor) -> Tensor:
        """[..., D] -> logits [..., V]"""
        return self._network.project(hidden)

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """(source [B, S], target_in [B, T]) -> [B, T, D]"""
        editing = (Probe() if probe is None else probe).with_edits(self._edits)
        hidden = self._network.hidden(source, target_in, editing)
        editing.require_matches()
        return hidden

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> PrefixState:
        """The state before the first step."""
        assert source is not None, "an encoder-decoder needs a source"
        tokens = source[:, :0] if prefix is None else prefix
        return PrefixState(source, tokens[:, None])

    def step(self, tokens: Tensor, state: PrefixState, record: bool = False) -> tuple[Tensor, PrefixState, Any]:
        """tokens [B, k] -> logits [B, k, V] of the next tokens. Nothing is recorded."""
        sentences, hypotheses = tokens.shape
        before = state.tokens.expand(-1, hypotheses, -1)
        prefixes = torch.cat([before, tokens[:, :, None]], dim=2)  # [B, k, t]
        source = state.source.repeat_interleave(hypotheses, dim=0)
        hidden = self.hidden(source, prefixes.flatten(0, 1))[:, -1]
        return self.project(hidden).view(sentences, hypotheses, -1), PrefixState(state.source, prefixes), None
