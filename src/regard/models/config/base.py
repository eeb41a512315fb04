"""The settings that every model has. A preset fills the sizes that are not given."""

import warnings
from typing import Any, ClassVar, Literal

from pydantic import model_validator

from regard.settings import Settings, meaningless

Documents = Literal["file", "line"]
"""The texts of a language model: all lines together are one, or each line is."""

LabelsOf = Literal["text", "token"]
"""The unit that a classifier labels: a text, or each of its words (tagging)."""


class ModelConfig(Settings):
    """The settings of a network."""

    @property
    def cross_attention_layers(self) -> int:
        """Layers of the decoder that attend to the source."""
        return 0

    @property
    def reach(self) -> int | None:
        """The longest sequence that there are positions for, end mark included; None: any."""
        return None

    @property
    def needs_joint_vocabulary(self) -> bool:
        """Whether source and target must have one vocabulary."""
        return False

    @property
    def copies(self) -> bool:
        """Whether it may copy pieces of its source."""
        return False


with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message='Field name "copy"', category=UserWarning)  # pydantic's old `copy()`

    class CopySettings(ModelConfig):
        """The setting of a network that may copy pieces of its source."""

        copy: bool = False  # type: ignore[assignment]
        """Point to pieces of the source beside writing those of the vocabulary (See et al. 2017); needs text.joint."""

        @property
        def needs_joint_vocabulary(self) -> bool:
            """Whether source and target must have one vocabulary."""
            return self.copy

        @property
        def copies(self) -> bool:
            """Whether it may copy pieces of its source."""
            return self.copy


class SizedConfig(ModelConfig):
    """The settings of a network whose preset fills the sizes that are not given."""

    presets: ClassVar[dict[str, dict[str, int]]]

    @model_validator(mode="before")
    @classmethod
    def _fill_size(cls, values: Any) -> Any:
        if isinstance(values, dict):
            preset = str(values.get("preset", "tiny"))
            size = cls.presets.get(preset, {})
            for name in size:
                if name not in cls.model_fields:
                    raise meaningless(f"model.{name}", f"model.preset {preset!r}, which sets model.{name},")
            return {**size, **{key: value for key, value in values.items() if value is not None or key not in size}}
        return values
