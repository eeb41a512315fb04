"""The objectives of pretraining: their settings, the pieces they need and their corrupters, in one table. It opens no file.

An objective corrupts a text, and the model says what stood there. `networks` names the kinds of network (`model.kind`) that can learn it.
"""

from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, model_validator

from regard.settings import Settings
from regard.text.reserved import Reserved, ReservedConfig

if TYPE_CHECKING:
    from regard.data.corruption import Corrupter
    from regard.text.vocabulary import Vocabulary

SENTINELS = 32
"""Sentinels that are reserved for span corruption, if no text needs more."""


class ObjectiveConfig(Settings):
    """The settings of an objective."""

    networks: ClassVar[tuple[str, ...]]
    """The kinds of network that can learn it; the first is the default."""
    in_place: ClassVar[bool] = False
    """Whether the outputs stand at the places of what is read, instead of being a text of their own."""
    summary: ClassVar[str]
    """What the model does, for messages."""

    @property
    def name(self) -> str:
        """Its name in `OBJECTIVES`."""
        return str(type(self).model_fields["kind"].default)

    def needs(self, longest: int) -> ReservedConfig:
        """The pieces that are reserved for it. longest: of a text, in tokens."""
        return ReservedConfig()

    def complaint(self, reserved: Reserved, longest: int) -> str | None:
        """A message on pieces that a vocabulary lacks, with the fix; None: it lacks nothing."""
        return None

    def corrupter(self, vocabulary: "Vocabulary") -> "Corrupter":
        """The corrupter of the texts."""
        raise NotImplementedError


class MaskObjective(ObjectiveConfig):
    """Masked tokens (BERT): the model says what stood at some places of a text, from both sides."""

    networks: ClassVar[tuple[str, ...]] = ("encoder",)
    in_place: ClassVar[bool] = True
    summary: ClassVar[str] = "fills masked places of what it reads, from both sides"

    kind: Literal["mask"] = "mask"
    """How texts are corrupted."""
    rate: float = Field(default=0.15, gt=0.0, lt=1.0)
    """Share of tokens that are predicted."""
    masked: float = Field(default=0.8, ge=0.0, le=1.0)
    """Of these, the share that becomes the mask."""
    random: float = Field(default=0.1, ge=0.0, le=1.0)
    """Of these, the share that becomes a random piece; the rest stays."""
    whole_words: bool = False
    """Whether all pieces of a word are predicted together."""

    @model_validator(mode="after")
    def _check_shares(self) -> Self:
        if self.masked + self.random > 1.0:
            raise ValueError(
                f"objective.masked = {self.masked} and objective.random = {self.random} are more than all; lower one of them"
            )
        return self

    def needs(self, longest: int) -> ReservedConfig:
        return ReservedConfig(mask=True)

    def complaint(self, reserved: Reserved, longest: int) -> str | None:
        return _without_mask(self, reserved)

    def corrupter(self, vocabulary: "Vocabulary") -> "Corrupter":
        from regard.data.corruption import Masking, Pieces

        return Masking(Pieces.of(vocabulary), self.rate, self.masked, self.random, self.whole_words)


