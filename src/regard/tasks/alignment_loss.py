"""The loss of a supervised attention head: the first cross-attention head of one decoder layer (Garg et al. 2019)."""

from torch import Tensor

from regard.data.batches import Batch
from regard.ops.loss import alignment_cross_entropy
from regard.ops.probe import Probe
from regard.tasks.aligned_head import AlignedHead


class AlignmentLoss:
    """The cross-entropy of the head's weights with the alignment of a batch."""

    def __init__(self, head: AlignedHead) -> None:
        self._name = f"decoder.{head.layer}.cross.weights"
        self._shift = head.shift

    def probe(self) -> Probe:
        """A probe that captures the head's attention weights in a forward pass."""
        return Probe(self._name)

    def of(self, seen: Probe, batch: Batch) -> Tensor:
        """The sum over the target tokens with links; with R-Drop the mean of both passes.

        The gold row of token t is compared with row t of the weights, of the step that predicts it, or with row t + 1, of the step that
        reads it.
        """
        assert batch.alignment is not None, "a batch without alignments"
        weights, readings = seen[self._name][:, 0], len(batch.source) // len(batch.target_in)
        if self._shift:
            return alignment_cross_entropy(weights[:, 1:], batch.alignment[:, :-1]) / readings
        return alignment_cross_entropy(weights, batch.alignment) / readings
