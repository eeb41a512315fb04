"""The settings of tokenisation. It knows no corpus and no tokeniser."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from regard.settings import Settings
from regard.text.normalise import Form
from regard.text.reserved import ReservedConfig

Kind = Literal["bpe", "unigram", "word", "char", "sentencepiece", "byte_bpe", "wordpiece"]
LEARNED: tuple[Kind, ...] = ("bpe", "unigram", "word", "char")
"""The kinds that are learned from text. The others come with a model that was imported."""
GROWTH = 2
"""The version of growing (`text/growing.py`): raise it when its output changes, or what it reads."""


class OneTextConfig(Settings):
    """The tokenisation of one language."""

    kind: Kind = "bpe"
    """The pieces of text: subwords by merging (bpe) or by pruning (unigram), words, characters; or those of an imported model."""
    vocabulary: int = Field(default=8000, ge=1)
    """Size of the vocabulary without padding; smaller if the corpus has too few pieces. Subwords need at least 300."""
    form: Form = "nfc"
    """The Unicode normalisation form of all text."""
    lowercase: bool = False
    """Lowercase all text."""
    character_coverage: float = Field(default=1.0, gt=0.0, le=1.0)
    """Share of the text whose characters get a piece of their own; rarer characters are spelled in bytes."""
    sample: int = Field(default=1_000_000, ge=1)
    """Sentences of each language to learn from; a longer corpus is sampled at random, always in the same way."""
    grow: int | None = Field(default=None, ge=0, le=1_000_000)
    """With train.start: learn up to so many pieces that the base lacks, and add the reserved ones; not given, its vocabulary is kept."""
    reserved: ReservedConfig = ReservedConfig()

    def key(self, *unused: str) -> dict[str, Any]:
        """A key that tells one encoding of a text from another. `unused`: settings that the caller does not use."""
        nothing = [*(() if self.reserved.names else ("reserved",)), *(() if self.grow is not None else ("grow",))]
        growth = {} if self.grow is None else {"growth": GROWTH}
        return {**self.model_dump(mode="json", exclude={*unused, *nothing}), **growth}


class TextConfig(OneTextConfig):
    """The tokenisation of a parallel corpus."""

    joint: bool = True
    """Whether both languages share one vocabulary."""
    dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """BPE-dropout: the probability of skipping a merge in training."""

    @model_validator(mode="after")
    def _dropout_needs_merges(self) -> Self:
        if self.dropout > 0 and self.kind != "bpe":
            raise ValueError(
                f"dropout = {self.dropout} skips merges and kind = {self.kind!r} has none; set kind = 'bpe'"
            )
        return self