class DenoiseObjective(ObjectiveConfig):
    """Denoising (BART): the model writes the text that it reads corrupted."""

    networks: ClassVar[tuple[str, ...]] = ("transformer", "recurrent", "prefix")
    summary: ClassVar[str] = "writes the text that it reads corrupted"

    kind: Literal["denoise"] = "denoise"
    """How texts are corrupted."""
    infilling: float = Field(default=0.3, ge=0.0, lt=1.0)
    """Share of tokens in spans, each of which one mask replaces."""
    mean_span: float = Field(default=3.0, ge=1.0, le=100.0)
    """Mean length of these spans (Poisson); an empty one puts a mask between two tokens."""
    deletion: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of tokens that are deleted without a trace."""
    permutation: float = Field(default=1.0, ge=0.0, le=1.0)
    """Share of texts whose sentences are put in random order."""

    @model_validator(mode="after")
    def _corrupts(self) -> Self:
        if not self.infilling and not self.deletion and not self.permutation:
            raise ValueError(
                "objective.infilling, objective.deletion and objective.permutation are all 0, so nothing is corrupted; raise one of them"
            )
        return self

    def needs(self, longest: int) -> ReservedConfig:
        return ReservedConfig(mask=True)

    def complaint(self, reserved: Reserved, longest: int) -> str | None:
        return _without_mask(self, reserved) if self.infilling else None

    def corrupter(self, vocabulary: "Vocabulary") -> "Corrupter":
        from regard.data.corruption import Denoising, Pieces

        return Denoising(Pieces.of(vocabulary), self.infilling, self.mean_span, self.deletion, self.permutation)


class SpanObjective(ObjectiveConfig):
    """Span corruption (T5): each span becomes a sentinel, and the model writes the sentinels with what stood there."""

    networks: ClassVar[tuple[str, ...]] = ("transformer", "recurrent", "prefix")
    summary: ClassVar[str] = "writes the spans that are missing from what it reads"

    kind: Literal["span"] = "span"
    """How texts are corrupted."""
    rate: float = Field(default=0.15, gt=0.0, lt=1.0)
    """Share of tokens in missing spans."""
    mean_span: float = Field(default=3.0, ge=1.0, le=100.0)
    """Mean length of a span."""

    def sentinels(self, longest: int) -> int:
        """The most sentinels of a text of at most so many tokens."""
        from regard.data.corruption import span_counts

        return int(span_counts(longest, self.rate, self.mean_span)[1]) + 1

    def needs(self, longest: int) -> ReservedConfig:
        return ReservedConfig(sentinels=max(SENTINELS, self.sentinels(longest)))

    def complaint(self, reserved: Reserved, longest: int) -> str | None:
        needed, there = self.sentinels(longest), len(reserved.sentinels)
        if needed <= there:
            return None
        return (
            f"objective 'span' needs {needed} sentinels for texts of data.max_length = {longest} tokens, and the vocabulary has {there}; "
            f"lower data.max_length, or reserve more in a new vocabulary (text.reserved.sentinels = {needed})"
        )

    def corrupter(self, vocabulary: "Vocabulary") -> "Corrupter":
        from regard.data.corruption import Pieces, SpanCorruption

        return SpanCorruption(Pieces.of(vocabulary), self.rate, self.mean_span)


class PrefixObjective(ObjectiveConfig):
    """A prefix language model: a text is split at a random place, and the model reads the first part and writes the rest."""

    networks: ClassVar[tuple[str, ...]] = ("prefix", "transformer", "recurrent")
    summary: ClassVar[str] = "goes on with a text of which it reads the beginning from both sides"

    kind: Literal["prefix"] = "prefix"
    """How texts are corrupted."""

    def corrupter(self, vocabulary: "Vocabulary") -> "Corrupter":
        from regard.data.corruption import Splitting

        return Splitting()


def _without_mask(objective: ObjectiveConfig, reserved: Reserved) -> str | None:
    if reserved.mask is not None:
        return None
    return (
        f"objective {objective.name!r} needs a mask, and the vocabulary has none; "
        "add it with text.grow = 0, start from a model whose vocabulary has one (text.reserved.mask = true), "
        "or train without train.start"
    )


OBJECTIVES: dict[str, type[ObjectiveConfig]] = {
    "mask": MaskObjective,
    "denoise": DenoiseObjective,
    "span": SpanObjective,
    "prefix": PrefixObjective,
}
"""The objectives by name; the first is the default."""


def objectives_of(network: str) -> list[str]:
    """The objectives that a kind of network can learn, first those whose default it is."""
    fitting = [name for name, objective in OBJECTIVES.items() if network in objective.networks]
    return sorted(fitting, key=lambda name: OBJECTIVES[name].networks[0] != network)
