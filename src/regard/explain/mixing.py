"""What mixers show that have no attention weights: gates, filters, and the effective receptive field of each layer, by gradients.

The field of a layer is the length of the gradient of its output at one position, along a random direction, by each of its inputs. It can be
had of every mixer, so that layers with and without attention weights are compared. It reads the values of a probed pass and knows no task.

Shapes: T tokens, N order, S sides, D channels, H heads.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.explain.arrays import NamedArray
from regard.explain.explanation import LayerMixing
from regard.layers.block import Block
from regard.models.blocks import blocks_of
from regard.models.config import TransformerBase
from regard.ops.probe import Probe

SEED = 1  # of the random direction
MOST_STATES = 64  # positions whose receptive field is computed
CHANNELS = 6  # filters that are shown of each order and side: their windows go from the shortest to the longest
NEAR = 0.9  # the share of a field within `LayerMixing.width` tokens

_BY_HEAD = {"decay": "decay", "strength": "strength"}  # of the delta rule, [B, H, T]


def mixers_of(network: Any, config: Any = None) -> dict[str, list[str]]:
    """The names of the mixers of each stack, layer by layer: those of the settings, else of their classes. No blocks, no stacks."""
    settings = config.mixers if isinstance(config, TransformerBase) else ((), ())
    stacks = {}
    for stack, names in zip(("encoder", "decoder"), settings, strict=True):
        blocks = getattr(network, stack, None)
        if isinstance(blocks, nn.ModuleList) and all(isinstance(block, Block) for block in blocks):
            stacks[stack] = list(names) or [type(block.mixer).__name__ for block in blocks_of(blocks)]
    return stacks


def weighted_layers(probe: Probe, stack: str, depth: int) -> list[int]:
    """The layers of a stack whose attention weights a probe of everything has seen."""
    return [layer for layer in range(depth) if f"{stack}.{layer}.self.weights" in set(probe)]


def probe_of_mixing(optional: Sequence[str] = ()) -> Probe:
    """A probe of all that `layer_mixing` reads. Embeddings become leaves, so that no gradient reaches a weight."""
    parts = ("filters", "gates", "decay", "strength", "output")
    own = [f"*.self.{part}" for part in parts]
    return Probe("*.embedding", edits={"*.words": _leaf}, optional=[*own, "*.hidden", *optional])


def _leaf(words: Tensor) -> Tensor:
    return words.detach().requires_grad_()


def layer_mixing(probe: Probe, stack: str, mixers: Sequence[str], weighted: Iterable[int]) -> list[LayerMixing]:
    """The layers of a stack, from a pass with gradients. mixers: their names; weighted: the layers that have attention weights."""
    shown = set(weighted)
    layers = []
    for number, mixer in enumerate(mixers):
        before = f"{stack}.{number - 1}.hidden" if number else f"{stack}.embedding"
        output = f"{stack}.{number}.self.output"
        seen = set(probe)
        if before not in seen:
            break
        field = _field(probe[output if output in seen else f"{stack}.{number}.hidden"], probe[before])
        places = _places(probe[before].shape[1])
        names, gates = _gates(probe, f"{stack}.{number}.self")
        filter_names, filters = _filters(probe, f"{stack}.{number}.self.filters")
        layers.append(
            LayerMixing(
                stack=stack,
                layer=number,
                mixer=mixer,
                weighted=number in shown,
                states=places,
                reach=NamedArray.of(field, "state", "token"),
                width=_width(field.numpy(), places),
                gate_names=names,
                gates=gates,
                filter_names=filter_names,
                filters=filters,
            )
        )
    return layers


def _places(length: int) -> list[int]:
    """The positions whose field is computed: all of a short sequence, else some from the first to the last."""
    return sorted({round(place) for place in np.linspace(0, length - 1, min(length, MOST_STATES)).tolist()})


def _field(output: Tensor, entered: Tensor) -> Tensor:
    """[states, T]: how much the output at each of some positions changes with the input at every position."""
    generator = torch.Generator().manual_seed(SEED)
    direction = torch.randn(output.shape[-1], generator=generator, dtype=torch.float64).to(output)
    rows = [
        torch.autograd.grad((output[0, place] * direction).sum(), entered, retain_graph=True)[0][0]
        for place in _places(output.shape[1])
    ]
    lengths: Tensor = torch.linalg.vector_norm(torch.stack(rows), dim=-1)
    return lengths.float().cpu()


def _width(field: np.ndarray, places: Sequence[int]) -> float:
    """The mean distance within which a position has `NEAR` of its field."""
    distances = []
    for place, row in zip(places, field, strict=True):
        apart = np.abs(np.arange(len(row)) - place)
        by_distance = np.bincount(apart, weights=row)
        total = by_distance.sum()
        if total > 0:
            distances.append(int(np.searchsorted(np.cumsum(by_distance), NEAR * total)))
    return float(np.mean(distances)) if distances else 0.0


def _gates(probe: Probe, path: str) -> tuple[list[str], NamedArray | None]:
    """[gate, token]: the mean strength of each gate of Hyena, and the decay and strength of each head of the delta rule."""
    if f"{path}.gates" in set(probe):
        values = probe[f"{path}.gates"][0].abs().mean(dim=1)  # [N, T]
        return [f"gate {n + 1}" for n in range(len(values))], NamedArray.of(values, "gate", "token")
    rows, names = [], []
    for part, name in _BY_HEAD.items():
        if f"{path}.{part}" in set(probe):
            rows.append(probe[f"{path}.{part}"][0])  # [H, T]
            names += [f"{name}, head {head + 1}" for head in range(len(rows[-1]))]
    return (names, NamedArray.of(torch.cat(rows), "gate", "token")) if rows else ([], None)


def _filters(probe: Probe, name: str) -> tuple[list[str], NamedArray | None]:
    """[filter, lag]: some filters of every order and side, from the one that fades first to the one that fades last."""
    if name not in set(probe):
        return [], None
    filters = probe[name]  # [N, S, D, T]
    orders, sides, channels, _ = filters.shape
    chosen = sorted({round(channel) for channel in np.linspace(0, channels - 1, min(channels, CHANNELS)).tolist()})
    side_names = ("before", "after")[:sides] if sides > 1 else ("",)
    names = [
        f"convolution {order + 1}{f', {side}' if side else ''}, channel {channel + 1}"
        for order in range(orders)
        for side in side_names
        for channel in chosen
    ]
    return names, NamedArray.of(filters[:, :, chosen].flatten(0, 2), "filter", "lag")
