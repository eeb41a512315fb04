"""The table of parts by steps, its outliers and its jumps."""

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from regard.explain.flow import COLUMNS, gradient_flow, jumps, most_unusual


def look(step: int, **gradients: float | None) -> dict[str, Any]:
    parts = [
        {"name": name.replace("_", ".", 2), "gradient": value, "weight": 2.0, "update": 0.5, "ratio": 0.25}
        for name, value in gradients.items()
    ]
    return {"event": "diagnosed", "step": step, "seconds": 0.0, "parts": parts}


def test_parts_are_rows_and_steps_columns() -> None:
    events = [
        {"event": "step", "step": 10, "loss": 1.0},
        look(10, embedding=1.0, encoder_0_attention=0.5, encoder_1_attention=0.125, decoder_0_attention=1.0),
        look(20, embedding=2.0, encoder_0_attention=0.25, encoder_1_attention=123456.789, decoder_0_attention=1.0),
    ]
    assert gradient_flow(events) == {
        "logged": 2,
        "steps": [10, 20],
        "parts": ["embedding", "encoder.0.attention", "encoder.1.attention", "decoder.0.attention"],
        "ends": [(1, 2)],
        "jumps": [{"part": 2, "step": 20, "factor": 123457.0 / 0.125}],
        "gradient": [[1.0, 2.0], [0.5, 0.25], [0.125, 123457.0], [1.0, 1.0]],
        "weight": [[2.0, 2.0]] * 4,
        "update": [[0.5, 0.5]] * 4,
        "ratio": [[0.25, 0.25]] * 4,
    }


def test_nothing_logged_is_nothing_to_draw() -> None:
    assert gradient_flow([]) is None
    assert gradient_flow([{"event": "step", "step": 1, "loss": 2.0}]) is None


def test_what_is_no_number_is_none() -> None:
    table = gradient_flow([look(1, a=math.nan, b=math.inf, c=None, d=0.0)])
    assert table is not None
    assert table["gradient"] == [[None], [None], [None], [0.0]]
    assert (table["jumps"], table["ends"]) == ([], [])


def test_a_repeated_step_counts_once() -> None:
    table = gradient_flow([look(1, a=1.0), look(2, a=2.0), look(2, a=3.0)])
    assert table is not None
    assert table["gradient"] == [[1.0, 3.0]]


def test_jumps_up_and_down() -> None:
    assert jumps([1.0, 2.0, 60.0, 60.0, 2.0, None, 2.0, 0.0, 2.0]) == [(2, 30.0), (4, 1 / 30)]
    assert jumps([1.0, 29.0, 1.0]) == []
    assert jumps([1.0, 29.0, 1.0], factor=29.0) == [(1, 29.0), (2, 1 / 29.0)]


def test_a_long_run_keeps_its_spike_and_its_collapse() -> None:
    events = [look(step, a=1.0 + step % 2, b=0.1) for step in range(1, 2001)]
    events[776]["parts"][0]["gradient"] = 500.0
    events[1332]["parts"][1]["gradient"] = 1e-7
    table = gradient_flow(events)
    assert table is not None
    assert len(table["steps"]) == COLUMNS
    assert table["logged"] == 2000
    assert {1, 777, 1333, 2000} <= set(table["steps"])
    assert (max(table["gradient"][0]), min(table["gradient"][1])) == (500.0, 1e-7)
    assert [(jump["part"], jump["step"]) for jump in table["jumps"]] == [(0, 777), (0, 778), (1, 1333), (1, 1334)]


def test_numbers_at_the_edge_of_floats_have_a_distance() -> None:
    assert most_unusual([[1e6, 1e6, 5e-324, 1e6, 1e6]], 3) == [0, 2, 4]


@given(
    st.integers(1, 3).flatmap(
        lambda rows: st.lists(
            st.lists(st.one_of(st.none(), st.floats(0.0, 1e6)), min_size=rows, max_size=rows), min_size=1, max_size=80
        )
    ),
    st.integers(3, 40),
)
def test_columns_are_few_ordered_and_hold_the_ends(columns: list[list[float | None]], limit: int) -> None:
    rows = [list(row) for row in zip(*columns, strict=True)]
    kept = most_unusual(rows, limit)
    assert len(kept) <= limit
    assert kept == sorted(set(kept))
    assert (kept[0], kept[-1]) == (0, len(columns) - 1)
