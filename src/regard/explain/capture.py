"""Teacher-forced passes: one with a probe on everything that attention does, and those that tell how probable a target is.

Shapes: B sources, L layers, H heads, T target with end mark, S source with end mark, d head width, V outputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.engine.model import Model
from regard.explain.arrays import NamedArray
from regard.explain.explanation import AttentionName, Computation
from regard.ops.probe import Probe

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
class Captured:
    """What a pass showed."""

    probe: Probe
    logprobs: Tensor  # [T, V] of every token at every step

    def attention(self, name: AttentionName) -> NamedArray | None:
        """The weights of every layer and head; None: the model has no such attention."""
        return self._array(name, "weights")

    def computation(self, name: AttentionName) -> Computation | None:
        """All that makes the weights, and what is made of them."""
        found = {part: self._array(name, part) for part in AXES if part != "weights"}
        query, keys, values, scores = found["query"], found["keys"], found["values"], found["scores"]
        masked, context = found["masked"], found["context"]
        if query is None or keys is None or values is None or scores is None or masked is None or context is None:
            return None
        layers = range(len(query.values))
        return Computation(layers, query, keys, values, scores, masked, context, found["joined"], found["output"])

    def _array(self, name: AttentionName, part: str) -> NamedArray | None:
        layers = by_layer(self.probe, *PATHS[name], part)
        return NamedArray.of(torch.stack([layer[0] for layer in layers]), *AXES[part]) if layers else None


def by_layer(probe: Probe, stack: str, kind: str, part: str) -> list[Tensor]:
    """[B, H, ..] of each layer; what a recurrent decoder showed step by step is put together."""
    found: list[Tensor] = []
    while (layer := f"{stack}.{len(found)}.{kind}") and any(name.startswith(f"{layer}.") for name in probe):
        steps = [name for name in probe if name.startswith(f"{layer}.") and name.endswith(f".{part}")]
        if f"{layer}.{part}" in steps:
            found.append(probe[f"{layer}.{part}"])
        elif steps:
            values = [probe[name] for name in steps]
            found.append(values[0] if part in BY_KEY else torch.cat(values, dim=2))
        else:
            break
    return found


def capture(model: Model, source: Sequence[int], target: Sequence[int]) -> Captured:
    """See one forced pass; both sides are ids without end marks."""
    probe = Probe("*")
    hidden = model.forced([source], [target], probe)
    with torch.no_grad():
        return Captured(probe, torch.log_softmax(model.network.project(hidden[0]).double(), dim=-1))


def token_logprobs(
    model: Model,
    sources: Sequence[Sequence[int]],
    target: Sequence[int],
    probe: Probe | None = None,
    *,
    gradients: bool = False,
) -> Tensor:
    """[B, T]: log p of each token of the target, the end mark last, after each source, in double precision."""
    hidden = model.forced(sources, [target] * len(sources), probe, gradients=gradients)
    wanted = torch.tensor([*target, model.network.end_token], device=hidden.device).expand(len(sources), -1)
    with torch.set_grad_enabled(gradients):
        logits = model.network.project(hidden)
        said = logits.gather(2, wanted[:, :, None]).squeeze(2)
        return (said - logits.logsumexp(dim=2)).double().cpu()
