"""The settings of tokenisation, and which of them go together. Knows no corpus and no tokeniser."""

from typing import Literal, Self

from pydantic import Field, model_validator

from regard.settings import Settings
from regard.text.normalise import Form

Kind = Literal["bpe", "unigram", "word", "char"]


class TextConfig(Settings):
    """How text becomes ids."""

    kind: Kind = "bpe"
    """How text is cut: subwords by merging (bpe) or by pruning (unigram), words between spaces, or characters."""
    vocabulary: int = Field(default=8000, ge=1)
    """Pieces wanted, the padding not counted; fewer where the corpus cannot give so many. Subwords start at 300."""
    joint: bool = True
    """One vocabulary for both languages, or one for each."""
    form: Form = "nfc"
    """The Unicode normalisation form of all text."""
    lowercase: bool = False
    """Lowercase all text."""
    dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """BPE-dropout: the probability with which a merge is skipped in training."""
    character_coverage: float = Field(default=1.0, gt=0.0, le=1.0)
    """The share of the corpus's characters with a piece of their own; rarer ones are spelled in bytes."""
    sample: int = Field(default=1_000_000, ge=1)
    """Sentences of each language to learn from; of a longer corpus a random sample, the same every time."""

    @model_validator(mode="after")
    def _dropout_needs_merges(self) -> Self:
        if self.dropout > 0 and self.kind != "bpe":
            raise ValueError(
                f"dropout = {self.dropout} skips merges and kind = {self.kind!r} has none; set kind = 'bpe'"
            )
        return self
