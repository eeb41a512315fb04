"""When a beam stops: the rules, and the lectures' n. `search/finished.py` applies them."""

from dataclasses import dataclass
from typing import Literal, get_args

from regard.errors import SearchError
from regard.search.checks import check_count

Stop = Literal["likely", "first", "safe"]
"""When a beam of width k ends a sentence. `first`: k hypotheses have finished, as in many toolkits. `likely`: also, the most probable
candidate of some step has ended; the k most probable finished hypotheses are ranked. `safe`: no live hypothesis can still enter the n best,
by the ranking score."""


@dataclass(frozen=True)
class StopRule:
    """When a sentence is done, even if a live hypothesis could still change the n best."""

    enough: int | None
    """The number of finished hypotheses that ends the sentence; None: no number does."""
    led: bool
    """Whether also the most probable candidate of some step must have ended. Only the `enough` most probable are then kept."""


def stop_rule(stop: Stop, width: int, nbest: int, stop_after: int | None = None) -> StopRule:
    """The stop rule of a beam. `stop_after` is the lectures' n, and replaces the width as the number of finished hypotheses."""
    if stop_after is not None:
        check_count("stop_after", stop_after)
        if nbest > stop_after:
            raise SearchError(
                f"nbest = {nbest}: stop_after = {stop_after} ends with fewer hypotheses; raise it to {nbest} or lower nbest"
            )
        return StopRule(stop_after, led=False)
    if stop not in get_args(Stop):
        raise SearchError(f"stop = {stop!r}: must be one of {', '.join(get_args(Stop))}")
    return StopRule(None if stop == "safe" else width, led=stop == "likely")
