"""The loss of a batch: teacher forcing, label-smoothed cross-entropy, on real tokens only; on request for two readings that agree, and
with a head of attention that agrees with given alignments.
"""

from typing import Protocol

import torch
from torch import Tensor

from regard.data.batches import Batch
from regard.ops.loss import alignment_cross_entropy, consistent_cross_entropy, smoothed_cross_entropy
from regard.ops.probe import Probe
from regard.train.config import AlignedHead


class TeacherForced(Protocol):
    """What a network must offer to be trained on pairs."""

    target_pad: int  # the ids below it are the outputs

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """[B, S], [B, T] -> [B, T, D]"""
        ...

    def output_table(self) -> Tensor:
        """[W, D], whose first rows are the weights of the outputs."""
        ...


def batch_loss(
    network: TeacherForced,
    batch: Batch,
    smoothing: float,
    device: torch.device,
    consistency: float = 0.0,
    probe: Probe | None = None,
) -> tuple[Tensor, Tensor]:
    """The smoothed loss and -log p of the reference, summed over the batch's real target tokens.

    Of a batch with two readings the network also pays, by `consistency`, for disagreeing with itself: dropout makes them differ.
    A probe sees the pass.
    """
    batch = batch.to(device)
    readings = len(batch.source) // len(batch.target_in)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
        hidden = network.hidden(batch.source, batch.target_in.repeat(readings, 1), probe)
    real, table, outputs = batch.target_out != network.target_pad, network.output_table(), network.target_pad
    hidden, targets = hidden[real.repeat(readings, 1)].to(table.dtype), batch.target_out[real]
    if readings == 1:
        return smoothed_cross_entropy(hidden, table, targets, smoothing, outputs=outputs)
    both = hidden.view(readings, len(targets), -1)
    return consistent_cross_entropy(both, table, targets, smoothing, consistency, outputs=outputs)


class AlignmentHead:
    """The first head of one layer of cross-attention, which is also trained towards given alignments."""

    def __init__(self, how: AlignedHead) -> None:
        self._name = f"decoder.{how.layer}.cross.weights"
        self._said = how.said

    def probe(self) -> Probe:
        """What sees it in one pass."""
        return Probe(self._name)

    def loss(self, seen: Probe, batch: Batch) -> Tensor:
        """How far it is from the batch's alignment, summed over the target tokens that have links, the mean of the readings.

        What token t wants is compared with row t of the weights, of the step that chose it, or with row t + 1, of the step that read it.
        """
        assert batch.alignment is not None, "a batch without alignments"
        weights, readings = seen[self._name][:, 0], len(batch.source) // len(batch.target_in)
        if self._said:
            return alignment_cross_entropy(weights[:, 1:], batch.alignment[:, :-1]) / readings
        return alignment_cross_entropy(weights, batch.alignment) / readings
