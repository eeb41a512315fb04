"""The log-probability of each token of a text while it is written, beside those of the most probable tokens at its place.

Shapes: V outputs, N tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.search.expansion import Expansion, Steps
from regard.search.hypothesis import Hypothesis
from regard.search.stepper import Record, Stepper


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token, and what else could have stood at its place."""

    token: int
    logprob: float
    """log p(token | the tokens before it), of the unmodified model."""
    top: tuple[tuple[int, float], ...]
    """The most probable tokens with their log-probabilities, best first."""


def token_logprob(logits: Tensor, token: int, most: int) -> TokenLogprob:
    """The log-probability of a token, and of the `most` most probable ones. logits [V]"""
    values = logits.double().log_softmax(-1)
    best = values.topk(min(most, len(values)))
    return TokenLogprob(
        token, float(values[token]), tuple(zip(best.indices.tolist(), best.values.tolist(), strict=True))
    )


class LogitKeeper:
    """A stepper that keeps the logits of its last step, for one text."""

    def __init__(self, stepper: Stepper[Any]) -> None:
        self.start_token, self.end_token = stepper.start_token, stepper.end_token
        self._stepper = stepper
        self.logits: Tensor | None = None

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> Any:
        return self._stepper.start(source, prefix)

    def step(self, tokens: Tensor, state: Any, record: bool = False) -> tuple[Tensor, Any, Record | None]:
        logits, state, step_record = self._stepper.step(tokens, state, record)
        self.logits = logits[0, 0]
        return logits, state, step_record


LogitWatcher = Callable[[Tensor, int], None]
"""Called at every step that adds a token or the end mark, with the logits [V] and the token that was chosen of them."""


def added_token(expansion: Expansion) -> int | None:
    """The token that a step adds to the only text; None: the text ends, or no token is possible."""
    going = expansion.going[0, :1].tolist()
    possible = any(float(expansion.logprobs[0, place]) > -float("inf") for place in going)
    return int(expansion.tokens[0, going[0]]) if possible and not bool(expansion.finished.any()) else None


def with_logprobs(steps: Steps, keeper: LogitKeeper, limit: int, most: int, into: list[TokenLogprob]) -> Steps:
    """The same steps. The token of each, the end mark too, is added to `into`."""
    return watched(steps, keeper, limit, lambda logits, token: into.append(token_logprob(logits, token, most)))


def watched(steps: Steps, keeper: LogitKeeper, limit: int, see: LogitWatcher) -> Steps:
    """The same steps, which somebody looks at. limit: the longest text in tokens.

    A text of that length has one more step, in which it may end. If it does not, the token of that step is not in the text.
    """
    seen = 0
    try:
        while True:
            try:
                expansion = next(steps)
            except StopIteration as end:
                hypotheses: list[list[Hypothesis]] = end.value
                return hypotheses
            assert expansion is not None, "streams record every step"
            assert keeper.logits is not None
            token = keeper.end_token if bool(expansion.finished.any()) else added_token(expansion)
            if token == keeper.end_token or (token is not None and seen < limit):
                see(keeper.logits, token)
                seen += 1
            yield expansion
    finally:
        steps.close()


def read_logprobs(network: Any, ids: list[int], device: torch.device, most: int) -> list[TokenLogprob]:
    """The log-probability of each token of a text that is given, by teacher forcing."""
    fed = torch.tensor([[network.start_token, *ids[:-1]]], device=device)
    hidden = network.hidden(fed[:, :0], fed)[0]  # [N, D]
    return [
        token_logprob(network.project(hidden[place : place + 1])[0], token, most) for place, token in enumerate(ids)
    ]
