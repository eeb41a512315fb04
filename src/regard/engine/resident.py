"""`Resident`: a network in memory that several threads use, one at a time. It is loaded, and torch imported, at the first use."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    import torch
    from torch import nn


class Evaluable(Protocol):
    """A network with a training mode and weights."""

    training: bool

    def train(self, mode: bool = True) -> object:
        """Switch dropout on or off."""
        ...

    def parameters(self) -> "Iterator[nn.Parameter]":
        """The trainable weights."""
        ...


NetworkT = TypeVar("NetworkT", bound=Evaluable)


class Resident(Generic[NetworkT]):
    """A network behind a lock, or a function that loads it at the first use."""

    def __init__(self, network: NetworkT | None = None, *, read: Callable[[], NetworkT] | None = None) -> None:
        assert (network is None) != (read is None), "give a network, or what reads it"
        self._network, self._read = network, read
        self._lock = threading.RLock()

    @classmethod
    def deferred(cls, read: Callable[[], NetworkT]) -> "Resident[NetworkT]":
        """A network that `read` loads at the first use."""
        return cls(read=read)

    @property
    def network(self) -> NetworkT:
        """The network, loaded at the first access."""
        with self._lock:
            if self._network is None:
                assert self._read is not None
                self._network = self._read()
            return self._network

    @property
    def loaded(self) -> NetworkT | None:
        """The network; None: it has not been loaded yet."""
        return self._network

    @property
    def device(self) -> "torch.device":
        """The device of the weights, or of the tables of a counted model."""
        from torch import nn

        network = self.network
        weights = next(network.parameters(), None)
        if weights is not None:
            return weights.device
        assert isinstance(network, nn.Module)
        return next(network.buffers()).device

    @contextmanager
    def sharing(self) -> Iterator[NetworkT]:
        """The network for a search without gradients, beside those of other threads. One that is being trained is locked.

        A network in evaluation mode is not changed by a search: its states are passed as arguments.
        """
        import torch

        if self.network.training:
            with self.evaluating() as network:
                yield network
            return
        with torch.no_grad():
            yield self.network

    @contextmanager
    def evaluating(self, *, gradients: bool = False) -> Iterator[NetworkT]:
        """Lock the network for this thread, in evaluation mode and, by default, without gradients.

        Training mode is restored afterwards. Not `inference_mode`: position tables that grow here are used in training later.
        """
        import torch

        with self._lock:
            network = self.network
            was_training = network.training
            if was_training:
                network.train(False)
            try:
                with torch.set_grad_enabled(gradients):
                    yield network
            finally:
                if was_training:
                    network.train(True)
