"""`config.json` of a bundle: the task, the network, and the languages. It reads no weights and no text.

Each task has a subclass of `BundleSettings`; callers pass the table of these classes.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, NonNegativeInt, model_validator

from regard.bundle import format1
from regard.bundle.manifest import MEND, Manifest
from regard.errors import BundleError, ConfigError
from regard.extensions import ExtensionUse, extensions_in_use, require_extensions
from regard.models.config import Documents, ModelConfig
from regard.models.shapes import Shape, Shapes
from regard.settings import Settings
from regard.text.build import TokenizerPair, load_tokenizers, save_tokenizers

if TYPE_CHECKING:
    from torch import Tensor, nn

CONFIG = "config.json"
FORMAT = 2
_LARGEST = 2**31 - 1  # of a vocabulary, and of a context in tokens


class Languages(Settings):
    """The source and the target language, if known."""

    source: str | None = None
    """A language code such as `fr`."""
    target: str | None = None
    """A language code such as `en`."""


class VocabularySizes(Settings):
    """Vocabulary sizes of both sides, `</s>`, `<unk>` and `<pad>` included."""

    source: int = Field(ge=3, le=_LARGEST)
    """Pieces of the source."""
    target: int = Field(ge=3, le=_LARGEST)
    """Pieces of the target."""
    joint: bool
    """Whether both sides share one vocabulary."""


AlignmentMethod = Literal["attention", "norm", "zeroing", "copy"]
LinkRule = Literal["target", "both", "either"]


class AlignmentConfig(Settings):
    """How word alignments are read from the model."""

    method: AlignmentMethod = "attention"
    """The evidence: attention, attention times the norm of the value, how much the output changes when a value is zeroed, or the weights of
    a network that copies."""
    layer: int | None = Field(default=None, ge=0)
    """The decoder layer whose heads are averaged, from 0; by default all layers."""
    heads: tuple[tuple[NonNegativeInt, NonNegativeInt], ...] | None = None
    """The heads (layer, head) that are averaged, instead of a whole layer."""
    shift: bool = False
    """Whether a token takes the attention of the step that reads it, not of the step that predicts it (Chen et al. 2020)."""
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
        """The numbers of all layers in `layer` and `heads`."""
        named = [] if self.layer is None else [self.layer]
        return [*named, *(layer for layer, _ in self.heads or ())]


class TextsConfig(Settings):
    """The training text of a language model."""

    documents: Documents = "file"
    """Whether the whole file is one document (file) or each line is a document (line)."""
    context: int = Field(ge=1, le=_LARGEST)
    """The longest context in training, in tokens."""


class BundleSettings(Settings):
    """The config.json of a bundle: the fields of all tasks. Each task adds fields and builds its own network."""

    codec_files: ClassVar[tuple[str, ...]] = ()
    """Files beside the weights that every bundle of the task has."""
    fixed_data: ClassVar[tuple[str, ...]] = ("labels_of",)
    """The settings of `data` that fine-tuning must share with its base, where the task has them."""

    format: Literal[2] = 2
    """The version of the bundle's layout."""
    task: str
    """The task, such as `translate`."""
    model: ModelConfig
    """The network."""
    languages: Languages = Languages()
    """The languages."""
    extensions: tuple[ExtensionUse, ...] = Field(default_factory=lambda data: _needed(data))
    """The user's own files that the model needs (`--extension`)."""
    created: str = Field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    """The time of writing, in ISO 8601."""
    regard: str = Field(default_factory=lambda: installed_version())
    """The version of regard that wrote it."""

    @property
    def reach(self) -> int | None:
        """The longest sequence that the network has positions for, end mark included; None: any."""
        return self.model.reach

    @property
    def counted(self) -> bool:
        """Whether the network is fitted by counting. The corpus then decides the sizes of its tensors (tables)."""
        return False

    def network(self) -> "nn.Module":
        """A freshly initialised network."""
        raise AssertionError(f"{type(self).__name__} must say how its network is built")

    def from_tables(self, tables: "Mapping[str, Tensor]") -> "nn.Module":
        """The counted network with these tables; a `ValueError` if they do not fit."""
        raise AssertionError(f"a network of {type(self).__name__} is not counted")

    def shapes(self) -> Shapes | None:
        """Name -> shape of the tensors that the bundle stores, from the config alone; None: build the network to know."""
        return None

    def table_shapes(self, stored: Mapping[str, Shape]) -> Shapes:
        """Name -> shape of the tables of a counted network. `stored`: those in the file, for sizes that the corpus decides."""
        raise AssertionError(f"a network of {type(self).__name__} is not counted")

    def save_codecs(self, codecs: Any, directory: Path) -> None:
        """Write the codecs: what converts data to tensors and back, such as tokenizers."""

    def load_codecs(self, files: Manifest) -> Any:
        """The codecs that `save_codecs` wrote. `files.read(name)` has the content of a file, checked against the manifest."""
        return None

    def inherited(self, base: Self) -> Self:
        """This config with the languages of the base model where they are not set here."""
        languages = Languages(
            source=self.languages.source or base.languages.source, target=self.languages.target or base.languages.target
        )
        return self.model_copy(update={"languages": languages})

    def settles(self, codecs: Any) -> dict[str, dict[str, Any]]:
        """The settings, by table, that a run starting from this model inherits."""
        return {"model": self.model.model_dump(mode="json")}


