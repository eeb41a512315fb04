"""Norms of the gradient, the weights and the update of each part of a network, for one step.

Gradients that shrink from the output to the input vanish; gradients that grow explode. The ratio of update to weight norm tells whether the
learning rate suits a part: a common rule of thumb is 1e-3.

Parts are recognised by the names of parameters. No parameter is changed.
"""

import math
import re
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from regard.training.events import PartNorms

INPUT_TO_OUTPUT = (
    *(
        "embedding",
        "source.embedding",
        "source.segment",
        "source.positions",
        "encoder_bias",
        "encoder",
        "encoder_norm",
        "bridge",
    ),
    *("target.embedding", "target.segment", "target.positions", "decoder_bias", "decoder", "decoder_norm", "output"),
)
FRONTS = ("source", "target")
LAST_NORMS = ("encoder_norm", "decoder_norm")
IN_A_BLOCK = ("mixer", "cross", "feed_forward")
RECURRENT_LAYERS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"(encoder|decoder)\.stack\.layers\.\w+?_l(\d+)(?:_reverse)?"), 0),
    (re.compile(r"(encoder)\.convolutions\.(\d+)\.\w+"), 0),
    (re.compile(r"(decoder)\.cells\.(\d+)\..+"), 0),
    (re.compile(r"(decoder)\.above\.layers\.\w+?_l(\d+)"), 1),  # above the cell that attends, which is layer 0
)
"""Names of the parameters of recurrent and convolutional layers, and what to add to the layer's number."""
BEFORE_LAYERS, AFTER_LAYERS = -1, 1 << 20
BESIDE_LAYERS = {"encoder.widen": BEFORE_LAYERS, "decoder.attention": BEFORE_LAYERS, "decoder.readout": AFTER_LAYERS}
"""The other parts of a recurrent encoder or decoder, and their places beside its layers."""


def parts(network: nn.Module) -> dict[str, list[nn.Parameter]]:
    """The parameters of each sublayer, recurrent layer and embedding, from the input to the output.

    A norm belongs to its sublayer. Both directions of a recurrent layer are one part.
    """
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in network.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    by_part: dict[str, list[nn.Parameter]] = {}
    for parameter, parameter_names in names.items():
        by_part.setdefault(_part(parameter_names), []).append(parameter)
    ordered = sorted(by_part, key=_place)
    for before, part in pairwise(ordered):
        if part in LAST_NORMS:  # the norm of the last block's output belongs to that block
            by_part[before] += by_part.pop(part)
    return {part: by_part[part] for part in ordered if part in by_part}


def _part(names: list[str]) -> str:
    """`encoder.0.mixer.query.weight` and `encoder.0.around_mixer.norm.bias` -> `encoder.0.mixer`."""
    if {"source.embedding.weight", "target.embedding.weight"} <= set(names):
        return "embedding"  # one table for both languages
    if (layer := recurrent_layer(names[0])) is not None:
        return layer
    first, *rest = names[0].split(".")
    if first in FRONTS:
        return ".".join([first, *rest[:1]])
    return ".".join([first, *rest[:2]]).replace("around_", "") if rest and rest[0].isdigit() else first


def recurrent_layer(name: str) -> str | None:
    """`encoder.stack.layers.weight_ih_l1_reverse` -> `encoder.1`, `decoder.readout.bias` -> `decoder.readout`; None: another part."""
    if name.startswith("decoder.cell."):
        return "decoder.0"
    for pattern, below in RECURRENT_LAYERS:
        if (layer := pattern.fullmatch(name)) is not None:
            return f"{layer[1]}.{int(layer[2]) + below}"
    return next((part for part in BESIDE_LAYERS if name.startswith(f"{part}.")), None)


def _place(part: str) -> tuple[int, int, int]:
    """Sort key of a part, from the input to the output. Unknown parts come last."""
    if part.startswith(FRONTS):
        return _rank(part, INPUT_TO_OUTPUT), 0, 0
    if part in BESIDE_LAYERS:
        return _rank(part.split(".")[0], INPUT_TO_OUTPUT), BESIDE_LAYERS[part], 0
    first, number, sublayer = (*part.split("."), "0", "")[:3]
    return _rank(first, INPUT_TO_OUTPUT), int(number), _rank(sublayer, IN_A_BLOCK)


def _rank(name: str, order: tuple[str, ...]) -> int:
    return order.index(name) if name in order else len(order)


class Diagnosis:
    """The norms of one step. Create it after the backward pass, before clipping; call `norms` after the update."""

    @torch.no_grad()
    def __init__(self, network: nn.Module, tokens: int = 1) -> None:
        """tokens: how many the loss was summed over; gradient norms are divided by it."""
        self._parts = parts(network)
        self._gradients = {
            name: _length([p.grad for p in parameters if p.grad is not None]) / tokens
            for name, parameters in self._parts.items()
        }
        self._before = {name: [p.detach().clone() for p in parameters] for name, parameters in self._parts.items()}

    @torch.no_grad()
    def norms(self) -> tuple[PartNorms, ...]:
        """The norms of each part: gradient, weights before the step, update, and update / weights."""
        part_norms = []
        for name, parameters in self._parts.items():
            before = self._before[name]
            weight = _length(before)
            update = _length([now - then for now, then in zip(parameters, before, strict=True)])
            ratio = update / weight if weight else math.inf
            part_norms.append(PartNorms(name, self._gradients[name], weight, update, ratio))
        return tuple(part_norms)


def _length(tensors: list[Tensor]) -> float:
    """The Euclidean norm of all tensors together."""
    return float(get_total_norm(tensors))
