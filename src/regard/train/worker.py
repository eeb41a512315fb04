"""What one process contributes to a step: the gradient of its part of the batch, then the update of its share of the weights.

A step has three phases, and every worker ends one before any begins the next:

    gradient   each worker differentiates the summed loss of its part of the batch
    combine    each adds up what all found for its share of the weights
    update     each moves its share

Alone, a worker has all of the batch and of the weights.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.data.examples import ExampleSet, Numbers
from regard.models.network import Learner
from regard.train.config import RunConfig
from regard.train.loss import AlignmentHead, batch_loss
from regard.train.optimizer import Optimizer
from regard.train.shared import shared


@dataclass(frozen=True, slots=True)
class Sums:
    """Over a part of a batch: the loss, -log p of the reference, and the target tokens they are sums over.

    alignment: of the loss, what a supervised head of attention costs, before it is weighted.
    """

    loss: float
    nll: float
    tokens: int
    alignment: float = 0.0


class Worker:
    """Worker `number` of a team, counted from 0."""

    def __init__(
        self,
        number: int,
        config: RunConfig,
        examples: ExampleSet,
        network: Learner,
        optimizer: Optimizer,
        gradients: list[list[Tensor]],  # of each worker, where there are several: in shared memory
        device: torch.device,
    ) -> None:
        self.number = number
        self.config = config
        self.examples = examples
        self.network = network
        self.optimizer = optimizer
        self.gradients = gradients
        self.device = device
        self._head = None if config.aligned_head is None else AlignmentHead(config.aligned_head)
        self.parameters = list(network.parameters())
        self._index = {parameter: index for index, parameter in enumerate(self.parameters)}
        if gradients:
            for parameter, total in zip(self.parameters, gradients[0], strict=True):
                parameter.grad = total  # where `combine` adds up

    def gradient(self, step: int, epoch: int, batches: list[Numbers], readings: int) -> Sums:
        """Differentiate the loss of these parts of the step's batches, each read once or twice."""
        train, several = self.config.train, len(self.gradients)
        torch.manual_seed((train.seed * 1_000_003 + step) * max(1, several) + self.number)
        self.network.train()
        found: list[Tensor] | None = None
        loss_sum, nll_sum, alignment_sum, tokens = 0.0, 0.0, 0.0, 0
        for numbers in batches:
            if not len(numbers):  # fewer examples than workers
                continue
            batch = self.examples.batch(numbers, train.seed, epoch, readings).to(self.device)
            probe = None if self._head is None else self._head.probe()
            loss, nll = batch_loss(self.network, batch, train.label_smoothing, self.device, train.consistency, probe)
            if self._head is not None and probe is not None:
                alignment = self._head.loss(probe, batch)
                loss = loss + train.alignment_weight * alignment
                alignment_sum += alignment.item()
            new = torch.autograd.grad(loss, self.parameters, allow_unused=True, materialize_grads=True)
            if found is None:
                found = list(new)
            else:
                torch._foreach_add_(found, new)
            loss_sum, nll_sum, tokens = loss_sum + loss.item(), nll_sum + nll.item(), tokens + batch.tokens
        self._keep(found)
        return Sums(loss_sum, nll_sum, tokens, alignment_sum)

    def _keep(self, found: list[Tensor] | None) -> None:
        if not self.gradients:
            assert found is not None, "a batch without examples"
            for parameter, gradient in zip(self.parameters, found, strict=True):
                parameter.grad = gradient
        elif found is None:
            torch._foreach_zero_(self.gradients[self.number])
        else:
            torch._foreach_copy_(self.gradients[self.number], found)

    def combine(self) -> float:
        """Add up the gradients of this worker's share of the weights; returns their squared norm."""
        mine = self.optimizer.share(self.number)
        if self.gradients:
            for parameter in mine:
                total, *others = (gradients[self._index[parameter]] for gradients in self.gradients)
                for other in others:
                    total.add_(other)
        return float(sum(norm.square() for norm in torch._foreach_norm(_gradients(mine)))) if mine else 0.0

    def update(self, learning_rate: float, scale: float) -> None:
        """Move this worker's share of the weights by the gradients times `scale`."""
        if mine := self.optimizer.share(self.number):
            torch._foreach_mul_(_gradients(mine), scale)
            self.optimizer.step(learning_rate, self.number)


def _gradients(parameters: list[nn.Parameter]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def gradient_buffers(network: Learner, workers: int) -> list[list[Tensor]]:
    """Where the gradients of several workers meet; one alone needs no such place."""
    if workers == 1:
        return []
    zeros = [torch.zeros((), dtype=parameter.dtype).expand(parameter.shape) for parameter in network.parameters()]
    return [shared(zeros) for _ in range(workers)]
