"""Opens a bundle without its weights: verifies it, reads its config and codecs. No torch, for a fast start of other engines.

The weights are compared with the config by their header, where that needs no torch; `bundle.read_network` compares all others.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bundle.adapter import ADAPTER, ADAPTER_WEIGHTS, is_adapter
from regard.bundle.adapter_base import find_base
from regard.bundle.config import CONFIG, BundleSettings, parse_config
from regard.bundle.manifest import Manifest, open_manifest
from regard.bundle.weights import WEIGHTS, check_weights
from regard.errors import BundleError
from regard.text.build import TokenizerPair

REQUIRED = (WEIGHTS, CONFIG)
OPTIMISER_FILE, STATE_FILE = "optimiser.safetensors", "state.json"
FOR_RESUMING = (OPTIMISER_FILE, STATE_FILE)
"""The files that a checkpoint has beside its bundle. A model that is only used may come without them."""


def required_files(files: Manifest) -> tuple[str, ...]:
    """The files that every bundle has beside those of its codecs."""
    return (ADAPTER_WEIGHTS, ADAPTER, CONFIG) if is_adapter(files) else REQUIRED


@dataclass(frozen=True)
class OpenBundle:
    """A bundle without its network."""

    config: Any
    """The `BundleSettings` of its task."""
    codecs: Any
    """The codecs of the task, which convert data to tensors and back: tokenizers."""
    files: Manifest
    """Its files with their SHA-256s: everything is read through it."""
    stored_format: int = 2
    """The format of the files; `config` is always in the newest format."""
    given: Path | None = None
    """The path that the user gave: the bundle, or the run that it is the best checkpoint of. None: the bundle."""

    base: "OpenBundle | None" = None
    """Of an adapter bundle: the model that it adds to."""

    @property
    def directory(self) -> Path:
        """The directory of the bundle."""
        return self.files.directory

    @property
    def name(self) -> str:
        """The name to show for the model: that of the run or bundle that the user gave."""
        return (self.given or self.directory).resolve().name

    @property
    def tokenizers(self) -> TokenizerPair:
        """The codecs of a text task."""
        assert isinstance(self.codecs, TokenizerPair), f"{self.directory} has no tokenizers"
        return self.codecs


def parse_bundle(
    directory: Path,
    classes: Mapping[str, type[BundleSettings]],
    verify: bool = True,
    hashed_when_read: Collection[str] = (),
    base: Path | None = None,
) -> OpenBundle:
    """The bundle in `directory`; `verify=False` checks the hashes of config and codecs only, which are read now.

    hashed_when_read: files that the caller reads next, as in `Manifest.verify`.
    base: where the base of an adapter is, in place of the path that the adapter names.
    """
    files = open_manifest(directory)
    if verify:
        files.verify(required_files(files), may_lack=FOR_RESUMING, hashed_when_read=hashed_when_read)
    config, stored = parse_config(files, classes)
    files.require(config.codec_files)
    codecs = config.load_codecs(files)
    if config.counted or config.shapes() is not None:
        check_weights(files, config, stored)
    if not is_adapter(files):
        if base is not None:
            raise BundleError(f"{directory}: no adapter, but a whole bundle; leave out --base {base}")
        return OpenBundle(config, codecs, files, stored)
    found = parse_bundle(find_base(files, base), classes, verify, hashed_when_read)
    return OpenBundle(config, codecs, files, stored, base=found)
