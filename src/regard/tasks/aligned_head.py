"""The supervised attention head of an encoder-decoder: its settings, and what they may be.

The first cross-attention head of one decoder layer is trained towards given alignments (Garg et al. 2019): of words with words, or of
words with regions of a picture. Its loss is in `alignment_loss`. It needs no torch.
"""

from typing import NamedTuple

from pydantic import Field

from regard.training.config import TrainConfig

ALIGNMENT_WEIGHT = 0.05  # as Garg et al. 2019


class AlignedHead(NamedTuple):
    """The supervised head: the first head of a decoder layer.

    shift: a token's row is that of the step that reads it, not of the step that predicts it.
    """

    layer: int
    shift: bool


class AlignedTrainConfig(TrainConfig):
    """The settings of training where the source of words may be given."""

    alignment_weight: float = Field(default=ALIGNMENT_WEIGHT, ge=0)
    """With data.alignments or data.regions: what it costs a head of attention, of each target token, to look elsewhere; 0 lets it."""
    alignment_layer: int | None = Field(default=None, ge=0)
    """With data.alignments or data.regions: the decoder layer, from 0, whose first head is trained so; not given, the last but one."""


def check_alignment(train: AlignedTrainConfig, setting: str, given: bool, layers: int) -> None:
    """Refuse settings of the head without the data for it, or for a network without such a layer.

    setting: the name of that data. layers: of the decoder that attend.
    """
    layer = train.alignment_layer
    if not given and layer is not None:
        raise ValueError(f"train.alignment_layer {layer} is for {setting}; give them, or leave it out")
    if not given and train.alignment_weight != ALIGNMENT_WEIGHT:
        raise ValueError(
            f"train.alignment_weight {train.alignment_weight} is for {setting}; give them, or leave it out"
        )
    if layer is not None and not train.alignment_weight:
        raise ValueError(
            f"train.alignment_layer {layer} has no meaning with train.alignment_weight 0; leave one of them out"
        )
    if given and not layers:
        raise ValueError(f"{setting} train attention, of which this model has none; set model.attention = true")
    if layer is not None and layer >= layers:
        raise ValueError(
            f"train.alignment_layer {layer} is not among the {layers} decoder layers that attend, counted from 0; "
            "choose a smaller one"
        )


def aligned_head(train: AlignedTrainConfig, given: bool, layers: int, *, shift: bool) -> AlignedHead | None:
    """The supervised head; None without the data for it, or where it costs nothing."""
    if not given or not train.alignment_weight:
        return None
    return AlignedHead(max(0, layers - 2) if train.alignment_layer is None else train.alignment_layer, shift)
