"""One run, as a tree of settings: what data, what text, what model, what training."""

import re
from typing import Any, Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from regard.data.config import DataConfig
from regard.models.config import KINDS, PRESETS, ModelConfig, Task, TransformerConfig
from regard.settings import Settings
from regard.text.config import TextConfig

ALIGNMENT_WEIGHT = 0.05  # as Garg et al. 2019
RATES = {"muon": 8e-3, "adamw": 1e-3, "adam": 1e-3, "sgd": 1.0}
"""The learning rate that suits each optimiser, where none is given. Noam's schedule has one of its own in its formula."""


class AlignedHead(NamedTuple):
    """The first head of a decoder layer, and whether a token's row is that of the step that read it or of the step that chose it."""

    layer: int
    said: bool


class TrainConfig(Settings):
    """How a model is trained. The defaults are what trained best in the time given; the recipe of 2017 is `--recipe 2017`."""

    seed: int = Field(default=1, ge=0, le=2**31 - 1)
    """Decides the initial weights, the order of batches and every dropout."""
    start: str | None = None
    """A run or a bundle to train further (fine-tuning): its weights, vocabulary and model, but for the dropout; not given, from nothing."""
    batch_tokens: int = Field(default=1024, ge=1)
    """Tokens in a batch, padding included, on its longer side."""
    accumulate: int = Field(default=1, ge=1)
    """Batches whose gradients are added up for one step."""
    max_steps: int | None = Field(default=None, ge=1)
    """Stop after so many steps; such a run can be killed and resumed bit for bit."""
    max_epochs: float | None = Field(default=None, gt=0)
    """Stop after so many passes over the data; 20 where no limit is given."""
    minutes: float | None = Field(default=None, gt=0)
    """Stop after so many minutes of training, preparation, validation and pauses not counted."""
    optimizer: Literal["muon", "adamw", "adam", "sgd"] = "muon"
    """What turns gradients into steps; with muon, vectors and embeddings are left to adamw."""
    learning_rate: float = Field(default=RATES["muon"], gt=0)
    """The highest learning rate; not given, it is 8e-3 with muon, 1e-3 with adam and adamw, 1 with sgd and as the factor of noam."""
    adamw_factor: float = Field(default=3.0, gt=0)
    """With muon: the learning rate of what it leaves to adamw, as a factor of its own."""
    momentum: float = Field(default=0.95, ge=0, lt=1)
    """For muon and sgd."""
    beta1: float = Field(default=0.9, ge=0, lt=1)
    """For adam and adamw: memory of the gradient's mean."""
    beta2: float = Field(default=0.98, ge=0, lt=1)
    """For adam and adamw: memory of the gradient's square."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Decay of weights: decoupled and of matrices only with muon and adamw, added to every gradient with adam and sgd."""
    schedule: Literal["linear", "cosine", "inverse_sqrt", "noam", "constant"] = "linear"
    """How the learning rate falls after the warm-up; linear and cosine reach zero at the end of the run."""
    warmup: int = Field(default=200, ge=0)
    """Steps in which the learning rate rises from zero, though never more than a fifth of the run."""
    clip: float = Field(default=1.0, ge=0)
    """Longest gradient allowed; 0 allows any."""
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Share of probability given to all tokens alike."""
    consistency: float = Field(default=0.0, ge=0)
    """R-Drop: what it costs a network to disagree with itself under another dropout; each batch is then read twice. 0 reads it once."""
    consistency_from: float = Field(default=0.0, ge=0, lt=1)
    """The share of the run after which batches are read twice; before, nothing is overfitted yet and one reading is half the work."""
    alignment_weight: float = Field(default=ALIGNMENT_WEIGHT, ge=0)
    """With data.alignments: what it costs a head of attention, of each target token, to look elsewhere than they say; 0 lets it."""
    alignment_layer: int | None = Field(default=None, ge=0)
    """With data.alignments: the decoder layer, from 0, whose first head is trained towards them; not given, the last but one."""
    ema: float = Field(default=0.0, ge=0, lt=1)
    """Decay of the moving average of the weights that is validated and kept; 0 turns it off."""
    average: int = Field(default=0, ge=0)
    """At the end, try the mean of the last so many checkpoints; 0 turns it off."""
    validate_every: int = Field(default=1000, ge=1)
    """Steps between two validations."""
    save_every: int = Field(default=1000, ge=1)
    """Steps between two checkpoints."""
    keep: int = Field(default=3, ge=1)
    """Newest checkpoints kept; the best one is kept beside them."""
    patience: int = Field(default=0, ge=0)
    """Stop after so many validations in a row without improvement; 0 never does."""
    select: Literal["auto", "bleu", "loss"] = "auto"
    """What makes a checkpoint the best; auto is bleu, or loss where fewer than 100 validation sentences would make it noise."""
    samples: int = Field(default=4, ge=0)
    """Validation sentences whose translation is shown at each validation."""
    diagnose_every: int = Field(default=0, ge=0)
    """Steps between two looks at the gradient, weights and update of each part of the network; 0 never looks."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:N or mps; CUDA computes in bfloat16 where that is safe."""

    @model_validator(mode="before")
    @classmethod
    def _fill_rate(cls, values: Any) -> Any:
        if isinstance(values, dict) and "learning_rate" not in values:
            rate = 1.0 if values.get("schedule") == "noam" else RATES.get(str(values.get("optimizer", "muon")))
            return values if rate is None else {**values, "learning_rate": rate}
        return values

    @field_validator("device")
    @classmethod
    def _check_device(cls, value: str) -> str:
        if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", value):
            raise ValueError("no such device; use auto, cpu, cuda, cuda:N or mps")
        return value

    @model_validator(mode="after")
    def _check(self) -> "TrainConfig":
        if self.average > self.keep:
            raise ValueError(
                f"train.average {self.average} needs train.keep of at least {self.average}, not {self.keep}"
            )
        return self

    @property
    def epochs(self) -> float | None:
        """The limit in epochs, which is the default limit."""
        return 20.0 if self.max_steps is self.max_epochs is self.minutes is None else self.max_epochs


