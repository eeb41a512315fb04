"""`ImportedModel`: what an importer makes of a foreign directory, and how it becomes a bundle."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from regard.bundle.bundle import write_bundle
from regard.bundle.config import BundleSettings, Languages, VocabularySizes
from regard.bundle.manifest import write_manifest
from regard.errors import BundleError, ConfigError
from regard.interop.foreign_tokenizers import ForeignTokenizer
from regard.interop.vocabularies import Arrangement
from regard.models.shapes import Shapes
from regard.tasks.translate.settings import TranslateBundle
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor


ConfigT = TypeVar("ConfigT", bound=BundleSettings)


@dataclass(frozen=True)
class ImportOptions:
    """Facts of a model from the user, which its files may lack."""

    languages: Languages = field(default_factory=Languages)
    labels: tuple[str, ...] = ()
    """The labels of a new classifier, for a network that has none."""


@dataclass(frozen=True)
class ImportedModel:
    """A model of another program, as a config, tensors and codecs of ours."""

    config: BundleSettings
    tensors: "Mapping[str, Tensor]"
    codecs: Any
    """The tokenizers; None for a network that reads pictures."""
    notes: tuple[str, ...] = ()
    """What a person should know of the import."""

    def write(self, directory: Path) -> None:
        """Write the bundle into an existing directory."""
        write_bundle(directory, self.tensors, self.config, self.codecs)
        write_manifest(directory)


def parsed(kind: type[ConfigT], values: Mapping[str, Any], where: object) -> ConfigT:
    """The config of an imported model; a `BundleError` names a value that regard's networks do not have."""
    try:
        return kind.parse(values, f"{where}, as settings of regard")
    except ConfigError as error:
        raise BundleError(str(error)) from None


def bundle_config(
    where: object, model: Mapping[str, Any], sizes: tuple[int, int], joint: bool, languages: Languages
) -> TranslateBundle:
    """The config of an imported translator."""
    values = {
        "model": dict(model),
        "vocabulary": VocabularySizes(source=sizes[0], target=sizes[1], joint=joint).model_dump(),
        "languages": languages.model_dump(),
    }
    return parsed(TranslateBundle, values, where)


def expected_shapes(config: BundleSettings) -> Shapes:
    """Name -> shape of the tensors of the bundle."""
    shapes = config.shapes()
    assert shapes is not None, "an imported network is a Transformer"
    return shapes


def tokenizer_of(tokenizer: ForeignTokenizer, arrangement: Arrangement) -> Tokenizer:
    """The tokenizer of one side."""
    return tokenizer.segmenter.tokenizer(arrangement.record)
