"""The precisions of CTranslate2, and what a bundle loses by each: a file of the bundle that `regard precision` writes. No torch."""

from typing import Annotated, Literal, get_args

from pydantic import Field

from regard.bundle.manifest import Manifest
from regard.settings import Record

Precision = Literal["float32", "bfloat16", "int8"]
PrecisionChoice = Literal["auto", "float32", "bfloat16", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
FASTEST_FIRST: tuple[Precision, ...] = ("int8", "bfloat16", "float32")
PRECISION_FILE = "precision.json"
MOST_LOST = 0.3  # BLEU that `auto` may lose


class MeasuredPrecisions(Record):
    """BLEU of a bundle in each precision, on its validation set."""

    sentences: Annotated[int, Field(ge=1)]
    """The size of the validation set."""
    bleu: dict[Precision, Annotated[float, Field(ge=0.0, le=100.0)]]
    """Precision -> BLEU; those that the processor lacked are missing."""

    def loss(self, precision: Precision) -> float | None:
        """The BLEU that a precision loses beside float32; None: not measured."""
        if precision not in self.bleu or "float32" not in self.bleu:
            return None
        return self.bleu["float32"] - self.bleu[precision]


def measured_precisions(files: Manifest) -> MeasuredPrecisions | None:
    """The measurements in a bundle; None: there are none."""
    return files.read_record(PRECISION_FILE, MeasuredPrecisions) if PRECISION_FILE in files.digests else None


def automatic(measured: MeasuredPrecisions | None, available: set[str]) -> tuple[Precision, list[str]]:
    """The fastest precision that the processor has and that loses little, and why the faster ones are refused."""
    refused: list[str] = []
    for precision in FASTEST_FIRST:
        if precision == "float32" or precision not in available:
            continue
        loss = None if measured is None else measured.loss(precision)
        if loss is not None and loss <= MOST_LOST:
            return precision, refused
        why = "its loss is not measured" if loss is None else f"it loses {loss:.2f} BLEU, more than {MOST_LOST:g}"
        refused.append(f"{precision}: {why}")
    return "float32", refused
