"""`Overload`: whether another request may wait, by the speed that batches have had so far.

A burst may wait `limits.wait_seconds`. But a queue that stays longer than two batches for `limits.burst_seconds` is no burst: more comes
than can be answered, and every request would be late. Then only as much is let in as goes out, until the queue is short again, as in
controlled delay (Nichols and Jacobson 2012). What takes long itself may wait longer: a long list is not in a hurry.
"""

import time
from collections.abc import Callable, Sequence

from regard.serve.errors import SlowdownError
from regard.serve.settings import BatchSettings, LimitSettings

BATCHES = 2
"""Full batches of each worker that a short request waits for, where there is overload."""
OWN_TIMES = 3
"""A request also waits so many times as long as it takes itself."""
_MEMORY = 0.8  # of what was measured, at each batch


class Overload:
    """Measures batches, and refuses requests. Its caller has the lock of the queue."""

    def __init__(
        self, settings: BatchSettings, limits: LimitSettings, workers: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings, self._limits, self._workers, self._now = settings, limits, workers, now
        self._speed: float | None = None  # characters a second of one worker
        self._length = 0.0  # mean characters of a text
        self._late_since: float | None = None

    def learn(self, texts: int, characters: int, seconds: float) -> None:
        """A batch is done."""
        speed, length = max(1, characters) / max(seconds, 1e-4), max(1, characters) / texts
        if self._speed is None:
            self._speed, self._length = speed, length
        else:
            self._speed = _MEMORY * self._speed + (1 - _MEMORY) * speed
            self._length = _MEMORY * self._length + (1 - _MEMORY) * length

    def seconds(self, characters: float) -> float | None:
        """How long one worker searches so much; None: nothing was measured yet."""
        return None if self._speed is None else characters / self._speed

    def wait(self, characters: int, others: Sequence[int]) -> float:
        """Seconds until a request's last text begins: of every other one as much goes before it as it has itself, at least its turn."""
        if self._speed is None:
            return 0.0
        turn = max(characters, int(self._length * self._settings.slice))
        return sum(min(other, turn) for other in others) / (self._speed * self._workers)

    def refusal(self, characters: int, others: Sequence[int]) -> SlowdownError | None:
        """Why a request may not wait. characters: its own; others: those of each waiting request."""
        if self._speed is None:
            return None
        usual = BATCHES * self._settings.texts * self._length / self._speed
        if self.wait(0, others) <= usual:
            self._late_since = None
        elif self._late_since is None:
            self._late_since = self._now()
        expected = self.wait(characters, others)
        overloaded = self._late_since is not None and self._now() - self._late_since >= self._limits.burst_seconds
        own = characters / (self._speed * self._workers)
        if expected > self._limits.wait_seconds or (overloaded and expected > usual + OWN_TIMES * own):
            return SlowdownError(f"Slowdown: {expected:.1f} seconds of work are waiting", expected)
        return None
