"""Shares, means and differences with their 95 % confidence intervals, and the grading of a number.

Shares have the interval of Wilson (1927), differences of two shares that of Newcombe (1998), means a bootstrap with a fixed seed.
"""

import math
from collections.abc import Mapping, Sequence

from regard.explain.failures.findings import Interval, Number, Status

Z = 1.959964  # the 97.5 % quantile of the normal distribution
RESAMPLES = 1000


def wilson(hits: int, count: int) -> Interval:
    """The interval of a share, 0 to 1. It is never empty, even for 0 of 10."""
    share, spread = hits / count, Z * Z / count
    middle = (share + spread / 2.0) / (1.0 + spread)
    half = Z / (1.0 + spread) * math.sqrt(share * (1.0 - share) / count + spread / (4.0 * count))
    return max(0.0, middle - half) if hits else 0.0, min(1.0, middle + half) if hits < count else 1.0


def share(name: str, label: str, hits: int, count: int) -> Number:
    """A share in percent; None of nothing."""
    if not count:
        return Number(name, label, None, "%", count=0)
    low, high = wilson(hits, count)
    return Number(name, label, 100.0 * hits / count, "%", (100.0 * low, 100.0 * high), count)


def share_difference(name: str, label: str, first: tuple[int, int], second: tuple[int, int]) -> Number:
    """The first share minus the second, in percentage points. Each is (hits, count)."""
    if not (first[1] and second[1]):
        return Number(name, label, None, "points", count=first[1] + second[1])
    shares = [hits / count for hits, count in (first, second)]
    (low1, high1), (low2, high2) = wilson(*first), wilson(*second)
    difference = shares[0] - shares[1]
    low = difference - math.hypot(shares[0] - low1, high2 - shares[1])
    high = difference + math.hypot(high1 - shares[0], shares[1] - low2)
    return Number(name, label, 100.0 * difference, "points", (100.0 * low, 100.0 * high), first[1] + second[1])


def mean(name: str, label: str, values: Sequence[float], unit: str, seed: int) -> Number:
    """A mean with a bootstrap interval."""
    import numpy as np

    finite = np.array([value for value in values if math.isfinite(value)], dtype=np.float64)
    if not len(finite):
        return Number(name, label, None, unit, count=0)
    drawn = np.random.default_rng([seed, len(finite)]).integers(len(finite), size=(RESAMPLES, len(finite)))
    low, high = np.quantile(finite[drawn].mean(axis=1), [0.025, 0.975])
    return Number(name, label, float(finite.mean()), unit, (float(low), float(high)), len(finite))


def mean_difference(
    name: str, label: str, first: Sequence[float], second: Sequence[float], unit: str, seed: int
) -> Number:
    """The mean of the first minus that of the second, each resampled by itself."""
    import numpy as np

    if not first or not second:
        return Number(name, label, None, unit, count=len(first) + len(second))
    generator = np.random.default_rng([seed, len(first), len(second)])
    resampled = []
    for values in (first, second):
        array = np.array(values, dtype=np.float64)
        resampled.append(array[generator.integers(len(array), size=(RESAMPLES, len(array)))].mean(axis=1))
    low, high = np.quantile(resampled[0] - resampled[1], [0.025, 0.975])
    difference = float(np.mean(first) - np.mean(second))
    return Number(name, label, difference, unit, (float(low), float(high)), len(first) + len(second))


def graded(value: float | None, look: float, fault: float) -> Status:
    """The status of a number of which more is worse. None is sound: nothing was found."""
    if value is None or value < look:
        return "sound"
    return "look" if value < fault else "fault"


def graded_difference(number: Number, look: float, fault: float) -> Status:
    """The status of a difference, whatever its sign. It is sound while its interval has 0: it may be chance."""
    if number.value is None or (number.interval is not None and number.interval[0] <= 0.0 <= number.interval[1]):
        return "sound"
    return graded(abs(number.value), look, fault)


def graded_excess(number: Number, look: float, fault: float) -> Status:
    """The status of a difference of which only more is worse. It is sound unless its interval lies above 0."""
    if number.interval is not None and number.interval[0] <= 0.0:
        return "sound"
    return graded(number.value, look, fault)


def worst_first(numbers: Sequence[Number], grades: Mapping[str, Status]) -> tuple[Number, ...]:
    """The numbers with the worst graded one first; of equal grades the first stays. grades: name -> status."""
    if not numbers or not grades:
        return tuple(numbers)
    status = worst(*grades.values())
    head = next(number for number in numbers if grades.get(number.name) == status)
    return (head, *(number for number in numbers if number is not head))


def worst(*statuses: Status) -> Status:
    """The worst of several statuses."""
    order: tuple[Status, ...] = ("left out", "sound", "look", "fault")
    return max(statuses, key=order.index)


def ranked_apart(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """The probability that a value of `higher` exceeds one of `lower`, ties counted half: the area under the ROC curve."""
    if not higher or not lower:
        return None
    import numpy as np

    first, second = np.array(higher)[:, None], np.array(lower)[None, :]
    return float(((first > second) + 0.5 * (first == second)).mean())
