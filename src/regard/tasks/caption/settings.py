"""The settings of the task `caption`: of a run, and of the config.json of its bundles."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from regard.bundle.config import AlignmentConfig, TextBundleSettings
from regard.bundle.pictures import PICTURE_SETTINGS, PictureFormat
from regard.data.caption_config import CaptionData
from regard.models.config import CAPTIONERS, CaptionerConfig, ModelConfig
from regard.models.shapes import Shapes, captioner_shapes
from regard.settings import Choice
from regard.tasks.aligned_head import AlignedHead, AlignedTrainConfig, aligned_head, check_alignment
from regard.tasks.checks import check_kind, check_positions, check_select
from regard.text.config import OneTextConfig
from regard.training.config import RunSettings

if TYPE_CHECKING:
    from torch import nn


class CaptionSettings(RunSettings):
    """A run that describes pictures."""

    task: Literal["caption"] = "caption"
    """The purpose of the model: to translate pairs, to generate text, to classify it, or to describe pictures."""
    data: CaptionData = CaptionData()
    text: OneTextConfig = OneTextConfig()
    model: Annotated[ModelConfig, Choice(CAPTIONERS)] = CaptionerConfig()
    train: AlignedTrainConfig = AlignedTrainConfig()

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        check_kind(self.model, CAPTIONERS, self.task)
        check_select(self.train.select, self.task)
        check_positions(self.model.reach, self.data.max_length, ["an end mark"])
        check_alignment(self.train, "data.regions", self.data.regions, self.model.cross_attention_layers)
        return self

    @property
    def aligned_head(self) -> AlignedHead | None:
        """The head that is trained to look at the regions of words, or None. It looks before its word is written, and so may decide it."""
        return aligned_head(self.train, self.data.regions, self.model.cross_attention_layers, shift=False)


class CaptionBundle(TextBundleSettings):
    """The config.json of a captioner's bundle."""

    fixed_data: ClassVar[tuple[str, ...]] = PICTURE_SETTINGS

    task: Literal["caption"] = "caption"
    model: Annotated[ModelConfig, Choice(CAPTIONERS)]
    """The network."""
    pictures: PictureFormat
    """The form of the pictures that it reads."""
    longest: int = Field(ge=1, le=2**20)
    """Tokens of the longest training caption."""
    attention: AlignmentConfig | None = None
    """How a word's place in the picture is read off the attention; the mean of all layers if not given."""

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        assert isinstance(self.model, CaptionerConfig)
        self.model.check_size(self.pictures.height, self.pictures.width)
        layers = self.model.cross_attention_layers
        for layer in [] if self.attention is None else self.attention.layers:
            if layer >= layers:
                raise ValueError(f"attention.layer {layer} is not among the {layers} decoder layers")
        for _, head in (self.attention and self.attention.heads) or ():
            if head >= self.model.heads:
                raise ValueError(f"attention.heads names head {head}, which is not among the {self.model.heads} heads")
        return self

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of the pictures."""
        return self.pictures.height, self.pictures.width, self.pictures.channels

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the patches of a picture."""
        assert isinstance(self.model, CaptionerConfig)
        return self.model.grid(self.pictures.height, self.pictures.width)

    def network(self) -> "nn.Module":
        from regard.models.build import build_captioner

        return build_captioner(self.model, self.shape, self.vocabulary.target)

    def shapes(self) -> Shapes | None:
        return captioner_shapes(self.model, self.shape, self.vocabulary.target)

    def inherited(self, base: Self) -> Self:
        """This config with the languages, the picture format and the attention of the base model."""
        kept = {"pictures": base.pictures, "attention": self.attention or base.attention}
        return super().inherited(base).model_copy(update={**kept, "longest": max(self.longest, base.longest)})

    def settles(self, codecs: Any) -> dict[str, dict[str, Any]]:
        return {"data": {"fit": self.pictures.fit}, **super().settles(codecs)}
