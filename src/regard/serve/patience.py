"""`Patience`: how long an idle worker waits for more texts. It has no clock and no threads."""

SHARE = 0.1
"""Of the time of the last batch. A batch of twice as many texts takes less than twice as long, often by more than that."""
LONGEST_WAIT = 0.05
"""Seconds of this share at most: clients that were just answered ask again sooner than that, and others are waiting."""


class Patience:
    """Waits `delay` from the first text's arrival. Where fewer texts are there than lately, it also waits a share of a batch's time.

    Clients that were just answered ask again in a moment. Without a wait for them, two halves of the clients take turns for ever, each
    in batches of half the size.
    """

    def __init__(self, delay: float) -> None:
        """delay: 0: never wait."""
        self._delay = delay
        self._lately = 0
        self._until = 0.0

    def learn(self, texts: int, seconds: float, now: float) -> None:
        """A batch took so many seconds until now. texts: its own, and those that wait behind it."""
        self._lately, self._until = texts, now + min(SHARE * seconds, LONGEST_WAIT)

    def until(self, arrived: float, waiting: int) -> float:
        """When the batch begins at the latest. arrived: when its first text came; waiting: the texts that are there."""
        begins = arrived + self._delay
        return max(begins, self._until) if self._delay and waiting < self._lately else begins
