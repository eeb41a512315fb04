"""Averages of weights: the exponential moving average (EMA) over steps, and the mean of checkpoints."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.bundle.manifest import verify_manifest
from regard.bundle.opened import REQUIRED, WEIGHTS
from regard.bundle.tensors import read_tensors


class MovingAverage:
    """Exponential moving average (EMA) of a network's weights.

    The decay is smaller in the first steps, so that the random initial weights are soon forgotten.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self._decay = decay
        self.weights = {name: value.detach().clone() for name, value in network.state_dict().items()}

    @torch.no_grad()
    def update(self, network: nn.Module, step: int) -> None:
        """Update the average with the weights after `step`."""
        decay = min(self._decay, (1 + step) / (10 + step))
        current = network.state_dict()
        torch._foreach_lerp_(list(self.weights.values()), [current[name] for name in self.weights], 1.0 - decay)

    def restore(self, weights: Mapping[str, Tensor]) -> None:
        """Restore the average from a checkpoint."""
        for name, value in weights.items():
            self.weights[name].copy_(value)


def mean_weights(directories: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights of several bundles, summed in double precision. Raises `BundleError` if one is damaged."""
    total: dict[str, Tensor] = {}
    for directory in directories:
        verify_manifest(directory, REQUIRED)
        for name, value in read_tensors(directory / WEIGHTS).items():
            total[name] = total[name] + value.double() if name in total else value.double()
    return {name: (value / len(directories)).float() for name, value in total.items()}
