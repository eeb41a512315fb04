"""Opens a bundle without its weights: verifies it, reads its config and codecs. No torch, for a fast start of other engines."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bundle.config import CONFIG, BundleSettings, parse_config
from regard.bundle.manifest import require_listed, verify_manifest
from regard.text.build import TokenizerPair

WEIGHTS = "model.safetensors"
REQUIRED = (WEIGHTS, CONFIG)
OPTIMISER_FILE, STATE_FILE = "optimiser.safetensors", "state.json"
FOR_RESUMING = (OPTIMISER_FILE, STATE_FILE)
"""The files that a checkpoint has beside its bundle. A model that is only used may come without them."""


@dataclass(frozen=True)
class OpenBundle:
    """A bundle without its network."""

    config: Any
    """The `BundleSettings` of its task."""
    codecs: Any
    """The codecs of the task, which convert data to tensors and back: tokenizers."""
    directory: Path
    stored_format: int = 2
    """The format of the files; `config` is always in the newest format."""
    given: Path | None = None
    """The path that the user gave: the bundle, or the run that it is the best checkpoint of. None: the bundle."""

    @property
    def name(self) -> str:
        """The name to show for the model: that of the run or bundle that the user gave."""
        return (self.given or self.directory).resolve().name

    @property
    def tokenizers(self) -> TokenizerPair:
        """The codecs of a text task."""
        assert isinstance(self.codecs, TokenizerPair), f"{self.directory} has no tokenizers"
        return self.codecs


def parse_bundle(directory: Path, classes: Mapping[str, type[BundleSettings]], verify: bool = True) -> OpenBundle:
    """The bundle in `directory`; `verify=False` skips the hashes, for a caller that has just checked them."""
    if verify:
        verify_manifest(directory, REQUIRED, may_lack=FOR_RESUMING)
    config, stored = parse_config(directory, classes)
    if verify:
        require_listed(directory, config.codec_files)
    return OpenBundle(config, config.load_codecs(directory), directory, stored)
