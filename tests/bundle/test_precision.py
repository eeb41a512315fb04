"""The choice of a precision by what the processor has and the bundle loses."""

import pytest

from regard.bundle.precision import MeasuredPrecisions, automatic

EVERYTHING = {"float32", "int8", "int8_float32", "bfloat16"}


def measured(**bleu: float) -> MeasuredPrecisions:
    return MeasuredPrecisions.parse({"sentences": 10, "bleu": bleu})


@pytest.mark.parametrize(
    ("losses", "available", "expected", "refused"),
    [
        (measured(float32=40.0, int8=39.75, bfloat16=40.0), EVERYTHING, "int8", []),
        (measured(float32=40.0, int8=39.0, bfloat16=39.9), EVERYTHING, "bfloat16", ["int8: it loses 1.00 BLEU"]),
        (measured(float32=40.0, int8=39.0, bfloat16=39.9), {"float32", "int8"}, "float32", ["int8: it loses 1.00"]),
        (measured(float32=40.0, int8=41.0), {"float32"}, "float32", []),
        (
            measured(float32=40.0, int8=39.0),
            EVERYTHING,
            "float32",
            ["int8: it loses", "bfloat16: its loss is not measured"],
        ),
        (None, {"float32", "int8"}, "float32", ["int8: its loss is not measured"]),
    ],
)
def test_the_fastest_that_loses_little(
    losses: MeasuredPrecisions | None, available: set[str], expected: str, refused: list[str]
) -> None:
    chosen, reasons = automatic(losses, available)
    assert chosen == expected
    assert len(reasons) == len(refused)
    assert all(reason.startswith(start) for reason, start in zip(reasons, refused, strict=True))
