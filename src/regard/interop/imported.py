"""`ImportedModel`: what an importer makes of a foreign directory, and how it becomes a bundle."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.bundle.bundle import write_bundle
from regard.bundle.config import Languages, VocabularySizes
from regard.bundle.manifest import write_manifest
from regard.errors import BundleError, ConfigError
from regard.interop.foreign_tokenizers import ForeignTokenizer
from regard.interop.vocabularies import Arrangement
from regard.models.shapes import Shapes, translator_shapes
from regard.tasks.translate.settings import TranslateBundle
from regard.text.build import TokenizerPair
from regard.text.imported import ImportedSentencePiece

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class ImportedModel:
    """A translator of another program, as a config, tensors and tokenizers of ours."""

    config: TranslateBundle
    tensors: "Mapping[str, Tensor]"
    tokenizers: TokenizerPair

    def write(self, directory: Path) -> None:
        """Write the bundle into an existing directory."""
        write_bundle(directory, self.tensors, self.config, self.tokenizers)
        write_manifest(directory)


def bundle_config(
    where: object, model: Mapping[str, Any], sizes: tuple[int, int], joint: bool, languages: Languages
) -> TranslateBundle:
    """The config of an imported translator; a `BundleError` names a value that regard's networks do not have."""
    values = {
        "model": dict(model),
        "vocabulary": VocabularySizes(source=sizes[0], target=sizes[1], joint=joint).model_dump(),
        "languages": languages.model_dump(),
    }
    try:
        return TranslateBundle.parse(values, f"{where}, as settings of regard")
    except ConfigError as error:
        raise BundleError(str(error)) from None


def expected_shapes(config: TranslateBundle) -> Shapes:
    """Name -> shape of the tensors of the bundle."""
    sizes = config.vocabulary
    shapes = translator_shapes(config.model, sizes.source, sizes.target, sizes.joint)
    assert shapes is not None, "an imported translator is a Transformer"
    return shapes


def tokenizer_of(tokenizer: ForeignTokenizer, arrangement: Arrangement) -> ImportedSentencePiece:
    """The tokenizer of one side."""
    return ImportedSentencePiece(tokenizer.model, arrangement.record)
