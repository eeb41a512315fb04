"""LoRA: the weights that are trained beside a frozen network, W = W_0 + (alpha / rank) B A (Hu et al. 2021, section 4.1).

The network keeps its modules: before each step the sums are written into its own weights, and the gradients in A and B follow from those
in W, dA = (alpha / rank) B^T dW and dB = (alpha / rank) dW A^T. So every network and every fast path works as it is, in any precision.
B starts at zero, so that a run starts with the numbers of its base.

Shapes: O outputs, I inputs, r rank.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.layers.parts import weight_parts
from regard.training.lora_config import MAPS, LoraConfig


class Factors(nn.Module):
    """A [r, I] and B [O, r] of one map."""

    def __init__(self, weight: Float[Tensor, "O I"], rank: int, generator: torch.Generator) -> None:
        super().__init__()
        outputs, inputs = weight.shape
        bound = 1.0 / math.sqrt(inputs)  # Kaiming's uniform distribution with a = sqrt(5), as the authors' code has it
        drawn = torch.empty(rank, inputs).uniform_(-bound, bound, generator=generator)
        self.lora_a = nn.Parameter(drawn.to(weight.dtype))
        self.lora_b = nn.Parameter(weight.new_zeros(outputs, rank))


@dataclass(frozen=True)
class _Map:
    """A weight of the network with its low-rank addition."""

    weight: nn.Parameter
    base: Tensor
    factors: Factors


class LowRank(nn.Module):
    """The trained weights of a run with LoRA: A and B of each adapted map, and the weights that are trained in full.

    Their names are those of the network's weights, with `.lora_a` or `.lora_b` behind them for the factors.
    """

    def __init__(self, network: nn.Module, config: LoraConfig, seed: int, new: Collection[str] = ()) -> None:
        """new: the names of weights that the base does not have, which are trained in full. Frozen weights stay as they are."""
        super().__init__()
        self.scale = config.alpha / config.rank
        self._maps: list[_Map] = []
        self._whole: list[tuple[nn.Parameter, nn.Parameter]] = []  # of the network, of this module
        self._places: list[int] = []  # of all of them among the network's weights
        generator = torch.Generator().manual_seed(seed)
        adapted = adapted_maps(network, config, new)
        whole = {*whole_weights(network, config), *new}
        for place, (name, weight) in enumerate(network.named_parameters()):
            if name in adapted:
                factors = Factors(weight.detach().cpu(), config.rank, generator).to(weight.device)
                _put_module(self, name, factors)
                self._maps.append(_Map(weight, weight.detach().clone(), factors))
            elif name in whole and weight.requires_grad:
                own = nn.Parameter(weight.detach().clone())
                _put_parameter(self, name, own)
                self._whole.append((weight, own))
            else:
                continue
            self._places.append(place)
        self._is_map = [name in adapted for name, _ in network.named_parameters()]

    @torch.no_grad()
    def merge(self) -> None:
        """Write the sums into the weights of the network, in this process."""
        for each in self._maps:
            each.weight.copy_(added(each.base, each.factors.lora_a, each.factors.lora_b, self.scale))
        for weight, own in self._whole:
            weight.copy_(own)

    def changed(self, parameters: Sequence[nn.Parameter]) -> list[nn.Parameter]:
        """Those of the network's weights that change, or of those of a copy of it."""
        return [parameters[place] for place in self._places]

    @torch.no_grad()
    def gradients(self, of_weights: Sequence[Tensor]) -> list[Tensor]:
        """The gradients in the weights of this module, in the order of `parameters()`, from those in the weights that `changed` lists."""
        by_parameter: dict[nn.Parameter, Tensor] = {}
        maps, whole = iter(self._maps), iter(self._whole)
        for place, gradient in zip(self._places, of_weights, strict=True):
            if self._is_map[place]:
                factors = next(maps).factors
                wide = gradient.to(factors.lora_a.dtype)
                by_parameter[factors.lora_a] = self.scale * (factors.lora_b.T @ wide)
                by_parameter[factors.lora_b] = self.scale * (wide @ factors.lora_a.T)
            else:
                by_parameter[next(whole)[1]] = gradient
        return [by_parameter[parameter] for parameter in self.parameters()]


def added(
    base: Float[Tensor, "O I"], a: Float[Tensor, "r I"], b: Float[Tensor, "O r"], scale: float
) -> Float[Tensor, "O I"]:
    """W_0 + scale B A."""
    return torch.addmm(base, b, a, alpha=scale)


def adapted_maps(network: nn.Module, config: LoraConfig, new: Collection[str] = ()) -> list[str]:
    """The names of the maps that get factors. Refuses parts that the network does not have, and a rank above a map's smaller side."""
    parts = weight_parts(network)
    whole = {*whole_weights(network, config), *new}
    shapes = {name: weight.shape for name, weight in _free(network).items() if weight.dim() == 2}
    there = sorted({part for name in shapes for part in parts[name] & MAPS.keys()})
    left = " that train.freeze leaves" if len(_free(network)) < len(parts) else ""
    for module in config.module_names:
        if module not in there:
            has = (
                f"it has {', '.join(there)}"
                if there
                else f"it has no linear maps{left}, so train all of it: leave out [train.lora]"
            )
            raise ConfigError(f"train.lora.modules {module!r}: {type(network).__name__} has no such maps{left}; {has}")
    chosen = [name for name in shapes if parts[name] & set(config.module_names) and name not in whole]
    for name in chosen:
        if config.rank > min(shapes[name]):
            raise ConfigError(
                f"train.lora.rank = {config.rank}: above the smaller side of {name}, {' x '.join(map(str, shapes[name]))}; "
                f"at most {min(min(shapes[each]) for each in chosen)} with these train.lora.modules"
            )
    return chosen


def whole_weights(network: nn.Module, config: LoraConfig) -> list[str]:
    """The names of the weights that are trained in full. Refuses parts that the network does not have."""
    parts = weight_parts(network)
    for part in config.whole_names:
        if not any(part in own for own in parts.values()):
            raise ConfigError(f"train.lora.whole {part!r}: {type(network).__name__} has no such weights; leave it out")
    return [name for name in _free(network) if parts[name] & set(config.whole_names)]


def _free(network: nn.Module) -> dict[str, nn.Parameter]:
    """The weights that are not frozen, by name."""
    return {name: weight for name, weight in network.named_parameters() if weight.requires_grad}


def _put_module(root: nn.Module, name: str, module: nn.Module) -> None:
    *path, last = name.split(".")
    _walk(root, path).add_module(last, module)


def _put_parameter(root: nn.Module, name: str, parameter: nn.Parameter) -> None:
    *path, last = name.split(".")
    _walk(root, path).register_parameter(last, parameter)


def _walk(root: nn.Module, path: Sequence[str]) -> nn.Module:
    """The module at a path; missing ones are made."""
    for step in path:
        if step not in root._modules:
            root.add_module(step, nn.Module())
        inner = root._modules[step]
        assert inner is not None
        root = inner
    return root
