"""Writes the training events for TensorBoard, if it is installed."""

from pathlib import Path

from regard.files import disk_errors
from regard.training.events import Diagnosed, Event, Step, Validated


class TensorBoardLog:
    """Writes scalars to an event file under the run."""

    def __init__(self, directory: Path, first_step: int) -> None:
        """TensorBoard hides what an earlier process wrote from `first_step` on: a resumed run repeats those steps."""
        from torch.utils.tensorboard import SummaryWriter

        self._directory = directory
        with disk_errors(directory):
            self._writer = SummaryWriter(str(directory), purge_step=first_step)

    def __call__(self, event: Event) -> None:
        values: dict[str, float] = {}
        if isinstance(event, Step):
            values = {
                "train/loss": event.loss,
                **{f"train/{name}": value for name, value in event.parts.items()},
                "train/learning_rate": event.learning_rate,
                "train/gradient_norm": event.gradient_norm,
                "train/tokens_per_second": event.tokens_per_second,
            }
        elif isinstance(event, Validated):
            values = {"valid/loss": event.loss, **{f"valid/{name}": value for name, value in event.scores.items()}}
        elif isinstance(event, Diagnosed):
            for part in event.parts:
                values |= {
                    f"gradient_norm/{part.name}": part.gradient,
                    f"weight_norm/{part.name}": part.weight,
                    f"update_norm/{part.name}": part.update,
                    f"update_ratio/{part.name}": part.ratio,
                }
        with disk_errors(self._directory):
            for name, value in values.items():
                self._writer.add_scalar(name, value, event.step)

    def close(self) -> None:
        with disk_errors(self._directory):
            self._writer.close()
