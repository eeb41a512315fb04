"""From the events of a run to what its page draws: curves of few points that lie about nothing, and samples by sentence.

Knows the names of log.jsonl's fields and no file, model or page.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

Point = tuple[int, float]
Event = Mapping[str, Any]

CURVE_POINTS = 600  # more than a screen can show
SMOOTHING = 0.01  # the mean reaches about this part of the run to either side
SAMPLE_SENTENCES = 12
SAMPLE_ATTEMPTS = 40


def of_kind(events: Sequence[Event], kind: str) -> list[Event]:
    """The events of one kind by step. Where a resumed run logged a step twice, the later one counts."""
    by_step = {int(event["step"]): event for event in events if event.get("event") == kind and "step" in event}
    return [by_step[step] for step in sorted(by_step)]


def series(events: Sequence[Event], name: str) -> tuple[list[Point], list[int]]:
    """The finite values of a field as (step, value), and the steps at which it was logged but not a finite number."""
    points: list[Point] = []
    lost: list[int] = []
    for event in events:
        if name not in event:
            continue
        value = event[name]
        if isinstance(value, int | float) and math.isfinite(value):
            points.append((int(event["step"]), value))
        else:
            lost.append(int(event["step"]))
    return points, lost


def smooth(points: Sequence[Point], part: float = SMOOTHING) -> list[Point]:
    """A mean whose weights fall off exponentially to both sides: it neither lags behind the points nor leaves their range."""
    values = [value for _, value in points]
    decay = 1.0 - 1.0 / max(1.0, part * len(points))
    forwards = decaying_sums(values, decay)
    backwards = decaying_sums(values[::-1], decay)[::-1]
    smoothed: list[Point] = []
    for (step, value), (past, past_weight), (future, future_weight) in zip(points, forwards, backwards, strict=True):
        # Both sums hold the point itself, which counts once.
        smoothed.append((step, (past + future - value) / (past_weight + future_weight - 1.0)))
    return smoothed


def decaying_sums(values: Sequence[float], decay: float) -> list[tuple[float, float]]:
    """For each value the sum of it and of those before it, each worth `decay` of the next, and the sum of these worths."""
    total = weight = 0.0
    sums = []
    for value in values:
        total, weight = decay * total + value, decay * weight + 1.0
        sums.append((total, weight))
    return sums


def thin(points: Sequence[Point], limit: int = CURVE_POINTS) -> list[Point]:
    """At most `limit` of the points: the first, the last, and the lowest and highest of equal stretches between them.

    No spike is lost, for the lowest and highest of all are the lowest and highest of their stretch or an end.
    """
    if len(points) <= limit:
        return list(points)
    stretches = max(1, (limit - 2) // 2)
    inner = points[1:-1]
    kept = [points[0]]
    for index in range(stretches):
        start, end = index * len(inner) // stretches, (index + 1) * len(inner) // stretches
        stretch = inner[start:end]
        if stretch:
            kept += sorted({min(stretch, key=lambda point: point[1]), max(stretch, key=lambda point: point[1])})
    return [*kept, points[-1]]


def training_curves(events: Sequence[Event]) -> dict[str, Any]:
    """Every curve of the page, by name. Smoothing sees every step; only then are points left out."""
    steps = of_kind(events, "step")
    validations = of_kind(events, "validated")
    objective, lost_objective = series(steps, "loss")
    likelihood, lost_likelihood = series(steps, "nll")
    norm, lost_norm = series(steps, "gradient_norm")
    rate, _ = series(steps, "learning_rate")
    speed, _ = series(steps, "tokens_per_second")
    # The validation loss is the likelihood without label smoothing, so that is what training is compared by.
    loss = likelihood or objective
    return {
        "loss": thin(loss),
        "loss_smooth": thin(smooth(loss)),
        "objective_smooth": thin(smooth(objective)) if likelihood else [],
        "learning_rate": thin(rate),
        "gradient_norm": thin(norm),
        "gradient_norm_smooth": thin(smooth(norm)),
        "speed_smooth": thin(smooth(speed)),
        "validation_loss": series(validations, "loss")[0],
        "bleu": series(validations, "bleu")[0],
        "chrf": series(validations, "chrf")[0],
        "best_step": max((int(event["step"]) for event in validations if event.get("best") is True), default=None),
        "lost_steps": sorted({*lost_objective, *lost_likelihood, *lost_norm}),
    }


def samples_over_time(events: Sequence[Event]) -> list[dict[str, Any]]:
    """For each sample sentence what the model said at each validation; what it repeated unchanged is told once.

    Each attempt is {"first": step, "last": step, "hypothesis": text}.
    """
    sentences: dict[str, dict[str, Any]] = {}
    for event in of_kind(events, "validated"):
        for sample in event.get("samples") or ():
            source = str(sample.get("source", ""))
            if source not in sentences and len(sentences) == SAMPLE_SENTENCES:
                continue
            reference = str(sample.get("reference", ""))
            sentence = sentences.setdefault(source, {"source": source, "reference": reference, "attempts": []})
            attempts = sentence["attempts"]
            hypothesis, step = str(sample.get("hypothesis", "")), int(event["step"])
            if attempts and attempts[-1]["hypothesis"] == hypothesis:
                attempts[-1]["last"] = step
            else:
                attempts.append({"first": step, "last": step, "hypothesis": hypothesis})
    for sentence in sentences.values():
        sentence["attempts"] = evenly(sentence["attempts"], SAMPLE_ATTEMPTS)
    return list(sentences.values())


def evenly(items: list[Any], limit: int) -> list[Any]:
    """At most `limit` of the items, evenly spaced, the first and the last among them."""
    if len(items) <= limit:
        return items
    return [items[round(index * (len(items) - 1) / (limit - 1))] for index in range(limit)]
