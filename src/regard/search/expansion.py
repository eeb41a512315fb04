"""What a beam search did in one step, for whoever watches it. It decides nothing.

Shapes: b sentences still searched, c candidates of each, the most probable first, k those that go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Expansion:
    """The candidates of one step, which of them finished and which went on; the rest was cut."""

    sentences: Tensor  # [b], numbers of the sentences
    parents: Tensor  # [b, c], which of the hypotheses that went on from the step before each one continues
    tokens: Tensor  # [b, c]
    logprobs: Tensor  # [b, c], of the whole hypothesis
    finished: Tensor  # [b, <= c], True where it ended and was set aside
    going: Tensor  # [b, k], which candidates go on, in the order in which the next step counts them


Watcher = Callable[[Expansion], None]
