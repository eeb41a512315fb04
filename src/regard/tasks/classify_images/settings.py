"""The settings of the task `classify_images`: of a run, and of the config.json of its bundles."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from regard.bundle.config import BundleSettings
from regard.bundle.pictures import PICTURE_SETTINGS, PictureFormat
from regard.data.augment_config import AugmentConfig
from regard.data.config import ImageData
from regard.models.config import PICTURE_CLASSIFIERS, ModelConfig, VisionConfig
from regard.models.shapes import Shapes, picture_classifier_shapes
from regard.settings import Choice
from regard.tasks.checks import check_kind, check_select
from regard.training.config import RunSettings, TrainConfig

if TYPE_CHECKING:
    from torch import nn


class PictureTrainConfig(TrainConfig):
    """The settings of training on pictures, whose tokens are their patches."""

    batch_tokens: int = Field(default=6400, ge=1)
    """Tokens in a batch, which are the patches of its pictures."""
    weight_decay: float = Field(default=0.05, ge=0)
    """Decay of weights: decoupled and of matrices only with muon and adamw, added to every gradient with adam and sgd."""
    schedule: Literal["linear", "cosine", "inverse_sqrt", "noam", "constant"] = "cosine"
    """How the learning rate falls after the warm-up; linear and cosine reach zero at the end of the run."""


class ClassifyImagesSettings(RunSettings):
    """A run that classifies pictures."""

    task: Literal["classify_images"] = "classify_images"
    """The purpose of the model: here to classify pictures."""
    data: ImageData = ImageData()
    augment: AugmentConfig = AugmentConfig()
    model: Annotated[ModelConfig, Choice(PICTURE_CLASSIFIERS)] = VisionConfig()
    train: PictureTrainConfig = PictureTrainConfig()

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        check_kind(self.model, PICTURE_CLASSIFIERS, self.task)
        check_select(self.train.select, self.task)
        if self.data.images is None:
            raise ValueError(
                "task 'classify_images' needs labelled pictures to learn from; give data.images, or --images F"
            )
        if self.augment.mixup and self.train.consistency:
            raise ValueError("augment.mixup and train.consistency exclude each other; set one of them to 0")
        height, width = self.data.height or self.data.width, self.data.width or self.data.height
        if isinstance(self.model, VisionConfig) and height is not None and width is not None:
            self.model.check_size(height, width)
        return self


class ClassifyImagesBundle(BundleSettings):
    """The config.json of a bundle of a classifier of pictures."""

    fixed_data: ClassVar[tuple[str, ...]] = PICTURE_SETTINGS

    task: Literal["classify_images"] = "classify_images"
    model: Annotated[ModelConfig, Choice(PICTURE_CLASSIFIERS)]
    """The network."""
    labels: tuple[str, ...] = Field(min_length=2)
    """The labels, in the order of the outputs."""
    label_names: tuple[str, ...] = ()
    """The names of the labels 0, 1, 2 .. of files that number them; empty: no numbers were named."""
    pictures: PictureFormat
    """The form that every picture is brought to."""

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        if isinstance(self.model, VisionConfig):
            self.model.check_size(self.pictures.height, self.pictures.width)
        return self

    @property
    def shape(self) -> tuple[int, int, int]:
        """(height, width, channels) of every picture."""
        return self.pictures.height, self.pictures.width, self.pictures.channels

    @property
    def tokens(self) -> int:
        """Tokens of a picture; 1 for a network that does not say."""
        return self.model.tokens(*self.shape[:2]) if isinstance(self.model, VisionConfig) else 1

    def network(self) -> "nn.Module":
        from regard.models.build import build_picture_classifier

        return build_picture_classifier(self.model, *self.shape, len(self.labels))

    def shapes(self) -> Shapes | None:
        return picture_classifier_shapes(self.model, *self.shape, len(self.labels))

    def settles(self, codecs: Any) -> dict[str, dict[str, Any]]:
        form = self.pictures
        data = {"height": form.height, "width": form.width, "colour": form.channels == 3, "fit": form.fit}
        return {"data": data, **super().settles(codecs)}