class TextBundleSettings(BundleSettings):
    """The config.json of a bundle whose codecs are two tokenizers."""

    codec_files = ("tokenizer.json",)

    vocabulary: VocabularySizes
    """The sizes of the vocabularies."""

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if self.vocabulary.joint and self.vocabulary.source != self.vocabulary.target:
            raise ValueError("vocabulary.joint needs the same size on both sides")
        return self

    def save_codecs(self, codecs: TokenizerPair, directory: Path) -> None:
        sizes = (len(codecs.source.vocabulary), len(codecs.target.vocabulary))
        assert sizes == (self.vocabulary.source, self.vocabulary.target), f"tokenizers of {sizes} pieces, {self}"
        save_tokenizers(codecs, directory)

    def load_codecs(self, files: Manifest) -> TokenizerPair:
        tokenizers = load_tokenizers(files.directory, files.read)
        if tokenizers.joint != self.vocabulary.joint:
            raise BundleError(
                f"{files.directory / CONFIG}: vocabulary.joint is {str(self.vocabulary.joint).lower()}, but the tokenizers "
                f"say {str(tokenizers.joint).lower()}; they are of different models; {MEND}"
            )
        for side, tokenizer in (("source", tokenizers.source), ("target", tokenizers.target)):
            pieces, stated = len(tokenizer.vocabulary), getattr(self.vocabulary, side)
            if pieces != stated:
                raise BundleError(
                    f"{files.directory / CONFIG}: vocabulary.{side} is {stated}, but the tokenizer has {pieces} pieces; "
                    f"they are of different models; {MEND}"
                )
        return tokenizers

    def settles(self, codecs: TokenizerPair) -> dict[str, dict[str, Any]]:
        tokenizer = codecs.source
        text = {
            "kind": tokenizer.kind,
            "joint": codecs.joint,
            "form": tokenizer.form,
            "lowercase": tokenizer.lowercase,
        }
        return {"text": text, **super().settles(codecs)}


def _needed(data: Mapping[str, Any]) -> tuple[ExtensionUse, ...]:
    """The loaded extensions whose task, model, mixer or score a bundle of this task and model has."""
    model = data.get("model")
    values = [data.get("task"), *(model.model_dump().values() if isinstance(model, ModelConfig) else ())]
    parts = [part for value in values for part in (value if isinstance(value, tuple) else [value])]
    names = {name for name in parts if isinstance(name, str)}  # a list of mixers has several
    return tuple(use for use in extensions_in_use() if use.is_needed_by(names))


def vocabulary_sizes(tokenizers: TokenizerPair) -> VocabularySizes:
    """The vocabulary sizes of two tokenizers."""
    return VocabularySizes(
        source=len(tokenizers.source.vocabulary), target=len(tokenizers.target.vocabulary), joint=tokenizers.joint
    )


def parse_config(files: Manifest, classes: Mapping[str, type[BundleSettings]]) -> tuple[BundleSettings, int]:
    """(config of a bundle, format that it is stored in); `classes`: task -> class of its config.

    A `BundleError` refuses an unknown format, task or key, and a missing extension.
    """
    path = files.directory / CONFIG
    values = files.read_json(CONFIG)
    stored = values.get("format")
    if type(stored) is not int or stored not in (1, FORMAT):
        raise BundleError(
            f"{path}: bundle format {stored!r} is not known to regard {installed_version()}, which reads format {FORMAT}; "
            "update regard or convert the bundle"
        )
    try:
        require_extensions(values.get("extensions", []), str(path))
    except ConfigError as error:
        raise BundleError(str(error)) from None
    task = str(values.get("task", "translate" if stored == 1 else None))
    if task not in classes:
        raise BundleError(f"{path}: task = {task!r}: not one of {', '.join(classes)}; it may need --extension FILE.py")
    if stored == 1:
        values = format1.upgraded_config(values, classes[task])
    try:
        return classes[task].parse(values, str(path)), stored
    except ConfigError as error:
        raise BundleError(str(error)) from None


def installed_version() -> str:
    """The version of regard."""
    try:
        return version("regard")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "unknown"
