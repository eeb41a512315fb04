"""Which optimiser moves which weights, behind one handle whose tensors can be saved by name.

The weights can be dealt out into shares, each moved by a process of its own.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from regard.train.config import TrainConfig
from regard.train.muon import Muon
from regard.train.shared import shared


class Optimizer:
    """Optimisers of torch's kind that share a learning rate. With several shares their memory is shared too."""

    def __init__(self, network: nn.Module, config: TrainConfig, shares: int = 1) -> None:
        self._names: dict[Tensor, str] = {parameter: name for name, parameter in network.named_parameters()}
        self._left = config.adamw_factor if config.optimizer == "muon" else 1.0
        self._dealt = _deal(network, config.optimizer, shares)
        self._shares = [_torch_optimizers(names, config) for names in self._dealt]
        for part in self._all():
            for group in part.param_groups:
                for parameter in group["params"]:
                    part.state[parameter] = _blank(part, parameter)
        if shares > 1:
            self._share_memory()

    def share(self, number: int) -> list[nn.Parameter]:
        """The weights that share `number` moves."""
        return list(self._dealt[number].values())

    def step(self, learning_rate: float, share: int = 0) -> None:
        """Move the weights of a share by their gradients."""
        for part in self._shares[share]:
            for group in part.param_groups:
                group["lr"] = learning_rate * (1.0 if isinstance(part, Muon) else self._left)
            part.step()

    def tensors(self) -> dict[str, Tensor]:
        """The optimiser's memory, as `weight/what`."""
        return {
            f"{self._names[parameter]}/{what}": value
            for part in self._all()
            for parameter, state in part.state.items()
            for what, value in state.items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what `tensors` gave."""
        for name, value in self.tensors().items():
            if name in tensors:  # nothing was remembered before the first step
                value.copy_(tensors[name])

    def _all(self) -> list[torch.optim.Optimizer]:
        return [part for share in self._shares for part in share]

    def _share_memory(self) -> None:
        places = [(state, what) for part in self._all() for state in part.state.values() for what in state]
        for (state, what), tensor in zip(places, shared([state[what] for state, what in places]), strict=True):
            state[what] = tensor


def _deal(network: nn.Module, kind: str, shares: int) -> list[dict[str, nn.Parameter]]:
    """The weights by name, dealt out so that the shares take about equally long: the costliest first, to whoever has least."""
    costs = {name: _cost(name, parameter, kind) for name, parameter in network.named_parameters()}
    owners, load = {}, [0.0] * shares
    for name in sorted(costs, key=lambda name: -costs[name]):
        owners[name] = load.index(min(load))
        load[owners[name]] += costs[name]
    return [
        {name: parameter for name, parameter in network.named_parameters() if owners[name] == share}
        for share in range(shares)
    ]


def _cost(name: str, parameter: Tensor, kind: str) -> float:
    """Of one update, in the time that AdamW takes for a number."""
    orthogonalised = kind == "muon" and _is_matrix(name, parameter)
    return parameter.numel() * (1.0 + (min(parameter.shape) / 8.0 if orthogonalised else 0.0))


def _torch_optimizers(parameters: Mapping[str, nn.Parameter], config: TrainConfig) -> list[torch.optim.Optimizer]:
    matrices = [p for name, p in parameters.items() if _is_matrix(name, p)]
    others = [p for name, p in parameters.items() if not _is_matrix(name, p)]
    everything = list(parameters.values())
    rate, momentum, decay = config.learning_rate, config.momentum, config.weight_decay
    betas = (config.beta1, config.beta2)
    if not everything:
        return []
    if config.optimizer == "sgd":
        return [torch.optim.SGD(everything, lr=rate, momentum=momentum, weight_decay=decay)]
    if config.optimizer == "adam":
        return [torch.optim.Adam(everything, lr=rate, betas=betas, eps=1e-9, weight_decay=decay, fused=True)]
    muon = config.optimizer == "muon"
    groups: list[dict[str, Any]] = [{"params": [] if muon else matrices}, {"params": others, "weight_decay": 0.0}]
    parts: list[torch.optim.Optimizer] = []
    if muon and matrices:
        parts.append(Muon(matrices, rate, momentum, decay))
    if any(group["params"] for group in groups):
        parts.append(torch.optim.AdamW(groups, lr=rate, betas=betas, eps=1e-9, weight_decay=decay, fused=True))
    return parts


def _blank(part: torch.optim.Optimizer, parameter: Tensor) -> dict[str, Tensor]:
    """What an optimiser remembers of a weight before the first step."""
    if isinstance(part, Muon):
        return {"momentum": torch.zeros_like(parameter)}
    if isinstance(part, torch.optim.SGD):
        return {"momentum_buffer": torch.zeros_like(parameter)} if part.defaults["momentum"] else {}
    step = torch.zeros((), device=parameter.device)
    return {"step": step, "exp_avg": torch.zeros_like(parameter), "exp_avg_sq": torch.zeros_like(parameter)}


def _is_matrix(name: str, parameter: Tensor) -> bool:
    """A linear map between hidden states: not an embedding, an output projection or a table of positions."""
    return parameter.dim() == 2 and "embedding" not in name and name != "output" and not name.endswith("table")
