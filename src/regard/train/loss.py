"""The loss of a batch: teacher forcing, label-smoothed cross-entropy, on real tokens only."""

from typing import Protocol

import torch
from torch import Tensor

from regard.data.batches import Batch
from regard.ops.loss import smoothed_cross_entropy


class TeacherForced(Protocol):
    """What a network must offer to be trained on pairs."""

    target_pad: int  # the ids below it are the outputs

    def hidden(self, source: Tensor, target_in: Tensor) -> Tensor:
        """[B, S], [B, T] -> [B, T, D]"""
        ...

    def output_table(self) -> Tensor:
        """[W, D], whose first rows are the weights of the outputs."""
        ...


def batch_loss(network: TeacherForced, batch: Batch, smoothing: float, device: torch.device) -> tuple[Tensor, Tensor]:
    """The smoothed loss and -log p of the reference, summed over the batch's real target tokens."""
    batch = batch.to(device)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
        hidden = network.hidden(batch.source, batch.target_in)
    real, table = batch.target_out != network.target_pad, network.output_table()
    targets = batch.target_out[real]
    return smoothed_cross_entropy(hidden[real].to(table.dtype), table, targets, smoothing, outputs=network.target_pad)
