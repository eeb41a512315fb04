"""The teacher-forcing loss: label-smoothed cross-entropy over all outputs but padding, optionally with R-Drop."""

from typing import Protocol

import torch
from torch import Tensor

from regard.activity import activity
from regard.data.batches import Batch
from regard.data.examples import ExampleSet
from regard.layers.copying import CopyHead
from regard.ops.copying import copied_cross_entropy
from regard.ops.loss import consistent_cross_entropy, smoothed_cross_entropy
from regard.ops.probe import Probe

VALIDATION_TOKENS = 4096


class TeacherForced(Protocol):
    """A network that can be trained with teacher forcing."""

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
    """The smoothed loss and -log p of the reference, summed over the batch's target tokens without padding.

    If the batch has every source twice (R-Drop), `consistency` weights the divergence of the two predictions, which differ by dropout.
    """
    batch = batch.to(device)
    readings = len(batch.source) // len(batch.target_in)
    hidden = network.hidden(batch.source, batch.target_in.repeat(readings, 1), probe)
    real, table, outputs = batch.target_out != network.target_pad, network.output_table(), network.target_pad
    hidden, targets = hidden[real.repeat(readings, 1)], batch.target_out[real]
    copying: CopyHead | None = getattr(network, "copying", None)
    copied = None if copying is None else copying.parts(hidden)
    if copied is not None:
        assert readings == 1, "two readings of copies are refused with the settings"
        low = network.target.dtype  # type: ignore[attr-defined]
        hidden = copied.hidden if low is None else copied.hidden.to(low)
    bias = getattr(network, "output_offsets", lambda: None)()
    if bias is not None:  # a column of the table, for a constant of the hidden states
        table = torch.cat([table[:outputs], bias[:, None]], dim=1)
        hidden = torch.cat([hidden, hidden.new_ones(len(hidden), 1)], dim=1)
    if copied is not None:
        slots = copied.gate, copied.shares, copied.pieces
        return copied_cross_entropy(hidden, table, *slots, targets, smoothing, outputs=outputs)
    if readings == 1:
        return smoothed_cross_entropy(hidden, table, targets, smoothing, outputs=outputs)
    both = hidden.view(readings, len(targets), -1)
    return consistent_cross_entropy(both, table, targets, smoothing, consistency, outputs=outputs)


def corpus_loss(network: TeacherForced, examples: ExampleSet, device: torch.device) -> float:
    """The mean of -log p of the expected outputs, per token with end marks, in nats."""
    total, tokens = 0.0, 0
    with torch.no_grad():  # not inference mode: a position table that grows here is used in training again
        batches = examples.plan(VALIDATION_TOKENS, seed=0, epoch=0)
        with activity("scoring", len(batches), "batches") as progress:
            for numbers in batches:
                batch = examples.batch(numbers, seed=0, epoch=0)
                _, nll = batch_loss(network, batch, 0.0, device)
                total += float(nll)
                tokens += batch.tokens
                progress.advance()
    return total / tokens
