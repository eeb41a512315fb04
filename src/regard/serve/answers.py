"""The answers of `/v1/regard/*`, made from the tasks' records."""

from typing import Any

from pydantic import BaseModel, Field

from regard.serve.records import listed
from regard.tasks.caption.caption import Caption
from regard.tasks.classify.classification import Classification, Tagging
from regard.tasks.classify_images.classification import PictureClassification
from regard.tasks.forecast.series_forecast import SeriesForecast
from regard.tasks.generate.generation import Generation
from regard.tasks.pretrain.filling import Filling
from regard.tasks.translate.translation import Translation


class Looks(BaseModel):
    """Where each word of a caption looks."""

    words: list[str]
    weights: list[list[list[float]]]
    """Of each word, by rows and columns of patches; each map sums to 1."""


class ServedDescription(BaseModel):
    """A model that is served."""

    name: str
    task: str
    languages: list[tuple[str, str]] = Field(description="Source and target of each direction of a translator.")
    labels: list[str] = Field(description="The labels of a classifier or a tagger.")
    tags_words: bool = Field(description="Whether it labels words: then `/v1/regard/tag` is its route.")
    kind: str = Field(description="The kind of its network.")


class Descriptions(BaseModel):
    """All models."""

    models: list[ServedDescription]


class Explained(BaseModel):
    """The JSON that `regard explain --out x.json` writes. docs/explain.md describes the fields."""

    format: int
    explanations: list[dict[str, Any]]


TRANSLATIONS = listed("translations", Translation, (("alignment", list[tuple[int, int]] | None),))
GENERATIONS = listed("generations", Generation)
CLASSIFICATIONS = listed("classifications", Classification)
PICTURE_CLASSIFICATIONS = listed("classifications", PictureClassification)
TAGGINGS = listed("taggings", Tagging)
CAPTIONS = listed("captions", Caption, (("looks", Looks | None),))
FORECASTS = listed("forecasts", SeriesForecast)
FILLINGS = listed("fillings", Filling)
