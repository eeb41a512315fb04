"""The settings of the task `translate`: of a run, and of the config.json of its bundles."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from regard.bundle.config import AlignmentConfig, TextBundleSettings
from regard.data.config import PairData
from regard.models.config import TRANSLATORS, ModelConfig, TransformerConfig
from regard.models.shapes import Shapes, translator_shapes
from regard.settings import Choice
from regard.tasks.checks import check_kind, check_positions, check_select
from regard.text.config import TextConfig
from regard.training.config import RunSettings, TrainConfig

if TYPE_CHECKING:
    from torch import nn

ALIGNMENT_WEIGHT = 0.05  # as Garg et al. 2019


class AlignedHead(NamedTuple):
    """The supervised alignment head: the first head of a decoder layer.

    shift: a token's row is that of the step that reads it, not of the step that predicts it.
    """

    layer: int
    shift: bool


class TranslateTrainConfig(TrainConfig):
    """The settings of training a translator."""

    alignment_weight: float = Field(default=ALIGNMENT_WEIGHT, ge=0)
    """With data.alignments: what it costs a head of attention, of each target token, to look elsewhere than they say; 0 lets it."""
    alignment_layer: int | None = Field(default=None, ge=0)
    """With data.alignments: the decoder layer, from 0, whose first head is trained towards them; not given, the last but one."""


class TranslateSettings(RunSettings):
    """A run that translates."""

    task: Literal["translate"] = "translate"
    """The purpose of the model: to translate, to generate or classify text, or to forecast series."""
    data: PairData = PairData()
    text: TextConfig = TextConfig()
    model: Annotated[ModelConfig, Choice(TRANSLATORS)] = TransformerConfig()
    train: TranslateTrainConfig = TranslateTrainConfig()

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        check_kind(self.model, TRANSLATORS, self.task)
        check_select(self.train.select, self.task)
        check_positions(self.model.reach, self.data.max_length, ["an end mark"])
        return self

    @model_validator(mode="after")
    def _check_alignments(self) -> Self:
        layer, layers = self.train.alignment_layer, self.model.cross_attention_layers
        without = self.data.alignments is None
        if without and layer is not None:
            raise ValueError(f"train.alignment_layer {layer} is for data.alignments; give them, or leave it out")
        if without and self.train.alignment_weight != ALIGNMENT_WEIGHT:
            raise ValueError(
                f"train.alignment_weight {self.train.alignment_weight} is for data.alignments; give them, or leave it out"
            )
        if layer is not None and not self.train.alignment_weight:
            raise ValueError(
                f"train.alignment_layer {layer} has no meaning with train.alignment_weight 0; leave one of them out"
            )
        if self.data.alignments is not None and not layers:
            raise ValueError(
                "data.alignments train attention, of which this model has none; set model.attention = true"
            )
        if layer is not None and layer >= layers:
            raise ValueError(
                f"train.alignment_layer {layer} is not among the {layers} decoder layers that attend, counted from 0; "
                "choose a smaller one"
            )
        return self

    @property
    def aligned_head(self) -> AlignedHead | None:
        """The supervised alignment head, or None.

        A recurrent model has one head, which attends before the token is read: there is no shift.
        """
        if self.data.alignments is None or not self.train.alignment_weight:
            return None
        given = self.train.alignment_layer
        layer = max(0, self.model.cross_attention_layers - 2) if given is None else given
        return AlignedHead(layer, shift=isinstance(self.model, TransformerConfig))


class TranslateBundle(TextBundleSettings):
    """The config.json of a translator's bundle."""

    task: Literal["translate"] = "translate"
    model: Annotated[ModelConfig, Choice(TRANSLATORS)]
    """The network."""
    alignment: AlignmentConfig | None = None
    """How alignments are read off the attention; the mean of all layers if not given."""
    characters_per_piece: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Mean characters of a source piece in the validation text. Input with far fewer is not like the training text."""

    @model_validator(mode="after")
    def _check_alignment(self) -> Self:
        layers = self.model.cross_attention_layers
        for layer in [] if self.alignment is None else self.alignment.layers:
            if layer >= layers:
                raise ValueError(f"alignment.layer {layer} is not among the {layers} decoder layers that attend")
        most = self.model.heads if isinstance(self.model, TransformerConfig) else 1
        for _, head in (self.alignment and self.alignment.heads) or ():
            if head >= most:
                raise ValueError(f"alignment.heads names head {head}, which is not among the {most} heads of a layer")
        return self

    @property
    def aligns(self) -> bool:
        """Whether the network has attention to the source, which word alignment needs."""
        return self.model.cross_attention_layers > 0

    def network(self) -> "nn.Module":
        from regard.models.build import build_translator

        sizes = self.vocabulary
        return build_translator(self.model, sizes.source, sizes.target, sizes.joint)

    def shapes(self) -> Shapes | None:
        sizes = self.vocabulary
        return translator_shapes(self.model, sizes.source, sizes.target, sizes.joint)

    def inherited(self, base: Self) -> Self:
        """This config with the languages of the base model, and with its alignment settings if there are none here."""
        return super().inherited(base).model_copy(update={"alignment": self.alignment or base.alignment})

    def settles(self, codecs: Any) -> dict[str, dict[str, Any]]:
        return {"data": {}, **super().settles(codecs)}
