"""Averages of weights: the exponential moving average (EMA) over steps, and the mean of checkpoints."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.bundle.manifest import open_manifest
from regard.bundle.tensors import read_tensors
from regard.bundle.weights import WEIGHTS


class MovingAverage:
    """Exponential moving average (EMA) of a network's parameters. Its buffers, such as hashes, are copied.

    The decay is smaller in the first steps, so that the random initial weights are soon forgotten.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self._decay = decay
        self.weights = {name: value.detach().clone() for name, value in network.state_dict().items()}
        self._averaged = [name for name, _ in network.named_parameters(remove_duplicate=False)]

    @torch.no_grad()
    def update(self, network: nn.Module, step: int) -> None:
        """Update the average with the weights after `step`."""
        decay = min(self._decay, (1 + step) / (10 + step))
        current = network.state_dict()
        averages = [self.weights[name] for name in self._averaged]
        torch._foreach_lerp_(averages, [current[name] for name in self._averaged], 1.0 - decay)
        for name in self.weights.keys() - set(self._averaged):
            self.weights[name].copy_(current[name])

    def restore(self, weights: Mapping[str, Tensor]) -> None:
        """Restore the average from a checkpoint."""
        for name, value in weights.items():
            self.weights[name].copy_(value)


def mean_weights(directories: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights of several bundles, summed in double precision, each tensor of its own type.

    Integers are not averaged: the last bundle's are taken. Raises `BundleError` if a bundle is damaged.
    """
    return mean_of(read_tensors(open_manifest(directory), WEIGHTS) for directory in directories)


def mean_of(several: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of tensors of the same names, as `mean_weights` has it."""
    total: dict[str, Tensor] = {}
    last: Mapping[str, Tensor] = {}
    count = 0
    for last in several:
        count += 1
        for name, value in last.items():
            total[name] = total[name] + value.double() if name in total else value.double()
    return {
        name: (total[name] / count).to(value.dtype) if value.is_floating_point() else value
        for name, value in last.items()
    }
