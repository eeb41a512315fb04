"""Figures from made-up logs: what they draw, that they draw it the same twice, and what they refuse."""

import builtins
import math
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ConfigError, DataError, RegardError
from regard.explain.figures import draw_gradient_flow, draw_learning_curves, spread_labels, with_x_axis

pytest.importorskip("matplotlib")


def log(steps: int, speed: float, tokens: int = 100) -> list[dict[str, Any]]:
    """A loss that falls from 4 with the step, validated at every tenth."""
    events: list[dict[str, Any]] = []
    for step in range(1, steps + 1):
        loss = 4.0 * math.exp(-speed * step)
        events.append({"event": "step", "step": step, "nll": loss, "tokens": tokens, "seconds": 0.5 * step})
        if step % 10 == 0:
            events.append({"event": "validated", "step": step, "loss": loss + 0.1, "bleu": 100 * (1 - loss / 4)})
    return events


def diagnosed(steps: int, fade: float) -> list[dict[str, Any]]:
    names = ["embedding", "encoder.0.attention", "encoder.0.feed_forward", "decoder.0.attention"]
    return [
        {"event": "diagnosed", "step": step, "parts": [{"name": n, "gradient": fade**i} for i, n in enumerate(names)]}
        for step in range(1, steps + 1)
    ]


RUNS = {"sgd": log(60, 0.001), "adam": log(60, 0.05), "muon": log(60, 0.052)}


def text_of(svg: Path) -> str:
    """The words of a figure: matplotlib keeps each beside the outlines that draw it."""
    return " ".join(re.findall(r"<!-- (.+?) -->", svg.read_text(encoding="utf-8")))


def test_every_run_is_named_and_drawn(tmp_path: Path) -> None:
    from matplotlib.axes import Axes

    path = tmp_path / "figures" / "curves.svg"
    drawn: list[tuple[str | None, list[float], list[float]]] = []
    plot = Axes.plot

    def watched(axes: Axes, x: list[float], y: list[float], **looks: Any) -> Any:
        drawn.append((looks.get("label"), x, y))
        return plot(axes, x, y, **looks)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Axes, "plot", watched)
        draw_learning_curves(RUNS, path, across=("step", "tokens"))
    words = text_of(path)
    for word in (*RUNS, "steps", "target tokens", "validation loss (nats a token)"):
        assert word in words
    for label, events in RUNS.items():
        losses = [event["loss"] for event in events if event["event"] == "validated"]
        by_step, by_tokens = ((x, y) for name, x, y in drawn if name == label)
        assert by_step == (list(range(10, 61, 10)), losses)
        assert by_tokens == (list(range(1000, 6001, 1000)), losses)
    assert len([name for name, _, _ in drawn if name is None]) == 2 * len(RUNS)  # the training losses


def test_bleu_against_seconds(tmp_path: Path) -> None:
    draw_learning_curves(RUNS, tmp_path / "bleu.svg", across=("seconds",), up="bleu", ordered=True)
    assert "validation BLEU" in text_of(tmp_path / "bleu.svg")
    assert "seconds of training" in text_of(tmp_path / "bleu.svg")


def test_what_lies_behind_a_step() -> None:
    events = [
        {"event": "step", "step": 1, "tokens": 7, "seconds": 0.25},
        {"event": "step", "step": 2, "tokens": 5, "seconds": 0.75},
        {"event": "step", "step": 3, "tokens": 6, "seconds": 1.0},
    ]
    points = [(0, 9.0), (2, 4.0), (3, 3.0), (8, 1.0)]
    assert with_x_axis(events, points, "step") == [(0.0, 9.0), (2.0, 4.0), (3.0, 3.0), (8.0, 1.0)]
    assert with_x_axis(events, points, "tokens") == [(0.0, 9.0), (12.0, 4.0), (18.0, 3.0)]
    assert with_x_axis(events, points, "seconds") == [(0.0, 9.0), (0.75, 4.0), (1.0, 3.0)]


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_the_same_logs_give_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    flows = {"pre": diagnosed(5, 0.9), "post": diagnosed(5, 0.1)}
    for name in ("one", "two"):
        draw_learning_curves(RUNS, tmp_path / f"{name}{suffix}")
        draw_gradient_flow(flows, tmp_path / f"flow-{name}{suffix}")
    for kind in ("", "flow-"):
        one, two = ((tmp_path / f"{kind}{name}{suffix}").read_bytes() for name in ("one", "two"))
        assert one == two
        assert one.startswith({".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}[suffix])


def test_gradients_by_block(tmp_path: Path) -> None:
    draw_gradient_flow({"pre-norm": diagnosed(5, 0.9), "post-norm": diagnosed(5, 0.1)}, tmp_path / "flow.svg")
    words = text_of(tmp_path / "flow.svg")
    for word in ("pre-norm", "post-norm", "embedding", "encoder 0", "decoder 0", "gradient norm"):
        assert word in words


def test_what_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"curves\.jpg: .*\.svg, \.png, \.pdf"):
        draw_learning_curves(RUNS, tmp_path / "curves.jpg")
    with pytest.raises(ConfigError, match="'epochs' cannot be drawn; there is step, tokens, seconds"):
        draw_learning_curves(RUNS, tmp_path / "curves.svg", across=("epochs",))
    with pytest.raises(DataError, match="young: its log holds no validation loss"):
        draw_learning_curves({**RUNS, "young": log(5, 0.1)}, tmp_path / "curves.svg")
    with pytest.raises(DataError, match=r"adam: .*train\.diagnose_every"):
        draw_gradient_flow({"adam": RUNS["adam"]}, tmp_path / "curves.svg")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def missing(name: str, *arguments: Any) -> Any:
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return found(name, *arguments)

    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", missing)
    for draw in (
        lambda: draw_learning_curves(RUNS, tmp_path / "a.svg"),
        lambda: draw_learning_curves(RUNS, tmp_path / "a.svg", ordered=True),
        lambda: draw_gradient_flow({"pre": diagnosed(5, 0.9)}, tmp_path / "a.svg"),
    ):
        with pytest.raises(RegardError, match=r'matplotlib, which is not installed; pip install "regard\[figures\]"'):
            draw()


def test_labels_are_moved_apart_around_where_they_belong() -> None:
    assert spread_labels([0.1, 0.5, 0.9], 0.1) == [0.1, 0.5, 0.9]
    assert spread_labels([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])
    assert spread_labels([0.9, 0.30, 0.32, 0.31], 0.1) == pytest.approx([0.9, 0.21, 0.41, 0.31])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_labels_never_touch_and_keep_their_order(heights: list[float]) -> None:
    moved = spread_labels(heights, 0.06)
    order = sorted(range(len(heights)), key=heights.__getitem__)
    for below, above in pairwise(order):
        assert moved[above] - moved[below] > 0.06 - 1e-9
