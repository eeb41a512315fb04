"""`TextObjective`: the common part of all training objectives, a prepared corpus with its tokenizers."""

from typing import Any, Protocol

from regard.text.build import TokenizerPair


class PreparedText(Protocol):
    """A corpus that is ready to train on."""

    @property
    def key(self) -> str:
        """The hash of the data files and of the settings that prepared them."""
        ...

    @property
    def tokenizers(self) -> TokenizerPair:
        """The tokenizers that encoded it."""
        ...


class TextObjective:
    """The properties of an objective that come from its corpus. The task sets `bundle`."""

    bundle: Any
    notes: tuple[str, ...] = ()
    """Remarks on the corpus for the user, told when training starts."""

    def __init__(self, prepared: PreparedText) -> None:
        self._prepared = prepared

    @property
    def key(self) -> str:
        """The hash of the prepared corpus."""
        return self._prepared.key

    @property
    def codecs(self) -> TokenizerPair:
        """The tokenizers, for the bundles of the run."""
        return self._prepared.tokenizers

    @property
    def vocabulary(self) -> tuple[int, ...]:
        """The sizes of the vocabularies."""
        return self.bundle.vocabulary.source, self.bundle.vocabulary.target
