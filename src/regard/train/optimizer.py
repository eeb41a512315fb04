"""Which optimiser moves which weights, behind one handle whose tensors can be saved by name."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from regard.train.config import TrainConfig
from regard.train.muon import Muon


class Optimizer:
    """One or two of torch's optimisers that share a learning rate."""

    def __init__(self, network: nn.Module, config: TrainConfig) -> None:
        self._names: dict[Tensor, str] = {parameter: name for name, parameter in network.named_parameters()}
        self._parts = _parts(network, config)

    def step(self, learning_rate: float) -> None:
        """Move the weights by their gradients."""
        for part in self._parts:
            for group in part.param_groups:
                group["lr"] = learning_rate
            part.step()

    def tensors(self) -> dict[str, Tensor]:
        """The optimiser's memory, as `weight/what`."""
        return {
            f"{self._names[parameter]}/{what}": value
            for part in self._parts
            for parameter, state in part.state.items()
            for what, value in state.items()
            if isinstance(value, Tensor)
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what `tensors` gave."""
        by_name = {name: parameter for parameter, name in self._names.items()}
        owner = {
            parameter: part for part in self._parts for group in part.param_groups for parameter in group["params"]
        }
        for key, value in tensors.items():
            name, _, what = key.rpartition("/")
            parameter = by_name[name]
            owner[parameter].state[parameter][what] = value.to(parameter.device, copy=True)


def _parts(network: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
    parameters = list(network.parameters())
    if config.optimizer == "sgd":
        return [
            torch.optim.SGD(
                parameters, lr=config.learning_rate, momentum=config.momentum, weight_decay=config.weight_decay
            )
        ]
    if config.optimizer == "adam":
        return [
            torch.optim.Adam(
                parameters,
                lr=config.learning_rate,
                betas=(config.beta1, config.beta2),
                eps=1e-9,
                weight_decay=config.weight_decay,
                fused=True,
            )
        ]
    matrices = [p for name, p in network.named_parameters() if _is_matrix(name, p)]
    others = [p for name, p in network.named_parameters() if not _is_matrix(name, p)]
    if config.optimizer == "muon":
        muon = Muon(matrices, config.learning_rate, config.momentum, config.weight_decay)
        return [muon, _adamw([{"params": others, "weight_decay": 0.0}], config)]
    return [_adamw([{"params": matrices}, {"params": others, "weight_decay": 0.0}], config)]


def _adamw(groups: list[dict[str, object]], config: TrainConfig) -> torch.optim.Optimizer:
    return torch.optim.AdamW(
        groups,
        lr=config.learning_rate,
        betas=(config.beta1, config.beta2),
        eps=1e-9,
        weight_decay=config.weight_decay,
        fused=True,
    )


def _is_matrix(name: str, parameter: Tensor) -> bool:
    """A linear map between hidden states: not an embedding, an output projection or a table of positions."""
    return parameter.dim() == 2 and "embedding" not in name and name != "output" and not name.endswith("table")
