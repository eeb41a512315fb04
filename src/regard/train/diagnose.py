"""What one step does to each part of a network: how long its gradient is, and how far it moves its weights.

A gradient that fades from part to part on its way from the output back to the input vanishes; one that grows explodes. The length of an
update as a share of the length of its weights tells whether the learning rate suits a part; about 1e-3 is the customary rule of thumb.

It reads parameters by their names and changes none. It knows no loop, no optimiser and no schedule.
"""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from regard.train.events import PartNorms

INPUT_TO_OUTPUT = (
    *("embedding", "source_embedding", "source_positions", "source_bias", "encoder", "encoder_norm", "bridge"),
    *("target_embedding", "target_positions", "target_bias", "decoder", "decoder_norm", "output"),
)
LAST_NORMS = ("encoder_norm", "decoder_norm")
IN_A_BLOCK = ("attention", "cross", "feed_forward")


def parts(network: nn.Module) -> dict[str, list[nn.Parameter]]:
    """The parameters of each sublayer and table, from the input to the output; a norm belongs to the sublayer that it serves."""
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in network.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    found: dict[str, list[nn.Parameter]] = {}
    for parameter, called in names.items():
        found.setdefault(_part(called), []).append(parameter)
    ordered = sorted(found, key=_place)
    for before, part in pairwise(ordered):
        if part in LAST_NORMS:  # what normalises the last block's output belongs to it
            found[before] += found.pop(part)
    return {part: found[part] for part in ordered if part in found}


def _part(names: list[str]) -> str:
    """`encoder.0.attention.query.weight` and `encoder.0.around_attention.norm.bias` -> `encoder.0.attention`."""
    if len({name.split(".")[0] for name in names} & {"source_embedding", "target_embedding"}) == 2:
        return "embedding"  # one table for both languages
    first, *rest = names[0].split(".")
    return ".".join([first, *rest[:2]]).replace("around_", "") if rest and rest[0].isdigit() else first


def _place(part: str) -> tuple[int, int, int]:
    """Where a part stands on the way from the input to the output; what is not known here comes last."""
    first, number, sublayer = (*part.split("."), "0", "")[:3]
    return _rank(first, INPUT_TO_OUTPUT), int(number), _rank(sublayer, IN_A_BLOCK)


def _rank(name: str, order: tuple[str, ...]) -> int:
    return order.index(name) if name in order else len(order)


class Diagnosis:
    """The numbers of one step: made when its gradients are there and not yet clipped, asked when the weights have moved."""

    @torch.no_grad()
    def __init__(self, network: nn.Module, tokens: int = 1) -> None:
        """The gradients are those of a loss summed over so many tokens; their mean is what is told."""
        self._parts = parts(network)
        self._gradients = {
            name: _length([p.grad for p in parameters if p.grad is not None]) / tokens
            for name, parameters in self._parts.items()
        }
        self._before = {name: [p.detach().clone() for p in parameters] for name, parameters in self._parts.items()}

    @torch.no_grad()
    def norms(self) -> tuple[PartNorms, ...]:
        """Of each part: its gradient, its weights before the step, how far they moved, and that as a share of them."""
        found = []
        for name, parameters in self._parts.items():
            before = self._before[name]
            weight = _length(before)
            update = _length([now - then for now, then in zip(parameters, before, strict=True)])
            ratio = update / weight if weight else math.inf
            found.append(PartNorms(name, self._gradients[name], weight, update, ratio))
        return tuple(found)


def _length(tensors: list[Tensor]) -> float:
    """The Euclidean length of all their numbers together."""
    return float(get_total_norm(tensors))
