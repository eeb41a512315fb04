"""The settings of the task `forecast`: of a run, and of the config.json of its bundles."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from regard.bundle.config import CONFIG, BundleSettings
from regard.bundle.manifest import MEND, Manifest
from regard.data.frequency import Frequency
from regard.data.series_config import LONGEST, SeriesData
from regard.errors import BundleError
from regard.files import to_json
from regard.models.config import FORECASTERS, ModelConfig, PatchConfig
from regard.settings import Choice
from regard.tasks.checks import check_kind, check_select
from regard.training.config import RATES, RunSettings, TrainConfig

if TYPE_CHECKING:
    from torch import nn

    from regard.data.scales import SeriesScales

SCALES_FILE = "scales.json"


class ForecastTrainConfig(TrainConfig):
    """The settings of training a forecaster. Defaults differ where windows of numbers ask for it."""

    batch_tokens: int = Field(default=65536, ge=1)
    """Steps in a batch: windows times the longer of context and horizon."""
    optimizer: Annotated[str, *TrainConfig.model_fields["optimizer"].metadata] = "adamw"
    """The optimiser: adamw, muon, adam or sgd."""
    learning_rate: float = Field(default=RATES["adamw"], gt=0)
    """The highest learning rate; not given, it is 8e-3 with muon, 1e-3 with adam and adamw, 1 with sgd and as the factor of noam."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    """For tokens and labels; a forecaster has none, so it must be 0."""
    quantile_weight: float = Field(default=1.0, ge=0)
    """The weight of the pinball loss. The quantiles' own weights learn from it, and the value from squared errors alone."""
    calibrate: bool = True
    """Whether the errors on the validation windows correct the quantiles of a checkpoint, so that intervals cover their share."""
    validate_every: int = Field(default=500, ge=1)
    """Steps between two validations."""
    save_every: int = Field(default=500, ge=1)
    """Steps between two checkpoints."""

    @model_validator(mode="before")
    @classmethod
    def _default_optimizer(cls, values: Any) -> Any:
        """Fill in the optimiser, so that the learning rate is filled in for it."""
        return {"optimizer": "adamw", **values} if isinstance(values, dict) else values


class ForecastSettings(RunSettings):
    """A run that learns to forecast series."""

    task: Literal["forecast"] = "forecast"
    """The purpose of the model: to translate, to generate or classify text, or to forecast series."""
    data: SeriesData = SeriesData()
    model: Annotated[ModelConfig, Choice(FORECASTERS)] = PatchConfig()
    train: ForecastTrainConfig = ForecastTrainConfig()

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        check_kind(self.model, FORECASTERS, self.task)
        check_select(self.train.select, self.task)
        if self.data.series is None:
            raise ValueError("task 'forecast' needs series to learn from; give data.series, or --series FILE.csv")
        for name in ("label_smoothing", "consistency"):
            if getattr(self.train, name):
                raise ValueError(f"train.{name} is for tokens and labels, not for values of a series; leave it out")
        check_window(self.model, self.data.context, self.data.horizon)
        return self


class ForecastBundle(BundleSettings):
    """The config.json of a forecaster's bundle."""

    codec_files: ClassVar[tuple[str, ...]] = (SCALES_FILE,)
    fixed_data: ClassVar[tuple[str, ...]] = ("horizon", "context", "quantiles", "known", "scale")

    task: Literal["forecast"] = "forecast"
    model: Annotated[ModelConfig, Choice(FORECASTERS)]
    """The network."""
    horizon: int = Field(ge=1, le=LONGEST)
    """Steps that it forecasts."""
    context: int = Field(ge=1, le=LONGEST)
    """Steps that it reads."""
    quantiles: tuple[float, ...] = Field(max_length=99)
    """The quantiles that it forecasts."""
    known: tuple[str, ...] = Field(default=(), max_length=10_000)
    """The known columns that it reads."""
    frequency: str
    """The step between two times."""
    season: int = Field(ge=1, le=LONGEST)
    """Steps of a season."""
    scale: Literal["standard", "none"] = "standard"
    """Whether series are standardised."""
    time: str | None = None
    """The column of times, as the training file had it."""
    targets: tuple[str, ...] = ()
    """The columns that were forecast, as they were given."""
    missing: Literal["previous", "linear", "zero", "refuse"] = "previous"
    """The rule for missing values."""

    @model_validator(mode="after")
    def _check_window(self) -> Self:
        check_window(self.model, self.context, self.horizon)
        if any(not 0.0 < level < 1.0 for level in self.quantiles) or sorted(set(self.quantiles)) != list(
            self.quantiles
        ):
            raise ValueError(f"quantiles {list(self.quantiles)} are not ascending between 0 and 1")
        Frequency.parse(self.frequency)
        return self

    def network(self) -> "nn.Module":
        from regard.models.build import build_forecaster

        return build_forecaster(self.model, self.context, self.horizon, len(self.quantiles), len(self.known))

    def save_codecs(self, codecs: "SeriesScales", directory: Path) -> None:
        (directory / SCALES_FILE).write_text(to_json(codecs.model_dump(mode="json")), encoding="utf-8")

    def load_codecs(self, files: Manifest) -> "SeriesScales":
        from regard.data.scales import SeriesScales

        scales = files.read_record(SCALES_FILE, SeriesScales)
        if len(scales.known) != len(self.known):
            raise BundleError(
                f"{files.directory / SCALES_FILE}: scales of {len(scales.known)} known columns, but {CONFIG} has {len(self.known)}; "
                f"they are of different models; {MEND}"
            )
        stored = scales.calibration
        shape = {len(row) for row in stored.corrections} if stored is not None else {len(self.quantiles)}
        if shape != {len(self.quantiles)} or (stored is not None and len(stored.corrections) != self.horizon):
            raise BundleError(
                f"{files.directory / SCALES_FILE}: calibration.corrections are not {self.horizon} steps of {len(self.quantiles)} "
                f"quantiles, as {CONFIG} has them; they are of different models; {MEND}"
            )
        return scales

    def settles(self, codecs: Any) -> dict[str, dict[str, Any]]:
        names = (*self.fixed_data, "frequency", "season", "missing")
        values = self.model_dump(mode="json")
        return {"data": {name: values[name] for name in names}, **super().settles(codecs)}


def check_window(model: ModelConfig, context: int, horizon: int) -> None:
    """Refuse a network whose patches do not fit the window."""
    patch = getattr(model, "patch", 1)
    if patch > context:
        raise ValueError(
            f"model.patch {patch} is longer than data.context {context}; raise the context (--context) or lower the patch"
        )
    reach = model.reach
    count = -(-(context - patch) // getattr(model, "stride", 1)) + 1
    written = -(-horizon // patch) if getattr(model, "kind", "") in ("transformer", "recurrent") else 0
    if reach is not None and reach < max(count, written):
        raise ValueError(
            f"model.max_positions {reach} is below the {max(count, written)} patches of a window; raise it, or model.stride"
        )
