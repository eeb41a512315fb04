"""The settings of the task `generate`: of a run, and of the config.json of its bundles."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import model_validator

from regard.bundle.config import TextBundleSettings, TextsConfig
from regard.data.config import TextData
from regard.models.config import LANGUAGE_MODELS, LanguageTransformerConfig, MarkovConfig, ModelConfig
from regard.models.shapes import Shape, Shapes, language_model_shapes, table_shapes
from regard.settings import Choice
from regard.tasks.checks import check_kind, check_positions, check_replay, check_select
from regard.text.config import OneTextConfig
from regard.training.config import RunSettings, TrainConfig

if TYPE_CHECKING:
    from torch import Tensor, nn


class GenerateSettings(RunSettings):
    """A run that trains a language model."""

    task: Literal["generate"] = "generate"
    """The purpose of the model: to translate, to generate or classify text, or to forecast series."""
    data: TextData = TextData()
    text: OneTextConfig = OneTextConfig()
    model: Annotated[ModelConfig, Choice(LANGUAGE_MODELS)] = LanguageTransformerConfig()
    train: TrainConfig = TrainConfig()

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        check_kind(self.model, LANGUAGE_MODELS, self.task)
        check_select(self.train.select, self.task)
        check_replay(self.data.replay, self.train.start)
        if self.data.text is None:
            raise ValueError("task 'generate' needs a text to learn from; give data.text, or --text FILE")
        check_positions(self.model.reach, self.data.max_length, ["an end mark"])
        return self


class GenerateBundle(TextBundleSettings):
    """The config.json of a language model's bundle."""

    task: Literal["generate"] = "generate"
    model: Annotated[ModelConfig, Choice(LANGUAGE_MODELS)]
    """The network."""
    texts: TextsConfig
    """The texts that it was trained on."""

    @property
    def counted(self) -> bool:
        return isinstance(self.model, MarkovConfig)

    def network(self) -> "nn.Module":
        from regard.models.build import build_language_model

        return build_language_model(self.model, self.vocabulary.target, self.texts.context)

    def shapes(self) -> Shapes | None:
        return language_model_shapes(self.model, self.vocabulary.target)

    def table_shapes(self, stored: Mapping[str, Shape]) -> Shapes:
        return table_shapes(self.model, self.vocabulary.target, stored)

    def from_tables(self, tables: "Mapping[str, Tensor]") -> "nn.Module":
        from regard.models.build import counted_model

        assert isinstance(self.model, MarkovConfig)
        return counted_model(self.model, self.vocabulary.target, tables)

    def settles(self, codecs: Any) -> dict[str, dict[str, Any]]:
        data = {"documents": self.texts.documents, "max_length": self.texts.context}
        return {"data": data, **super().settles(codecs)}
