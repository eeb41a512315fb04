"""The role of each parameter, for the optimiser. Modules declare it, so that no names are matched.

| role | meaning | examples |
| --- | --- | --- |
| matrix | a linear map between hidden states: Muon or weight decay act on it | weights of attention and feed-forward |
| table | rows that are looked up, or the outputs: two dimensions, but no map | embeddings, learned positions, `output` |
| vector | everything else | biases, gains, kernels of convolutions |

A module of ours declares a class attribute `roles: ClassVar[dict[str, Role]]`, from the name of its own parameter to its role. Parameters
that nobody declares, such as those of a user's extension, are matrices if they have two dimensions and else vectors.
"""

from collections.abc import Mapping
from typing import Literal

from torch import nn

Role = Literal["matrix", "table", "vector"]

TORCH_ROLES: dict[type[nn.Module], dict[str, Role]] = {
    nn.Embedding: {"weight": "table"},
    nn.Linear: {"weight": "matrix", "bias": "vector"},
    nn.LayerNorm: {"weight": "vector", "bias": "vector"},
    nn.Conv1d: {"weight": "vector", "bias": "vector"},
    nn.Conv2d: {"weight": "vector", "bias": "vector"},
}
"""The roles of parameters of torch's classes and their subclasses. Recurrent layers follow the rule for undeclared parameters."""


def parameter_roles(network: nn.Module) -> dict[str, Role]:
    """The role of every parameter, by the names and in the order of `network.named_parameters()`."""
    declared: dict[nn.Parameter, Role] = {}
    for module in network.modules():
        own = _declared(module)
        for name, parameter in module.named_parameters(recurse=False):
            if name in own:
                declared.setdefault(parameter, own[name])
    return {name: declared.get(parameter, _by_shape(parameter)) for name, parameter in network.named_parameters()}


def _declared(module: nn.Module) -> Mapping[str, Role]:
    own: Mapping[str, Role] | None = getattr(type(module), "roles", None)
    if own is not None:
        return own
    return next((roles for kind, roles in TORCH_ROLES.items() if isinstance(module, kind)), {})


def _by_shape(parameter: nn.Parameter) -> Role:
    return "matrix" if parameter.dim() == 2 else "vector"
