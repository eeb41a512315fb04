"""The curves and samples of a run's page, from the events of log.jsonl. Curves are thinned without losing a spike."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from regard.metrics.scores import METRICS
from regard.training.events import MEASURED_PARTS

Point = tuple[int, float]
Event = Mapping[str, Any]

CURVE_POINTS = 600  # more than a screen can show
SMOOTHING = 0.01  # width of the moving mean to either side, as a fraction of the run
SAMPLE_SENTENCES = 12
SAMPLE_ATTEMPTS = 40
OF_EVERY_TASK = "perplexity"  # a field of every validation; exp(loss), and the loss is drawn


def events_of_kind(events: Sequence[Event], kind: str) -> list[Event]:
    """The events of one kind, sorted by step. If a resumed run logged a step twice, the later event counts."""
    by_step = {int(event["step"]): event for event in events if event.get("event") == kind and "step" in event}
    return [by_step[step] for step in sorted(by_step)]


def series(events: Sequence[Event], name: str) -> tuple[list[Point], list[int]]:
    """The finite values of a field as (step, value), and the steps where its value is not finite."""
    points: list[Point] = []
    non_finite: list[int] = []
    for event in events:
        if name not in event:
            continue
        value = event[name]
        if isinstance(value, int | float) and math.isfinite(value):
            points.append((int(event["step"]), value))
        else:
            non_finite.append(int(event["step"]))
    return points, non_finite


def smooth(points: Sequence[Point], part: float = SMOOTHING) -> list[Point]:
    """A two-sided exponential moving mean: it does not lag behind the points and stays in their range."""
    values = [value for _, value in points]
    decay = 1.0 - 1.0 / max(1.0, part * len(points))
    forwards = decaying_sums(values, decay)
    backwards = decaying_sums(values[::-1], decay)[::-1]
    smoothed: list[Point] = []
    for (step, value), (past, past_weight), (future, future_weight) in zip(points, forwards, backwards, strict=True):
        # Both sums contain the point itself: count it once.
        smoothed.append((step, (past + future - value) / (past_weight + future_weight - 1.0)))
    return smoothed


def decaying_sums(values: Sequence[float], decay: float) -> list[tuple[float, float]]:
    """For each value, the exponentially decaying sum up to it and the sum of its weights."""
    total = weight = 0.0
    sums = []
    for value in values:
        total, weight = decay * total + value, decay * weight + 1.0
        sums.append((total, weight))
    return sums


def thin(points: Sequence[Point], limit: int = CURVE_POINTS) -> list[Point]:
    """At most `limit` of the points: the first, the last, and the minimum and maximum of each stretch between them.

    The global minimum and maximum are always kept.
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


def logged_scores(events: Sequence[Event]) -> list[str]:
    """The names of the scores in a log's validations: `OF_EVERY_TASK` first, then in the order of `METRICS`."""
    names = {
        name for event in events_of_kind(events, "validated") for name, value in event.items() if value is not None
    }
    return sorted((name for name in METRICS if name in names), key=lambda name: name != OF_EVERY_TASK)


def training_curves(events: Sequence[Event]) -> dict[str, Any]:
    """Every curve of the page, by name. Curves are smoothed first, then thinned."""
    steps = events_of_kind(events, "step")
    validations = events_of_kind(events, "validated")
    objective, non_finite_objective = series(steps, "loss")
    measured = next((name for name in MEASURED_PARTS if any(name in event for event in steps)), MEASURED_PARTS[0])
    likelihood, non_finite_likelihood = series(steps, measured)
    norm, non_finite_norm = series(steps, "gradient_norm")
    rate, _ = series(steps, "learning_rate")
    speed, _ = series(steps, "tokens_per_second")
    # The validation loss has no label smoothing, so the training curve beside it has none either.
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
        "scores": {name: series(validations, name)[0] for name in logged_scores(events) if name != OF_EVERY_TASK},
        "best_step": max((int(event["step"]) for event in validations if event.get("best") is True), default=None),
        "lost_steps": sorted({*non_finite_objective, *non_finite_likelihood, *non_finite_norm}),
    }


def samples_over_time(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The outputs for each sample sentence over the validations. An unchanged output is listed once.

    Each attempt is {"first": step, "last": step, "hypothesis": text}.
    """
    sentences: dict[str, dict[str, Any]] = {}
    for event in events_of_kind(events, "validated"):
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
        sentence["attempts"] = evenly_spaced(sentence["attempts"], SAMPLE_ATTEMPTS)
    return list(sentences.values())


def evenly_spaced(items: list[Any], limit: int) -> list[Any]:
    """At most `limit` of the items, evenly spaced, including the first and the last."""
    if len(items) <= limit:
        return items
    return [items[round(index * (len(items) - 1) / (limit - 1))] for index in range(limit)]
