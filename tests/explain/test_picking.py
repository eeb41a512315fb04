"""The best way to align is found where it was hidden."""

from dataclasses import dataclass
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from regard.bundle.config import AlignmentConfig
from regard.errors import DataError
from regard.explain.picking import pick_alignment
from regard.tasks.translate.pairs import Pairs
from regard.tasks.translate.translator import Translator
from regard.text.build import TokenizerPair, learn_pair
from regard.text.config import TextConfig

SOURCES, TARGETS = ["a b c", "c a", "b b a"], ["x y z", "y x", "z z y"]
GOLD = [[(0, 2), (1, 1), (2, 0)], [(0, 1), (1, 0)], [(0, 2), (1, 1), (2, 0)]]  # backwards


@dataclass
class Looking:
    """A model whose head (1, 0) looks at the right word one step late, and whose other heads look at the first word."""

    tokenizers: TokenizerPair
    max_tokens: int = 100
    strength: float = 1.0

    def evidence(self, pairs: Pairs, method: str) -> list[Tensor]:
        stacks = []
        for source in pairs.sources:
            words = len(source)
            stack = torch.zeros(2, 2, words + 1, words + 1)
            stack[..., 0] = 1.0
            stack[1, 0] = 0.0
            for target in range(words):
                stack[1, 0, target + 1, words - 1 - target] = self.strength
            stacks.append(stack)
        return stacks


@pytest.fixture(scope="module")
def looking() -> Looking:
    config = TextConfig.parse({"kind": "word", "joint": False})
    return Looking(learn_pair(config, lambda: list(zip(SOURCES, TARGETS, strict=True))))


def test_the_right_head_and_row_are_found(looking: Looking) -> None:
    gold = [(frozenset(links), frozenset(links)) for links in GOLD]
    found = pick_alignment(cast(Any, looking), SOURCES, TARGETS, gold, ["attention"])
    assert found[0].score.aer == 0.0
    [head] = [candidate for candidate in found if candidate.choice == "head"]
    assert head.settings == AlignmentConfig(heads=((1, 0),), shift=True)
    assert head.score.aer == 0.0
    [mean] = [candidate for candidate in found if candidate.choice == "mean"]
    assert mean.score.aer > 0.5  # three heads of four look at the first word
    assert [one.score.aer for one in found] == sorted(one.score.aer for one in found)


def test_what_was_picked_can_be_used(looking: Looking) -> None:
    """The settings mean the same to `Translator.align`."""
    gold = [(frozenset(links), frozenset(links)) for links in GOLD]
    best = pick_alignment(cast(Any, looking), SOURCES, TARGETS, gold, ["attention"])[0]
    model = Translator(cast(Any, object()), looking.tokenizers)
    model.evidence = lambda pairs, method, batch_tokens: looking.evidence(pairs, method)  # type: ignore[method-assign]
    links = [one.links for one in model.align(SOURCES, TARGETS, settings=best.settings)]
    assert [sorted(one) for one in links] == [sorted(one) for one in GOLD]


def test_nothing_to_pick_by(looking: Looking) -> None:
    with pytest.raises(DataError, match="no development sentences"):
        pick_alignment(cast(Any, looking), [], [], [])
