"""Settings: `TrainConfig` for the training loop, and `RunSettings`, the base of every task's settings."""

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from regard.models.config import ModelConfig
from regard.settings import OneOf, Settings
from regard.training.lora_config import LoraConfig

RATES = {"muon": 8e-3, "adamw": 1e-3, "adam": 1e-3, "sgd": 1.0}
"""The default learning rate of each optimiser. The schedule `noam` has its own default, 1."""

FINE_TUNING = {"warmup": 100, "full_warmup": True}
"""Other defaults of fine-tuning: a run too short for the whole warm-up stays at low rates, and does not damage its base."""


class TrainConfig(Settings):
    """The settings of training. The defaults trained best in our experiments; `--recipe 2017` is the recipe of Vaswani et al. 2017."""

    seed: int = Field(default=1, ge=0, le=2**31 - 1)
    """Decides the initial weights, the order of batches and every dropout."""
    start: str | None = None
    """A run or a bundle to start from: its vocabulary, its settings of the model and the weights that fit; not given, from nothing."""
    freeze: tuple[str, ...] = ()
    """Parts of the network that training leaves as they are, such as embedding, encoder, encoder.0, norm or head."""
    layer_decay: float = Field(default=1.0, gt=0, le=1)
    """The rate of each block, as a factor of that of the block above it; the embeddings have the lowest. 1: the same for all."""
    batch_tokens: int = Field(default=1024, ge=1)
    """Tokens in a batch, padding included, on its longer side."""
    accumulate: int = Field(default=1, ge=1)
    """Gradient accumulation: batches whose gradients are added up for one step."""
    max_steps: int | None = Field(default=None, ge=1)
    """Stop after so many steps; such a run can be killed and resumed bit for bit."""
    max_epochs: float | None = Field(default=None, gt=0)
    """Stop after so many passes over the data; 20 where no limit is given."""
    minutes: float | None = Field(default=None, gt=0)
    """Stop after so many minutes of training, preparation, validation and pauses not counted."""
    optimizer: Annotated[str, OneOf(RATES)] = "muon"
    """The optimiser: muon, adamw, adam or sgd. With muon, vectors and embeddings are left to adamw."""
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
    """Steps in which the learning rate rises from zero; not given, 200, or in fine-tuning 100."""
    full_warmup: bool = False
    """Whether the warm-up may take more than a fifth of the run; not given, true in fine-tuning without a learning_rate or warmup."""
    clip: float = Field(default=1.0, ge=0)
    """Longest gradient allowed; 0 allows any."""
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Share of probability given to all tokens alike."""
    consistency: float = Field(default=0.0, ge=0)
    """R-Drop: what it costs a network to disagree with itself under another dropout; each batch is then read twice. 0 reads it once."""
    consistency_from: float = Field(default=0.0, ge=0, lt=1)
    """The share of the run after which batches are read twice; before, nothing is overfitted yet and one reading is half the work."""
    ema: float = Field(default=0.0, ge=0, lt=1)
    """Decay of the exponential moving average of the weights, which is then validated and saved; 0 turns it off."""
    average: int = Field(default=0, ge=0)
    """At the end, try the mean of the last so many checkpoints; 0 turns it off."""
    validate_every: int = Field(default=1000, ge=1)
    """Steps between two validations."""
    save_every: int = Field(default=1000, ge=1)
    """Steps between two checkpoints."""
    keep: int = Field(default=3, ge=1)
    """Newest checkpoints kept; the best one is kept beside them."""
    patience: int = Field(default=0, ge=0)
    """Early stopping: stop after so many validations in a row without improvement; 0 turns it off."""
    select: str = "auto"
    """The number that makes a checkpoint the best: loss, or a score of the task. auto: bleu (from 100 sentences on), accuracy or loss."""
    samples: int = Field(default=4, ge=0)
    """Validation examples whose output is shown at each validation."""
    diagnose_every: int = Field(default=0, ge=0)
    """Steps between two looks at the gradient, weights and update of each part of the network; 0 never looks."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:N or mps."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """The type of matrix products; weights, norms and the loss stay in float32. auto: bfloat16 where it was measured to be faster."""
    lora: LoraConfig | None = None
    """A table [train.lora]: train low-rank additions to the maps of a base, in place of all its weights; optimizer is then adamw."""

    @model_validator(mode="before")
    @classmethod
    def _fill_rate(cls, values: Any) -> Any:
        """Fill in the learning rate of the optimiser and, in fine-tuning, the warm-up. What is given stays as it is."""
        if isinstance(values, dict) and values.get("lora") is not None:
            values = {"optimizer": "adamw", **values}  # which moves A and B as their authors did
        if not isinstance(values, dict) or "learning_rate" in values:
            return values
        noam = values.get("schedule") == "noam"
        if values.get("start") is not None and "warmup" not in values and not noam:
            values = {**FINE_TUNING, **values}
        rate = 1.0 if noam else RATES.get(str(values.get("optimizer", "muon")))
        return values if rate is None else {**values, "learning_rate": rate}

    @field_validator("freeze", mode="before")
    @classmethod
    def _listed_parts(cls, value: Any) -> Any:
        """One part, or several with commas between them, may be given as one text."""
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("device")
    @classmethod
    def _check_device(cls, value: str) -> str:
        if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", value):
            raise ValueError("no such device; use auto, cpu, cuda, cuda:N or mps")
        return value

    @model_validator(mode="after")
    def _check(self) -> "TrainConfig":
        if self.lora is not None and self.start is None:
            raise ValueError(
                "train.lora needs train.start (--start DIR): its low-rank weights are added to those of a base"
            )
        if self.average > self.keep:
            raise ValueError(
                f"train.average {self.average} needs train.keep of at least {self.average}, not {self.keep}"
            )
        return self

    @property
    def epochs(self) -> float | None:
        """The limit in epochs; 20 if no limit is set."""
        return 20.0 if self.max_steps is self.max_epochs is self.minutes is None else self.max_epochs


class RunSettings(Settings):
    """All settings of a run. Each task adds its own tables `data` and `text`, and its own kinds of `model`."""

    if TYPE_CHECKING:  # each task declares them, in the order in which its tables are written
        task: str
        model: ModelConfig
        train: TrainConfig

    @property
    def width(self) -> int:
        """Width of the hidden states, for the schedule `noam`; 1 if the network has none."""
        return int(getattr(self.model, "width", 1))
