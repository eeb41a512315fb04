"""Builds a network on torch's meta device: modules and shapes, without memory for their weights."""

from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from regard.bundle.config import CONFIG, BundleSettings
from regard.bundle.manifest import MEND
from regard.errors import BundleError


def meta_network(config: BundleSettings) -> nn.Module:
    """The network of a config on the meta device. One of an extension may need numbers to be built: it is built in memory."""
    with torch.random.fork_rng(devices=[]):  # the global random state does not change
        try:
            with _WithoutNumbers(), torch.device("meta"):
                return config.network()
        except (RuntimeError, TypeError):  # an operation that the meta device does not have
            pass
        try:
            return config.network()
        except (RuntimeError, MemoryError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise BundleError(f"{CONFIG} asks for a network that cannot be built: {reason}; {MEND}") from None


class _WithoutNumbers(TorchFunctionMode):
    """Skips what only sets numbers. On the meta device torch imports its compiler for it, which takes seconds."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", None) == "normal_":
            return args[0] if args else kwargs["tensor"]
        if func is torch.eye and args:
            return torch.empty(args[0], args[-1], **(kwargs or {}))
        return func(*args, **(kwargs or {}))
