"""The settings of the task `classify`: of a run, and of the config.json of its bundles."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from regard.bundle.config import TextBundleSettings
from regard.data.config import LabelledData
from regard.models.config import (
    CLASSIFIERS,
    BagConfig,
    ClassifierRecurrentConfig,
    ClassifierTransformerConfig,
    LabelsOf,
    ModelConfig,
)
from regard.models.shapes import Shapes, classifier_shapes
from regard.settings import Choice
from regard.tasks.checks import check_kind, check_positions, check_replay, check_select
from regard.text.config import OneTextConfig
from regard.training.config import RunSettings, TrainConfig

if TYPE_CHECKING:
    from torch import nn


class ClassifySettings(RunSettings):
    """A run that classifies texts or their words."""

    task: Literal["classify"] = "classify"
    """The purpose of the model: to translate, to generate or classify text, or to forecast series."""
    data: LabelledData = LabelledData()
    text: OneTextConfig = OneTextConfig()
    model: Annotated[ModelConfig, Choice(CLASSIFIERS)] = ClassifierTransformerConfig()
    train: TrainConfig = TrainConfig()

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        check_kind(self.model, CLASSIFIERS, self.task)
        check_select(self.train.select, self.task)
        check_replay(self.data.replay, self.train.start)
        if self.data.labelled is None:
            raise ValueError(
                "task 'classify' needs labelled texts to learn from; give data.labelled, or --data FILE.tsv"
            )
        self._check_tagging()
        pooling = getattr(self.model, "pooling", None)
        marks = ["an end mark", "a class token"] if pooling == "class" else ["an end mark"]
        check_positions(self.model.reach, self.data.max_length, marks)
        return self

    def _check_tagging(self) -> None:
        if self.data.labels_of != "token":
            return
        if isinstance(self.model, BagConfig):
            raise ValueError(
                "model.kind 'bag' has no order, so data.labels_of 'token' asks too much; choose 'recurrent' or 'transformer'"
            )
        if not isinstance(self.model, ClassifierTransformerConfig | ClassifierRecurrentConfig):
            return
        if self.model.pooling != type(self.model).model_fields["pooling"].default:
            raise ValueError(
                f"model.pooling {self.model.pooling!r} has no meaning for data.labels_of 'token', where nothing is pooled; leave it out"
            )


class ClassifyBundle(TextBundleSettings):
    """The config.json of a classifier's bundle."""

    task: Literal["classify"] = "classify"
    model: Annotated[ModelConfig, Choice(CLASSIFIERS)]
    """The network."""
    labels: tuple[str, ...] = Field(min_length=2)
    """The labels, in the order of the outputs."""
    labels_of: LabelsOf = "text"
    """Whether a text has a label, or each of its words."""
    longest: int | None = Field(default=None, ge=1)
    """The longest training text in tokens, without marks; None: not known, in a bundle of an earlier version."""

    @model_validator(mode="after")
    def _check_tagging(self) -> Self:
        if self.labels_of == "token" and isinstance(self.model, BagConfig):
            raise ValueError("labels_of 'token' does not go with model.kind 'bag'")
        return self

    def network(self) -> "nn.Module":
        from regard.models.build import build_classifier

        tagging = self.labels_of == "token"
        return build_classifier(self.model, self.vocabulary.source, len(self.labels), tagging=tagging)

    def shapes(self) -> Shapes | None:
        return classifier_shapes(self.model, self.vocabulary.source, len(self.labels))

    def inherited(self, base: Self) -> Self:
        """This config with what it lacks from the base model, which may have read longer texts."""
        longest = max(self.longest or 0, base.longest or 0) or None
        return super().inherited(base).model_copy(update={"longest": longest})

    def settles(self, codecs: Any) -> dict[str, dict[str, Any]]:
        return {"data": {"labels_of": self.labels_of}, **super().settles(codecs)}
