"""The settings of the task `translate`: of a run, and of the config.json of its bundles."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from regard.bundle.config import CONFIG, AlignmentConfig, TextBundleSettings
from regard.bundle.manifest import MEND, Manifest
from regard.data.config import PairData
from regard.data.placeholders import RESERVED
from regard.errors import BundleError
from regard.models.config import TRANSLATORS, ModelConfig, TransformerBase, TransformerConfig
from regard.models.shapes import Shapes, translator_shapes
from regard.settings import Choice
from regard.tasks.aligned_head import AlignedHead, AlignedTrainConfig, aligned_head, check_alignment
from regard.tasks.checks import check_copies, check_kind, check_positions, check_replay, check_select
from regard.tasks.translate.directions import DirectionConfig, common_languages, merged_directions
from regard.tasks.translate.output_length import LARGEST_FACTOR, OutputLength, widest
from regard.text.build import TokenizerPair
from regard.text.config import TextConfig
from regard.text.reserved import MOST, language_name
from regard.training.config import RunSettings

if TYPE_CHECKING:
    from torch import nn


class TranslateSettings(RunSettings):
    """A run that translates."""

    task: Literal["translate"] = "translate"
    """The purpose of the model: to translate, to generate or classify text, or to forecast series."""
    data: PairData = PairData()
    text: TextConfig = TextConfig()
    model: Annotated[ModelConfig, Choice(TRANSLATORS)] = TransformerConfig()
    train: AlignedTrainConfig = AlignedTrainConfig()

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        check_kind(self.model, TRANSLATORS, self.task)
        check_select(self.train.select, self.task)
        check_replay(self.data.replay, self.train.start)
        tag = ["a language tag"] if self.data.several_directions else []
        check_positions(self.model.reach, self.data.max_length, [*tag, "an end mark"])
        if self.model.needs_joint_vocabulary and not self.text.joint:
            kind = getattr(self.model, "kind", type(self.model).__name__)
            why = "model.copy = true copies" if self.model.copies else f"model.kind {kind!r} has one embedding"
            of = "pieces of the source into the target" if self.model.copies else "for both languages"
            raise ValueError(f"text.joint false gives two vocabularies, but {why} {of}; set text.joint = true")
        check_copies(self.model, self.train.consistency)
        return self

    @model_validator(mode="after")
    def _reserve_tags(self) -> Self:
        """Reserve a tag for each target language, where there are several directions."""
        reserved = self.text.reserved
        targets = dict.fromkeys(target for _, target in self.data.several_directions)
        missing = [language for language in targets if language not in reserved.languages]
        if missing:
            reserved = reserved.model_copy(update={"languages": (*reserved.languages, *missing)})
            # frozen, but not handed out yet
            object.__setattr__(self, "text", self.text.model_copy(update={"reserved": reserved}))
        return self

    @model_validator(mode="after")
    def _reserve_placeholders(self) -> Self:
        """Reserve placeholders, where training pairs get some and the settings say nothing."""
        reserved = self.text.reserved
        if self.data.placeholders is not None and self.train.start is None and not reserved.placeholders:
            reserved = reserved.model_copy(update={"placeholders": RESERVED})
            # frozen, but not handed out yet
            object.__setattr__(self, "text", self.text.model_copy(update={"reserved": reserved}))
        return self

    @model_validator(mode="after")
    def _check_alignments(self) -> Self:
        given = self.data.alignments is not None
        check_alignment(self.train, "data.alignments", given, self.model.cross_attention_layers)
        return self

    @property
    def aligned_head(self) -> AlignedHead | None:
        """The supervised alignment head, or None.

        A recurrent model has one head, which attends before the token is read: there is no shift.
        """
        given, shift = self.data.alignments is not None, isinstance(self.model, TransformerBase)
        return aligned_head(self.train, given, self.model.cross_attention_layers, shift=shift)


class TranslateBundle(TextBundleSettings):
    """The config.json of a translator's bundle."""

    task: Literal["translate"] = "translate"
    model: Annotated[ModelConfig, Choice(TRANSLATORS)]
    """The network."""
    alignment: AlignmentConfig | None = None
    """How alignments are read off the attention; the mean of all layers if not given."""
    characters_per_piece: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Mean characters of a source piece in the validation text. Input with far fewer is not like the training text."""

    output_per_source: int | None = Field(default=None, ge=1, le=LARGEST_FACTOR)
    """The longest output in multiples of its source, where the training text has longer ones than are usual; None: the usual."""

    output_most: int | None = Field(default=None, ge=1)
    """The limit of that in tokens, a little above the longest output of training; None: there is none."""

    directions: tuple[DirectionConfig, ...] = ()
    """The directions that a model of several was trained in. Their target languages have tags in the vocabulary."""

    placeholders: int = Field(default=0, ge=0, le=MOST)
    """How many placeholder pieces the model has learned to carry over, the first of its vocabularies."""

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The values without those that most models lack: several directions, longer outputs, placeholders."""
        values: dict[str, Any] = write(self)
        if not self.directions:
            values.pop("directions", None)
        if self.output_per_source is None:
            values.pop("output_per_source", None)
        if self.output_most is None:
            values.pop("output_most", None)
        if not self.placeholders:
            values.pop("placeholders", None)
        return values

    @model_validator(mode="after")
    def _check_alignment(self) -> Self:
        layers = self.model.cross_attention_layers
        for layer in [] if self.alignment is None else self.alignment.layers:
            if layer >= layers:
                raise ValueError(f"alignment.layer {layer} is not among the {layers} decoder layers that attend")
        most = self.model.heads if isinstance(self.model, TransformerBase) else 1
        for _, head in (self.alignment and self.alignment.heads) or ():
            if head >= most:
                raise ValueError(f"alignment.heads names head {head}, which is not among the {most} heads of a layer")
        return self

    @model_validator(mode="after")
    def _check_vocabulary(self) -> Self:
        sizes = self.vocabulary
        if self.model.needs_joint_vocabulary and not (sizes.joint and sizes.source == sizes.target):
            raise ValueError(
                f"vocabulary: {sizes.source} and {sizes.target} pieces, joint {sizes.joint}; "
                f"this network {'copies pieces' if self.model.copies else 'has one table for both languages'}"
            )
        return self

    @property
    def aligns(self) -> bool:
        """Whether the network has attention to the source, which word alignment needs."""
        return self.model.cross_attention_layers > 0

    def network(self) -> "nn.Module":
        from regard.models.build import build_translator

        sizes = self.vocabulary
        return build_translator(self.model, sizes.source, sizes.target, sizes.joint)

    def shapes(self) -> Shapes | None:
        sizes = self.vocabulary
        return translator_shapes(self.model, sizes.source, sizes.target, sizes.joint)

    @property
    def longest_output(self) -> OutputLength | None:
        """How long an output may be; None: as long as is usual."""
        return None if self.output_per_source is None else OutputLength(self.output_per_source, self.output_most)

    @property
    def direction_names(self) -> tuple[str, ...]:
        """Its several directions in words."""
        return tuple(f"{one.source} -> {one.target}" for one in self.directions)

    def load_codecs(self, files: Manifest) -> TokenizerPair:
        tokenizers = super().load_codecs(files)
        tags = tokenizers.source.vocabulary.reserved.languages
        missing = next((one.target for one in self.directions if one.target not in tags), None)
        if missing is not None:
            raise BundleError(
                f"{files.directory / CONFIG}: directions: the vocabulary has no piece {language_name(missing)!r}; "
                f"they are of different models; {MEND}"
            )
        return tokenizers

    def inherited(self, base: Self) -> Self:
        """This config with the languages of the base model, and with its alignment settings if there are none here."""
        inherited = super().inherited(base)
        longest = widest((self.longest_output, base.longest_output))
        changes: dict[str, Any] = {
            "alignment": self.alignment or base.alignment,
            "output_per_source": None if longest is None else longest.per_source,
            "output_most": None if longest is None else longest.most,
            "placeholders": max(self.placeholders, base.placeholders),
        }
        if self.directions:
            changes["directions"] = merged_directions(base.directions, self.directions)
            changes["languages"] = common_languages(one.pair for one in changes["directions"])
        return inherited.model_copy(update=changes)

    def settles(self, codecs: Any) -> dict[str, dict[str, Any]]:
        return {"data": {}, **super().settles(codecs)}