_PAIRS = ("src", "tgt", "pairs", "valid_src", "valid_tgt", "valid_pairs", "test_src", "test_tgt", "alignments")
_TEXTS = ("text", "valid_text", "test_text", "documents")
_LABELLED = ("labelled", "valid_labelled", "test_labelled", "labels_of")
_SOURCE = ("encoder_layers", "encoder_width", "encoder", "input_feeding", "bidirectional", "kernel")
MEANINGLESS: dict[Task, tuple[str, ...]] = {
    "translate": (*(f"data.{name}" for name in (*_TEXTS, *_LABELLED)), "model.pooling"),
    "classify": (
        *(f"data.{name}" for name in (*_PAIRS, *_TEXTS)),
        *(f"model.{name}" for name in ("decoder_layers", "input_feeding")),
        *("text.joint", "text.dropout"),
    ),
    "generate": (
        *(f"data.{name}" for name in _LABELLED),
        "model.pooling",
        *(f"data.{name}" for name in _PAIRS),
        *(f"model.{name}" for name in _SOURCE),
        *("text.joint", "text.dropout"),
    ),
}
"""Settings that a task does not look at."""

LOOKING = tuple(f"model.{name}" for name in ("attention", "score", "score_width", "max_positions"))
"""Settings of how a recurrent decoder looks at a source, which only translating has."""


