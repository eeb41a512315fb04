"""`config.json` of a bundle: everything needed to build its network and to know what it is for. It reads no weights and no text."""

from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from regard.bundle.manifest import read_json
from regard.errors import BundleError, ConfigError
from regard.models.config import KINDS, Documents, LabelsOf, ModelConfig
from regard.models.config import Task as Task
from regard.settings import Settings

CONFIG = "config.json"
FORMAT = 1


class Languages(Settings):
    """What is translated into what, where it is known."""

    source: str | None = None
    """A language code such as `fr`."""
    target: str | None = None
    """A language code such as `en`."""


class VocabularySizes(Settings):
    """Pieces on each side, `</s>`, `<unk>` and `<pad>` included."""

    source: int = Field(ge=3)
    """Pieces of the source."""
    target: int = Field(ge=3)
    """Pieces of the target."""
    joint: bool
    """Whether both sides share one vocabulary."""


AlignmentMethod = Literal["attention", "norm", "zeroing"]
LinkRule = Literal["target", "both", "either"]


class AlignmentConfig(Settings):
    """How to tell which source word a target word was translated from."""

    method: AlignmentMethod = "attention"
    """The evidence: attention, attention times the norm of the value, or how much the output changes when a value is zeroed."""
    layer: int | None = Field(default=None, ge=0)
    """The decoder layer whose heads are averaged, from 0; all layers if not given."""
    heads: tuple[tuple[int, int], ...] | None = None
    """The heads (layer, head) that are averaged, in place of a layer's."""
    said: bool = False
    """Whether a token has the evidence of the step that read it, in place of the step that chose it."""
    links: LinkRule = "target"
    """Each target word's best source word; `both`: each must be the other's best; `either`: one is enough."""
    least: float = Field(default=0.0, ge=0.0, le=1.0)
    """The least weight of a link."""

    @model_validator(mode="after")
    def _check_heads(self) -> Self:
        if self.heads is not None and (not self.heads or self.layer is not None):
            raise ValueError("alignment.heads needs one head or more, and no alignment.layer beside it")
        return self

    @property
    def layers(self) -> list[int]:
        """The layers that are named."""
        named = [] if self.layer is None else [self.layer]
        return [*named, *(layer for layer, _ in self.heads or ())]


class TextsConfig(Settings):
    """What a language model was trained on."""

    documents: Documents = "file"
    """Whether a text is many lines (file) or each line a text of its own (line)."""
    context: int = Field(ge=1)
    """The most tokens that it was trained to read at once."""


class BundleConfig(Settings):
    """What a bundle says about itself."""

    format: Literal[1] = 1
    """The version of the bundle's layout."""
    task: Task = "translate"
    """What the model is for."""
    model: ModelConfig
    """The network."""
    languages: Languages = Languages()
    """The languages."""
    vocabulary: VocabularySizes
    """The sizes of the vocabularies."""
    alignment: AlignmentConfig | None = None
    """How alignments are read off the attention; the mean of all layers if not given."""
    texts: TextsConfig | None = None
    """Of a language model."""
    labels: tuple[str, ...] = ()
    """Of a classifier: what it tells apart, in the order of its outputs."""
    labels_of: LabelsOf = "text"
    """Of a classifier: whether a text has a label, or each of its words."""
    created: str = Field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    """When, in ISO 8601."""
    regard: str = Field(default_factory=lambda: _version())
    """The version of regard that wrote it."""

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if self.vocabulary.joint and self.vocabulary.source != self.vocabulary.target:
            raise ValueError("vocabulary.joint needs the same size on both sides")
        if self.model.kind not in KINDS[self.task]:
            raise ValueError(
                f"model.kind {self.model.kind!r} does not {self.task}; {' or '.join(KINDS[self.task])} does"
            )
        if (self.task == "generate") != (self.texts is not None):
            raise ValueError(f"task {self.task!r} and texts {self.texts!r} do not go together")
        if (self.task == "classify") != (len(self.labels) >= 2):
            raise ValueError(f"task {self.task!r} and {len(self.labels)} labels do not go together")
        if self.labels_of == "token" and (self.task != "classify" or self.model.kind == "bag"):
            raise ValueError(
                f"labels_of 'token' does not go with task {self.task!r} and model.kind {self.model.kind!r}"
            )
        layers = self.looking_layers
        for layer in [] if self.alignment is None else self.alignment.layers:
            if layer >= layers:
                raise ValueError(f"alignment.layer {layer} is not among the {layers} decoder layers that attend")
        return self

    @property
    def reach(self) -> int | None:
        """The longest sequence that the network has positions for, end mark included; None: any."""
        return self.model.reach

    @property
    def looking_layers(self) -> int:
        """Layers that attend to a source."""
        return self.model.looking_layers if self.task == "translate" else 0

    @property
    def aligns(self) -> bool:
        """Whether the network looks at the source, so that words can be aligned by it."""
        return self.looking_layers > 0


def read_config(directory: Path) -> BundleConfig:
    """The config of a bundle; of another format, or with keys that are unknown, it is refused."""
    path = directory / CONFIG
    values = read_json(path)
    found = values.get("format")
    if found != FORMAT:
        raise BundleError(
            f"{path}: bundle format {found!r} is not known to regard {_version()}, which reads format {FORMAT}; "
            "update regard or convert the bundle"
        )
    try:
        return BundleConfig.parse(values, str(path))
    except ConfigError as error:
        raise BundleError(str(error)) from None


def _version() -> str:
    try:
        return version("regard")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "unknown"
