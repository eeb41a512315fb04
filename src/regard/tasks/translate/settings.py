"""The settings of the task `translate`: of a run, and of the config.json of its bundles."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from regard.bundle.config import AlignmentConfig, TextBundleSettings
from regard.data.config import PairData
from regard.models.config import TRANSLATORS, ModelConfig, TransformerBase, TransformerConfig
from regard.models.shapes import Shapes, translator_shapes
from regard.settings import Choice
from regard.tasks.aligned_head import AlignedHead, AlignedTrainConfig, aligned_head, check_alignment
from regard.tasks.checks import check_kind, check_positions, check_replay, check_select
from regard.text.config import TextConfig
from regard.training.config import RunSettings

if TYPE_CHECKING:
    from torch import nn


class TranslateSettings(RunSettings):
    """A run that translates."""

    task: Literal["translate"] = "translate"
    """The purpose of the model: to translate, to generate or classify text, or to forecast series."""
    data: PairData = PairData()
    text: TextConfig = TextConfig()
    model: Annotated[ModelConfig, Choice(TRANSLATORS)] = TransformerConfig()
    train: AlignedTrainConfig = AlignedTrainConfig()

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        check_kind(self.model, TRANSLATORS, self.task)
        check_select(self.train.select, self.task)
        check_replay(self.data.replay, self.train.start)
        check_positions(self.model.reach, self.data.max_length, ["an end mark"])
        if self.model.needs_joint_vocabulary and not self.text.joint:
            kind = getattr(self.model, "kind", type(self.model).__name__)
            raise ValueError(
                f"text.joint false gives two vocabularies, but model.kind {kind!r} has one embedding for both languages; "
                "set text.joint = true"
            )
        return self

    @model_validator(mode="after")
    def _check_alignments(self) -> Self:
        given = self.data.alignments is not None
        check_alignment(self.train, "data.alignments", given, self.model.cross_attention_layers)
        return self

    @property
    def aligned_head(self) -> AlignedHead | None:
        """The supervised alignment head, or None.

        A recurrent model has one head, which attends before the token is read: there is no shift.
        """
        given, shift = self.data.alignments is not None, isinstance(self.model, TransformerBase)
        return aligned_head(self.train, given, self.model.cross_attention_layers, shift=shift)


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
        most = self.model.heads if isinstance(self.model, TransformerBase) else 1
        for _, head in (self.alignment and self.alignment.heads) or ():
            if head >= most:
                raise ValueError(f"alignment.heads names head {head}, which is not among the {most} heads of a layer")
        return self

    @model_validator(mode="after")
    def _check_vocabulary(self) -> Self:
        sizes = self.vocabulary
        if self.model.needs_joint_vocabulary and not (sizes.joint and sizes.source == sizes.target):
            raise ValueError(
                f"vocabulary: {sizes.source} and {sizes.target} pieces, joint {sizes.joint}; this network has one table for both languages"
            )
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
