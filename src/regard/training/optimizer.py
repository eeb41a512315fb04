"""`Optimizer`: one or two torch optimisers behind one interface, whose state can be saved by name.

The weights can be divided into shares, one for each worker process.
"""

from collections.abc import Callable, Mapping, Set
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import ExtensionError, TrainError
from regard.layers.roles import parameter_roles
from regard.training.config import TrainConfig
from regard.training.freezing import trained_parameters
from regard.training.layer_rates import rate_factors, split_by_factor
from regard.training.muon import Muon
from regard.training.shared import shared


class Optimizer:
    """Torch optimisers with a common learning rate. With several shares their state is in shared memory.

    Frozen weights are in no optimiser. With `train.layer_decay`, each weight has the factor of its block.
    """

    def __init__(self, network: nn.Module, config: TrainConfig, shares: int = 1) -> None:
        self._names: dict[Tensor, str] = {parameter: name for name, parameter in trained_parameters(network).items()}
        self._left = config.adamw_factor if config.optimizer == "muon" else 1.0
        matrices = {name for name, role in parameter_roles(network).items() if role == "matrix"}
        self._dealt = _deal(network, matrices if config.optimizer == "muon" else set(), shares)
        self._shares = [_torch_optimizers(names, matrices, config) for names in self._dealt]
        if config.layer_decay < 1.0:
            factors = rate_factors(network, config.layer_decay)
            for part in self._all():
                split_by_factor(part, {parameter: factors[name] for parameter, name in self._names.items()})
        for part in self._all():
            _reserve_state(part)
        if shares > 1:
            self._share_memory()

    def share(self, number: int) -> list[nn.Parameter]:
        """The weights of share `number`."""
        return list(self._dealt[number].values())

    def step(self, learning_rate: float, share: int = 0) -> None:
        """Update the weights of a share with their gradients."""
        for part in self._shares[share]:
            for group in part.param_groups:
                factor = 1.0 if isinstance(part, Muon) else self._left
                group["lr"] = learning_rate * factor * group.get("factor", 1.0)
            part.step()

    def multiply_in(self, products: torch.dtype) -> None:
        """Set the type of Muon's matrix products."""
        for part in self._all():
            if isinstance(part, Muon):
                part.products = products

    def tensors(self) -> dict[str, Tensor]:
        """The optimiser's state, by `<parameter>/<state name>`."""
        return {
            f"{self._names[parameter]}/{what}": value
            for part in self._all()
            for parameter, state in part.state.items()
            for what, value in state.items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Load the state that `tensors` returned."""
        state = self.tensors()
        if unknown := sorted(tensors.keys() - state.keys()):
            raise TrainError(f"the checkpoint has optimiser state {unknown[0]!r}, which train.optimizer does not have")
        for name, value in tensors.items():
            if value.shape != state[name].shape:
                raise TrainError(
                    f"the checkpoint's optimiser state {name!r} is {list(value.shape)}, not {list(state[name].shape)}; "
                    "restore it or use another checkpoint"
                )
        for name, value in state.items():
            if name in tensors:  # a checkpoint before the first step has no state
                value.copy_(tensors[name])

    def _all(self) -> list[torch.optim.Optimizer]:
        return [part for share in self._shares for part in share]

    def _share_memory(self) -> None:
        places = [(state, what) for part in self._all() for state in part.state.values() for what in state]
        for (state, what), tensor in zip(places, shared([state[what] for state, what in places]), strict=True):
            state[what] = tensor


def _deal(network: nn.Module, orthogonalised: Set[str], shares: int) -> list[dict[str, nn.Parameter]]:
    """Divide the weights into shares of about equal cost: the costliest first, each to the share with the least cost so far."""
    trained = trained_parameters(network)
    costs = {name: _cost(parameter, name in orthogonalised) for name, parameter in trained.items()}
    owners, load = {}, [0.0] * shares
    for name in sorted(costs, key=lambda name: -costs[name]):
        owners[name] = load.index(min(load))
        load[owners[name]] += costs[name]
    return [
        {name: parameter for name, parameter in trained.items() if owners[name] == share} for share in range(shares)
    ]


def _cost(parameter: Tensor, orthogonalised: bool) -> float:
    """The cost of one update, in units of AdamW's time for one number."""
    return parameter.numel() * (1.0 + (min(parameter.shape) / 8.0 if orthogonalised else 0.0))


Parameters = list[nn.Parameter]
Make = Callable[[Parameters, Parameters, TrainConfig], list[torch.optim.Optimizer]]
"""(matrices, all other weights, settings) -> their optimisers."""


def _sgd(matrices: Parameters, others: Parameters, config: TrainConfig) -> list[torch.optim.Optimizer]:
    everything = [*matrices, *others]
    return [
        torch.optim.SGD(everything, lr=config.learning_rate, momentum=config.momentum, weight_decay=config.weight_decay)
    ]


def _adam(matrices: Parameters, others: Parameters, config: TrainConfig) -> list[torch.optim.Optimizer]:
    betas, decay = (config.beta1, config.beta2), config.weight_decay
    everything = [*matrices, *others]
    return [
        torch.optim.Adam(everything, lr=config.learning_rate, betas=betas, eps=1e-9, weight_decay=decay, fused=True)
    ]


def _adamw(matrices: Parameters, others: Parameters, config: TrainConfig) -> list[torch.optim.Optimizer]:
    betas, decay = (config.beta1, config.beta2), config.weight_decay
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    if not matrices and not others:
        return []
    return [torch.optim.AdamW(groups, lr=config.learning_rate, betas=betas, eps=1e-9, weight_decay=decay, fused=True)]


def _muon(matrices: Parameters, others: Parameters, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """Muon for the matrices, AdamW for the rest."""
    muon = [Muon(matrices, config.learning_rate, config.momentum, config.weight_decay)] if matrices else []
    return [*muon, *_adamw([], others, config)]


OPTIMIZERS: dict[str, Make] = {"muon": _muon, "adamw": _adamw, "adam": _adam, "sgd": _sgd}
"""The optimisers by their names in `train.optimizer`. `config.RATES` has the same names, with default learning rates and without torch."""


def _torch_optimizers(
    parameters: Mapping[str, nn.Parameter], names: Set[str], config: TrainConfig
) -> list[torch.optim.Optimizer]:
    """The optimisers of these parameters; `names`: the matrices, for Muon and weight decay."""
    matrices = [p for name, p in parameters.items() if name in names]
    others = [p for name, p in parameters.items() if name not in names]
    return OPTIMIZERS[config.optimizer](matrices, others, config) if parameters else []


def _reserve_state(part: torch.optim.Optimizer) -> None:
    """Create the state of an optimiser before its first step, so that it can be shared and saved.

    The optimiser of an extension creates its state in a step with a learning rate of 0; the state is then set to zero.
    """
    parameters = [parameter for group in part.param_groups for parameter in group["params"]]
    if type(part) in (Muon, torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW) and not part.defaults.get("amsgrad"):
        for parameter in parameters:
            part.state[parameter] = _blank(part, parameter)
        return
    gradients = [parameter.grad for parameter in parameters]
    rates = [group["lr"] for group in part.param_groups]
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    for group in part.param_groups:
        group["lr"] = 0.0
    part.step()
    for group, rate in zip(part.param_groups, rates, strict=True):
        group["lr"] = rate
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
        for name, value in part.state[parameter].items():
            if not isinstance(value, Tensor):
                raise ExtensionError(
                    f"train.optimizer: {type(part).__name__} remembers {name} = {value!r} of a weight, which cannot be saved; "
                    "make it a tensor"
                )
            if name != "step" and value.any():
                raise ExtensionError(
                    f"train.optimizer: the state {name} of {type(part).__name__} does not start at zero, so that it cannot be shared; "
                    "choose another optimiser"
                )
            value.zero_()


def _blank(part: torch.optim.Optimizer, parameter: Tensor) -> dict[str, Tensor]:
    """The state of a weight before the first step, for Muon, SGD, Adam and AdamW."""
    if isinstance(part, Muon):
        return {"momentum": torch.zeros_like(parameter)}
    if isinstance(part, torch.optim.SGD):
        return {"momentum_buffer": torch.zeros_like(parameter)} if part.defaults["momentum"] else {}
    step = torch.zeros((), device=parameter.device)
    return {"step": step, "exp_avg": torch.zeros_like(parameter), "exp_avg_sq": torch.zeros_like(parameter)}
