"""A bundle without its weights: verified, with its config and tokenizers. No torch, so that an engine that needs none starts at once."""

from dataclasses import dataclass
from pathlib import Path

from regard.bundle.config import CONFIG, BundleConfig, read_config
from regard.bundle.manifest import MEND, verify_manifest
from regard.errors import BundleError
from regard.text.build import TokenizerPair, load_tokenizers

WEIGHTS = "model.safetensors"
REQUIRED = (WEIGHTS, CONFIG, "tokenizer.json")


@dataclass(frozen=True)
class OpenBundle:
    """Everything of a bundle but the network."""

    config: BundleConfig
    tokenizers: TokenizerPair
    directory: Path


def open_bundle(directory: Path, verify: bool = True) -> OpenBundle:
    """The bundle in `directory`; `verify=False` skips the hashes, for a caller that has just checked them."""
    if verify:
        verify_manifest(directory, REQUIRED)
    config = read_config(directory)
    tokenizers = load_tokenizers(directory)
    _check_vocabulary(directory, config, tokenizers)
    return OpenBundle(config, tokenizers, directory)


def _check_vocabulary(directory: Path, config: BundleConfig, tokenizers: TokenizerPair) -> None:
    for side, tokenizer in (("source", tokenizers.source), ("target", tokenizers.target)):
        pieces, stated = len(tokenizer.vocabulary), getattr(config.vocabulary, side)
        if pieces != stated:
            raise BundleError(
                f"{directory / CONFIG}: vocabulary.{side} is {stated}, but the tokenizer has {pieces} pieces; "
                f"they are of different models; {MEND}"
            )
