"""Builds the network of a bundle whose numbers do not matter: only its shapes are wanted, or its weights are read next."""

from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from regard.bundle.config import CONFIG, BundleSettings
from regard.bundle.manifest import MEND
from regard.errors import BundleError


def meta_network(config: BundleSettings) -> nn.Module:
    """The network of a config on the meta device. One of an extension may need numbers to be built: it is built in memory."""
    try:
        with torch.random.fork_rng(devices=[]), _WithoutNumbers(), torch.device("meta"):
            return config.network()
    except (RuntimeError, TypeError):  # an operation that the meta device does not have
        return unfilled_network(config)


def unfilled_network(config: BundleSettings) -> nn.Module:
    """The network of a config in memory, with parameters of any value; the global random state does not change."""
    with torch.random.fork_rng(devices=[]), _WithoutDraws():
        try:
            return config.network()
        except (RuntimeError, MemoryError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise BundleError(f"{CONFIG} asks for a network that cannot be built: {reason}; {MEND}") from None


class _WithoutDraws(TorchFunctionMode):
    """Leaves parameters as they are where random numbers would be drawn, which takes longer than reading them."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", None) in ("normal_", "uniform_"):
            tensor = args[0] if args else kwargs["tensor"]
            if isinstance(tensor, nn.Parameter):
                return tensor
        return func(*args, **(kwargs or {}))


class _WithoutNumbers(TorchFunctionMode):
    """Skips what only sets numbers. On the meta device torch imports its compiler for it, which takes seconds."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", None) == "normal_":
            return args[0] if args else kwargs["tensor"]
        if func is torch.eye and args:
            return torch.empty(args[0], args[-1], **(kwargs or {}))
        return func(*args, **(kwargs or {}))
