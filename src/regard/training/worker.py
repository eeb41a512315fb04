"""One data-parallel worker: it computes the gradient of its part of a batch and updates its share of the weights.

A step has three phases. All workers finish a phase before the next begins:

    gradient   each worker computes the gradient of the summed loss of its part of the batch
    combine    each worker adds up the gradients of all workers for its share of the weights
    update     each worker updates its share of the weights

A single worker has the whole batch and all weights.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.data.batches import Batch
from regard.data.examples import Numbers
from regard.training.ahead import Delivery
from regard.training.config import TrainConfig
from regard.training.freezing import trained_parameters
from regard.training.lora import LowRank
from regard.training.mixed import ComputedNetwork
from regard.training.objective import StepInfo, Trained
from regard.training.optimizer import Optimizer
from regard.training.shared import shared


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over a part of a batch: the loss, its parts by name, and the number of outputs."""

    loss: float
    parts: dict[str, float]
    tokens: int

    @staticmethod
    def of(several: "list[Sums]") -> "Sums":
        """The total of several sums."""
        parts: dict[str, float] = {}
        for sums in several:
            for name, value in sums.parts.items():
                parts[name] = parts.get(name, 0.0) + value
        return Sums(sum(sums.loss for sums in several), parts, sum(sums.tokens for sums in several))


class Worker:
    """Worker `number` of a team, counted from 0."""

    def __init__(
        self,
        number: int,
        train: TrainConfig,
        objective: Trained,
        network: nn.Module,
        optimizer: Optimizer,
        gradients: list[list[Tensor]],  # of each worker, in shared memory; empty if there is one worker
        device: torch.device,
        precision: str = "float32",
        low_rank: LowRank | None = None,
    ) -> None:
        """low_rank: the weights that are trained in place of the network's own."""
        self.number = number
        self.train = train
        self.objective = objective
        self.network = network
        self.optimizer = optimizer
        self.gradients = gradients
        self.device = device
        self.computed = ComputedNetwork(network, precision, low_rank)
        self.delivery: Delivery | None = None
        """The batches that were made ahead."""
        self.parameters = list(trained_parameters(network if low_rank is None else low_rank).values())
        self._index = {parameter: index for index, parameter in enumerate(self.parameters)}
        if gradients:
            for parameter, total in zip(self.parameters, gradients[0], strict=True):
                parameter.grad = total  # where `combine` adds up

    def gradient(self, info: StepInfo, batches: list[Numbers]) -> Sums:
        """Compute the gradient of the loss on these parts of the step's batches, accumulated over the batches."""
        train, several = self.train, len(self.gradients)
        torch.manual_seed((train.seed * 1_000_003 + info.step) * max(1, several) + self.number)
        network = self.computed.refreshed().train()
        total: list[Tensor] | None = None
        done: list[Sums] = []
        for numbers in batches:
            if not len(numbers):  # fewer examples than workers
                continue
            batch = self._batch(info, numbers).to(self.device)
            with self.computed.casting():
                loss = self.objective.loss(network, batch, info)
            new = self.computed.gradients(loss.total)
            if total is None:
                total = new if len(batches) == 1 else self._widened(new)
            else:
                torch._foreach_add_(total, self._widened(new))
            done.append(Sums(loss.total.item(), loss.parts, loss.count))
        self._keep(total)
        return Sums.of(done)

    def _batch(self, info: StepInfo, numbers: Numbers) -> Batch:
        """The batch of these examples: made ahead if it is ready, else made here."""
        ready = None if self.delivery is None else self.delivery.take(info, numbers)
        return ready or self.objective.examples.batch(numbers, self.train.seed, info.epoch, info.readings)

    def _widened(self, gradients: list[Tensor]) -> list[Tensor]:
        """Gradients in the type of the weights that the optimiser moves."""
        return [gradient.to(weight.dtype) for gradient, weight in zip(gradients, self.parameters, strict=True)]

    def _keep(self, total: list[Tensor] | None) -> None:
        """Store the gradient for `combine`, in the type of the weights that the optimiser moves."""
        if not self.gradients:
            assert total is not None, "a batch without examples"
            for parameter, gradient in zip(self.parameters, self._widened(total), strict=True):
                parameter.grad = gradient
        elif total is None:
            torch._foreach_zero_(self.gradients[self.number])
        else:
            torch._foreach_copy_(self.gradients[self.number], total)

    def combine(self) -> float:
        """Add up the gradients of this worker's share of the weights; returns their squared norm."""
        mine = self.optimizer.share(self.number)
        if self.gradients:
            for parameter in mine:
                total, *others = (gradients[self._index[parameter]] for gradients in self.gradients)
                for gradient in others:
                    total.add_(gradient)
        return float(sum(norm.square() for norm in torch._foreach_norm(_gradients(mine)))) if mine else 0.0

    def update(self, learning_rate: float, scale: float) -> None:
        """Update this worker's share of the weights with the gradients times `scale`."""
        if mine := self.optimizer.share(self.number):
            torch._foreach_mul_(_gradients(mine), scale)
            self.optimizer.step(learning_rate, self.number)


def _gradients(parameters: list[nn.Parameter]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def gradient_buffers(network: nn.Module, workers: int) -> list[list[Tensor]]:
    """Shared memory for the gradients of each worker; none for a single worker."""
    if workers == 1:
        return []
    trained = trained_parameters(network).values()
    zeros = [torch.zeros((), dtype=parameter.dtype).expand(parameter.shape) for parameter in trained]
    return [shared(zeros) for _ in range(workers)]
