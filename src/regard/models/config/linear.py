"""The settings of models without hidden states: Markov chains and bags of words."""

from typing import Literal

from pydantic import Field, model_validator

from regard.models.config.base import ModelConfig


class MarkovConfig(ModelConfig):
    """A Markov model, fitted by counting: the tokens before decide how often each token comes next. Of [train], only samples matters."""

    kind: Literal["markov"] = "markov"
    """Which network."""
    order: int = Field(default=4, ge=1, le=16)
    """How many tokens before decide; the lectures' first and second order are 1 and 2, and 4 is a 5-gram."""
    skips: int = Field(default=0, ge=0, le=64)
    """With order 2: the last token makes a pair with each of so many tokens before it, and all pairs vote; 0: with the one before alone."""
    mask: float | None = Field(default=None, ge=0.0)
    """With skips: a pair votes only if it tells more than so many nats beyond its last token alone; without, all vote."""
    smoothing: Literal["kneser_ney", "none"] = "kneser_ney"
    """How probability is given to words that a context was not seen with; none: they get nothing, and an unseen context is made shorter."""

    @model_validator(mode="after")
    def _check_skips(self) -> "MarkovConfig":
        if self.skips and self.order != 2:
            raise ValueError(
                f"model.skips {self.skips} is for model.order 2, not {self.order}: pairs of two tokens vote"
            )
        if self.mask is not None and not self.skips:
            raise ValueError(f"model.mask {self.mask} chooses among the pairs of model.skips, which is 0; set it too")
        return self


class BagConfig(ModelConfig):
    """A bag of words, or of words and bigrams: a linear classifier that knows no order, or as much of it as two words tell."""

    kind: Literal["bag"] = "bag"
    """Which network."""
    ngrams: Literal[1, 2] = 1
    """1: single tokens; 2: pairs of neighbours too."""
    opening: int = Field(default=0, ge=0, le=8)
    """The first token, the first two, .. the first so many together are features too: how a text begins."""
    weighting: Literal["counts", "tfidf", "bayes"] = "counts"
    """How often a token occurs; times the logarithm of how rare it is among texts; or times how much more probable a label makes it."""
    binary: bool = False
    """Count a feature once, however often a text has it."""
    buckets: int = Field(default=2**20, ge=1, le=10_000_000)
    """Places for bigrams and openings; of those that share one, the first in the training texts has it."""
    dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of features left out in training."""

    @property
    def width(self) -> int:
        """It has no hidden states."""
        return 1
