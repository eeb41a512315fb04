"""Teacher-forced passes: one that records everything attention computes, and one that gives log-probabilities of a target.

Shapes: B sources, L layers, H heads, T target with end mark, S source with end mark, d head width, V outputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.explain.arrays import NamedArray
from regard.explain.explanation import AttentionName, Computation
from regard.ops.probe import Probe
from regard.tasks.translate.translator import Translator

PATHS: dict[AttentionName, tuple[str, str]] = {
    "encoder": ("encoder", "self"),
    "decoder": ("decoder", "self"),
    "cross": ("decoder", "cross"),
}
BY_KEY = ("keys", "values")  # the same at every step of a recurrent decoder
HEAD = ("layer", "head")
AXES = {
    "query": (*HEAD, "query", "unit"),
    "keys": (*HEAD, "key", "unit"),
    "values": (*HEAD, "key", "unit"),
    "scores": (*HEAD, "query", "key"),
    "masked": (*HEAD, "query", "key"),
    "weights": (*HEAD, "query", "key"),
    "context": (*HEAD, "query", "unit"),
    "joined": ("layer", "query", "unit"),
    "output": ("layer", "query", "unit"),
}


@dataclass(frozen=True)
class CapturedPass:
    """The probed values and output distributions of one pass."""

    probe: Probe
    logprobs: Tensor  # [T, V]

    def attention(self, name: AttentionName) -> NamedArray | None:
        """The attention weights of every layer and head; None if the model has no such attention."""
        return self._array(name, "weights")

    def computation(self, name: AttentionName) -> Computation | None:
        """The inputs, scores and outputs of an attention; None if the model has no such attention."""
        arrays = {part: self._array(name, part) for part in AXES if part != "weights"}
        query, keys, values, scores = arrays["query"], arrays["keys"], arrays["values"], arrays["scores"]
        masked, context = arrays["masked"], arrays["context"]
        if query is None or keys is None or values is None or scores is None or masked is None or context is None:
            return None
        layers = range(len(query.values))
        return Computation(layers, query, keys, values, scores, masked, context, arrays["joined"], arrays["output"])

    def _array(self, name: AttentionName, part: str) -> NamedArray | None:
        layers = by_layer(self.probe, *PATHS[name], part)
        return NamedArray.of(torch.stack([layer[0] for layer in layers]), *AXES[part]) if layers else None


def by_layer(probe: Probe, stack: str, kind: str, part: str) -> list[Tensor]:
    """[B, H, ..] of each layer. The steps of a recurrent decoder are concatenated."""
    layers: list[Tensor] = []
    while (layer := f"{stack}.{len(layers)}.{kind}") and any(name.startswith(f"{layer}.") for name in probe):
        steps = [name for name in probe if name.startswith(f"{layer}.") and name.endswith(f".{part}")]
        if f"{layer}.{part}" in steps:
            layers.append(probe[f"{layer}.{part}"])
        elif steps:
            values = [probe[name] for name in steps]
            layers.append(values[0] if part in BY_KEY else torch.cat(values, dim=2))
        else:
            break
    return layers


def capture(model: Translator, source: Sequence[int], target: Sequence[int]) -> CapturedPass:
    """Run and record one forced pass. Both sides are ids without end marks."""
    probe = Probe("*")
    hidden = model.forced([source], [target], probe)
    with torch.no_grad():
        return CapturedPass(probe, torch.log_softmax(model.network.project(hidden[0]).double(), dim=-1))


def token_logprobs(
    model: Translator,
    sources: Sequence[Sequence[int]],
    target: Sequence[int],
    probe: Probe | None = None,
    *,
    gradients: bool = False,
) -> Tensor:
    """[B, T]: log p of each target token given each source, the end mark last, in float64."""
    hidden = model.forced(sources, [target] * len(sources), probe, gradients=gradients)
    wanted = torch.tensor([*target, model.network.end_token], device=hidden.device).expand(len(sources), -1)
    with torch.set_grad_enabled(gradients):
        logits = model.network.project(hidden)
        token_logits = logits.gather(2, wanted[:, :, None]).squeeze(2)
        return (token_logits - logits.logsumexp(dim=2)).double().cpu()
