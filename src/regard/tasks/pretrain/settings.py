"""The settings of the task `pretrain`: of a run, and of the config.json of its bundles."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import model_validator

from regard.bundle.config import TextBundleSettings, TextsConfig
from regard.data.config import PretrainData
from regard.data.objectives import OBJECTIVES, MaskObjective, ObjectiveConfig, objectives_of
from regard.models.config import PRETRAINED, MaskedTransformerConfig, ModelConfig
from regard.models.shapes import Shapes, pretrained_shapes
from regard.settings import Choice
from regard.tasks.checks import check_copies, check_kind, check_positions, check_replay, check_select
from regard.text.config import OneTextConfig
from regard.text.reserved import ReservedConfig
from regard.training.config import RunSettings, TrainConfig

if TYPE_CHECKING:
    from torch import nn


class PretrainSettings(RunSettings):
    """A run that learns from corrupted texts."""

    task: Literal["pretrain"] = "pretrain"
    """The purpose of the model: to translate, to generate or classify text, to forecast series, or to be trained further."""
    data: PretrainData = PretrainData()
    text: OneTextConfig = OneTextConfig()
    objective: Annotated[ObjectiveConfig, Choice(OBJECTIVES)] = MaskObjective()
    model: Annotated[ModelConfig, Choice(PRETRAINED)] = MaskedTransformerConfig()
    train: TrainConfig = TrainConfig()

    @model_validator(mode="before")
    @classmethod
    def _fill_kinds(cls, values: Any) -> Any:
        """Where only one of objective and network is named, the other is its first that fits."""
        if not isinstance(values, dict):
            return values
        objective, network = (_kind(values.get(table)) for table in ("objective", "model"))
        if objective in OBJECTIVES and network is None:
            return _with_kind(values, "model", OBJECTIVES[objective].networks[0])
        if objective is None and network is not None and (fitting := objectives_of(network)):
            return _with_kind(values, "objective", fitting[0])
        return values

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        check_kind(self.model, PRETRAINED, self.task)
        check_select(self.train.select, self.task)
        check_replay(self.data.replay, self.train.start)
        kind, objective = getattr(self.model, "kind", ""), self.objective
        if kind not in objective.networks:
            raise ValueError(
                f"model.kind {kind!r} cannot learn objective {objective.name!r}, in which a model {objective.summary}; "
                f"set model.kind to {' or '.join(map(repr, objective.networks))}, or choose another objective"
            )
        if not self.data.texts:
            raise ValueError("task 'pretrain' needs a text to learn from; give data.text, or --text FILE")
        check_positions(self.model.reach, self.data.max_length, ["an end mark"])
        check_copies(self.model, self.train.consistency)
        return self

    @property
    def reserving_text(self) -> OneTextConfig:
        """The settings of the vocabulary, with the pieces that the objective needs. What is set by hand stays."""
        own, needed = self.text.reserved, self.objective.needs(self.data.max_length)
        sentinels = own.sentinels if "sentinels" in own.model_fields_set else needed.sentinels
        reserved = ReservedConfig(
            mask=own.mask or needed.mask, sentinels=sentinels, languages=own.languages, placeholders=own.placeholders
        )
        return self.text.model_copy(update={"reserved": reserved})


class PretrainBundle(TextBundleSettings):
    """The config.json of a pretrained model's bundle."""

    task: Literal["pretrain"] = "pretrain"
    model: Annotated[ModelConfig, Choice(PRETRAINED)]
    """The network."""
    objective: Annotated[ObjectiveConfig, Choice(OBJECTIVES)]
    """How texts were corrupted."""
    texts: TextsConfig
    """The texts that it was trained on."""

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        kind = getattr(self.model, "kind", "")
        if kind not in self.objective.networks:
            raise ValueError(f"model.kind {kind!r} does not go with objective {self.objective.name!r}")
        if not self.vocabulary.joint:
            raise ValueError("a pretrained model has one vocabulary, and vocabulary.joint is false")
        return self

    def network(self) -> "nn.Module":
        from regard.models.build import build_pretrained

        return build_pretrained(self.model, self.vocabulary.source)

    def shapes(self) -> Shapes | None:
        return pretrained_shapes(self.model, self.vocabulary.source)

    def settles(self, codecs: Any) -> dict[str, dict[str, Any]]:
        data = {"documents": self.texts.documents, "max_length": self.texts.context}
        return {"data": data, "objective": {"kind": self.objective.name}, **super().settles(codecs)}


def _kind(table: Any) -> str | None:
    """The `kind` of a table of settings, given as a mapping or made already; None: not given."""
    kind = table.get("kind") if isinstance(table, Mapping) else getattr(table, "kind", None)
    return kind if isinstance(kind, str) else None


def _with_kind(values: dict[str, Any], table: str, kind: str) -> dict[str, Any]:
    own = values.get(table, {})
    return {**values, table: {**own, "kind": kind}} if isinstance(own, Mapping) else values