class RunConfig(Settings):
    """Everything that makes a run what it is."""

    task: Task = "translate"
    """What the model is for: to translate pairs, to generate text, or to classify it."""
    data: DataConfig = DataConfig()
    text: TextConfig = TextConfig()
    model: ModelConfig = TransformerConfig()
    train: TrainConfig = TrainConfig()

    @model_validator(mode="after")
    def _check_task(self) -> "RunConfig":
        if self.model.kind not in KINDS[self.task]:
            able = " or ".join(repr(kind) for kind in KINDS[self.task])
            raise ValueError(f"model.kind {self.model.kind!r} cannot do task {self.task!r}; set model.kind to {able}")
        groups = {"data": self.data, "text": self.text, "model": self.model, "train": self.train}
        blind = self.model.kind == "recurrent" and self.task != "translate"
        for name in (*MEANINGLESS[self.task], *(LOOKING if blind else ())):
            group, _, key = name.partition(".")
            fields = type(groups[group]).model_fields
            if key in fields and getattr(groups[group], key) != fields[key].default:
                setter = name
                if isinstance(self.model, TransformerConfig) and key in PRESETS["transformer"][self.model.preset]:
                    setter = f"model.preset {self.model.preset!r}, which sets {name},"
                kind = " of a recurrent network, which has no source to look at" if name in LOOKING else ""
                fitting = [task for task, settings in MEANINGLESS.items() if name not in settings]
                other = " or ".join(map(repr, ["translate"] if name in LOOKING else fitting))
                raise ValueError(
                    f"{setter} has no meaning for task {self.task!r}{kind}; leave it out, or set task to {other}"
                )
        if self.task != "translate" and self.train.select == "bleu":
            raise ValueError(f"train.select 'bleu' is for translations, not for task {self.task!r}; leave it out")
        return self

    @model_validator(mode="after")
    def _check_data(self) -> "RunConfig":
        if self.task == "generate" and self.data.text is None:
            raise ValueError("task 'generate' needs a text to learn from; give data.text, or --text FILE")
        if self.task == "classify" and self.data.labelled is None:
            raise ValueError(
                "task 'classify' needs labelled texts to learn from; give data.labelled, or --data FILE.tsv"
            )
        return self

    @model_validator(mode="after")
    def _check_alignments(self) -> "RunConfig":
        layer, layers = self.train.alignment_layer, self.model.looking_layers
        without = self.data.alignments is None
        if without and layer is not None:
            raise ValueError(f"train.alignment_layer {layer} is for data.alignments; give them, or leave it out")
        if without and self.train.alignment_weight != ALIGNMENT_WEIGHT:
            raise ValueError(
                f"train.alignment_weight {self.train.alignment_weight} is for data.alignments; give them, or leave it out"
            )
        if layer is not None and not self.train.alignment_weight:
            raise ValueError(
                f"train.alignment_layer {layer} has no meaning with train.alignment_weight 0; leave one of them out"
            )
        if self.data.alignments is not None and not layers:
            raise ValueError(
                "data.alignments train attention, of which this model has none; set model.attention = true"
            )
        if layer is not None and layer >= layers:
            raise ValueError(
                f"train.alignment_layer {layer} is not among the {layers} decoder layers that attend, counted from 0; "
                "choose a smaller one"
            )
        return self

    @property
    def aligned_head(self) -> AlignedHead | None:
        """The head that is trained towards given alignments; None: none is.

        The only head of a recurrent model makes the context that a token is chosen by, and looks before that token is read.
        """
        if self.data.alignments is None or not self.train.alignment_weight:
            return None
        given = self.train.alignment_layer
        layer = max(0, self.model.looking_layers - 2) if given is None else given
        return AlignedHead(layer, said=self.model.kind == "transformer")

    @model_validator(mode="after")
    def _check_tagging(self) -> "RunConfig":
        if self.data.labels_of != "token":
            return self
        if self.model.kind == "bag":
            raise ValueError(
                "model.kind 'bag' has no order, so data.labels_of 'token' asks too much; choose 'recurrent' or 'transformer'"
            )
        if isinstance(self.model, TransformerConfig) and self.model.pooling != "mean":
            raise ValueError(
                f"model.pooling {self.model.pooling!r} has no meaning for data.labels_of 'token', where nothing is pooled; leave it out"
            )
        return self

    @model_validator(mode="after")
    def _check_positions(self) -> "RunConfig":
        marks = ["an end mark"]
        if isinstance(self.model, TransformerConfig) and self.model.pooling == "class":
            marks.append("a class token")
        if self.model.reach is not None and self.model.reach < self.data.max_length + len(marks):
            raise ValueError(
                f"model.max_positions {self.model.reach} is shorter than the longest example, data.max_length "
                f"{self.data.max_length} and {' and '.join(marks)}; raise the one or lower the other"
            )
        return self
