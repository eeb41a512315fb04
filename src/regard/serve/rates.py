"""`Rates`: requests a minute of each key and address, by token buckets. It keeps a bounded number of them."""

import time
from collections import OrderedDict
from collections.abc import Callable

from regard.serve.errors import SlowdownError
from regard.serve.settings import RateSettings

MOST_BUCKETS = 10_000
"""Keys and addresses that are counted; the one that was seen the longest time ago is forgotten."""


class Rates:
    """Token buckets: a bucket holds the requests of a minute and fills steadily."""

    def __init__(self, settings: RateSettings, now: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._now = settings, now
        self._buckets: OrderedDict[tuple[str, object], tuple[float, float]] = OrderedDict()

    def spend(self, kind: str, name: object, per_minute: int) -> None:
        """Count a request of a key or an address. Beyond its rate: a `SlowdownError`. per_minute: 0 is no limit."""
        if not per_minute:
            return
        level = self._level(kind, name, per_minute)
        if level < 1.0:
            raise SlowdownError(f"Slowdown: {per_minute} per 1 minute", (1.0 - level) * 60.0 / per_minute)
        self._set(kind, name, level - 1.0)

    def check(self, kind: str, name: object, per_minute: int) -> None:
        """Refuse one that has spent all, without counting."""
        level = self._level(kind, name, per_minute)
        if level < 1.0:
            raise SlowdownError(f"Slowdown: {per_minute} per 1 minute", (1.0 - level) * 60.0 / per_minute)

    def _level(self, kind: str, name: object, per_minute: int) -> float:
        level, seen = self._buckets.get((kind, name), (float(per_minute), self._now()))
        return min(float(per_minute), level + (self._now() - seen) * per_minute / 60.0)

    def _set(self, kind: str, name: object, level: float) -> None:
        self._buckets[kind, name] = (level, self._now())
        self._buckets.move_to_end((kind, name))
        while len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)
