"""`TextObjective`: the common part of all training objectives, a prepared corpus with its tokenizers."""

from typing import Any, Protocol

from regard.data.examples import ExampleSet
from regard.data.replayed import ReplayedExamples
from regard.errors import DataError
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
    examples: ExampleSet
    notes: tuple[str, ...] = ()
    """Remarks on the corpus for the user, told when training starts."""

    def __init__(self, prepared: PreparedText) -> None:
        self._prepared = prepared
        self._replayed: PreparedText | None = None

    @property
    def key(self) -> str:
        """The hash of the prepared corpus, and of text that is replayed."""
        return self._prepared.key if self._replayed is None else f"{self._prepared.key}-{self._replayed.key}"

    @property
    def codecs(self) -> TokenizerPair:
        """The tokenizers, for the bundles of the run."""
        return self._prepared.tokenizers

    def replay(self, name: str, prepared: PreparedText, old: ExampleSet, share: float) -> None:
        """Mix the examples of old text into those of the run. name: of the text, for the note."""
        if not len(old):
            raise DataError(f"{name}: no examples to replay; give a text that has some, or leave out data.replay")
        self._replayed = prepared
        self.examples = ReplayedExamples(self.examples, old, share)
        self.notes = (*self.notes, f"replay: {100 * share:g} % of each epoch is of {name}, {len(old):,} examples")

    @property
    def vocabulary(self) -> tuple[int, ...]:
        """The sizes of the vocabularies."""
        return self.bundle.vocabulary.source, self.bundle.vocabulary.target
