"""Searches over whole sequences in plain Python, one sentence, no tensors: slow, and plain to see what they do."""

import math
from collections.abc import Callable, Iterator, Sequence

from search.toy import ToyStepper

Said = tuple[int, ...]
Next = Callable[[Said], list[float]]
Score = Callable[[Said, float, bool], float]
Found = tuple[Said, float, float, bool]  # tokens, logprob, score, finished


def allowed(
    next_logprobs: Next,
    *,
    min_length: int = 0,
    no_repeat: int = 0,
    suppressed: Sequence[int] = (),
    prefix: Sequence[int] = (),
) -> Next:
    """The same model, unable to say what the filters forbid."""

    def repeats(said: Said) -> bool:
        grams = [said[at : at + no_repeat] for at in range(len(said) - no_repeat + 1)]
        return grams[-1:] != [] and grams[-1] in grams[:-1]

    def filtered(said: Said) -> list[float]:
        logprobs = next_logprobs(said)
        if len(said) < len(prefix):
            return [value if token == prefix[len(said)] else -math.inf for token, value in enumerate(logprobs)]
        forbidden = set(suppressed)
        if len(said) < min_length:
            forbidden.add(0)
        if no_repeat:
            forbidden |= {token for token in range(1, len(logprobs)) if repeats((*said, token))}
        return [-math.inf if token in forbidden else value for token, value in enumerate(logprobs)]

    return filtered


def power(alpha: float) -> Score:
    return lambda said, logprob, finished: logprob / max(1, len(said)) ** alpha


def wu(alpha: float) -> Score:
    return lambda said, logprob, finished: logprob / ((5 + max(1, len(said))) / 6) ** alpha


def covering(score: Score, stepper: ToyStepper, source: Sequence[int], weight: float, tokens: int) -> Score:
    """`score` and Wu's penalty for the first `tokens` source tokens."""

    def scored(said: Said, logprob: float, finished: bool) -> float:
        rows = stepper.attention_rows(source, said)[: len(said) + finished]
        received = [sum(row[place] for row in rows) for place in range(tokens)]
        return score(said, logprob, finished) + weight * sum(math.log(min(max(one, 1e-6), 1.0)) for one in received)

    return scored


def every_output(
    next_logprobs: Next, max_length: int, said: Said = (), total: float = 0.0
) -> Iterator[tuple[Said, float]]:
    """All that ends within the length and is possible at all, and its log-probability."""
    for token, gain in enumerate(next_logprobs(said)):
        if gain > -math.inf and token == 0:
            yield said, total + gain
        elif gain > -math.inf and len(said) < max_length:
            yield from every_output(next_logprobs, max_length, (*said, token), total + gain)


def slow_beam(
    next_logprobs: Next, *, width: int, score: Score, max_length: int, stop: str = "likely", nbest: int = 1
) -> list[Found]:
    """Beam search; by the rule `safe` it goes on to the longest length, which that rule must not differ from."""
    finished: list[Found] = []
    unfinished: list[Found] = []
    live: list[tuple[Said, float]] = [((), 0.0)]
    led = False
    for length in range(max_length + 1):
        candidates = sorted(
            ((total + gain, said, token) for said, total in live for token, gain in enumerate(next_logprobs(said))),
            reverse=True,
        )[: 2 * width]
        ended = [(said, total) for total, said, token in candidates[:width] if token == 0 and total > -math.inf]
        finished += [(said, total, score(said, total, True), True) for said, total in ended]
        following = [((*said, token), total) for total, said, token in candidates if token and total > -math.inf]
        if length == max_length or not following:
            left = [(said, total) for said, total in live if said not in dict(ended)]
            unfinished = [(said, total, score(said, total, False), False) for said, total in left]
            break
        live = following[:width]
        led |= candidates[0][2] == 0
        if stop != "safe" and len(finished) >= width and (led or stop == "first"):
            break
    if stop == "likely":
        finished = sorted(finished, key=lambda found: -found[1])[:width]
    ranked = sorted(finished, key=lambda found: -found[2]) + sorted(unfinished, key=lambda found: -found[2])
    return ranked[:nbest]
