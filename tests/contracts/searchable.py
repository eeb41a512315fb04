"""The contract of searches with every model: results do not depend on the batch, finished sentences leave it, and no output is more
probable than that of exact search.

Shapes: B sentences, k hypotheses each, V outputs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from contracts.cases import PAD, ModelCase, sources
from contracts.steppable import Lively, assert_same
from regard.search.beam import beam
from regard.search.diverse import diverse
from regard.search.ensemble import Ensemble
from regard.search.exact import exact
from regard.search.exhaustive import exhaustive
from regard.search.filters import Filters
from regard.search.greedy import greedy
from regard.search.phrases import contains
from regard.search.sampling import sample
from regard.search.scoring import score

LENGTHS = (6, 3, 1, 5, 2, 4)
PREFIXES = [(3, 1), (), (7,), (2, 2, 2), (), (9,)]
PHRASES = [[(4, 5)], [], [(6,), (8, 8)], [], [(1, 2)], []]

Search = Callable[..., Any]


def searches(numbers: list[int]) -> dict[str, Search]:
    """Every search, as it is for the sentences of these numbers."""
    prefixes = Filters(prefixes=[PREFIXES[number] for number in numbers], no_repeat=2)
    return {
        "greedy": greedy,
        "beam": partial(beam, width=3, nbest=3),
        "safe": partial(beam, width=3, nbest=3, stop="safe", form="wu"),
        "prefixes": partial(beam, width=3, nbest=3, filters=prefixes),
        "phrases": partial(beam, width=5, nbest=3, phrases=[PHRASES[number] for number in numbers]),
        "diverse": partial(diverse, width=4, groups=2, nbest=4),
        "sample": partial(sample, samples=3, seed=5, sentences=numbers),
        "exact": partial(exact, width=3, node_limit=60),
    }


class Counted:
    """A model that remembers how many sentences each step was given."""

    def __init__(self, model: Any) -> None:
        self.start_token, self.end_token, self.start, self.model = (
            model.start_token,
            model.end_token,
            model.start,
            model,
        )
        self.fed: list[int] = []

    def step(self, tokens: Tensor, state: Any, record: bool = False) -> Any:
        self.fed.append(len(tokens))
        return self.model.step(tokens, state, record)


def no_search_depends_on_the_batch(case: ModelCase) -> None:
    model, source = Lively(case.random()), sources(LENGTHS)
    for name, search in searches(list(range(len(LENGTHS)))).items():
        together = search(model, source, max_length=7)
        for number, row in enumerate(source):
            [alone] = searches([number])[name](model, row[row != PAD][None], max_length=7)
            assert_same(together[number], alone)


def finished_sentences_leave_the_batch(case: ModelCase) -> None:
    source = sources(LENGTHS)
    for name, search in searches(list(range(len(LENGTHS)))).items():
        if name == "exact":  # one sentence at a time
            continue
        model = Counted(Lively(case.random()))
        search(model, source, max_length=7)
        together, steps = model.fed, []
        for number, row in enumerate(source):
            model.fed = []
            searches([number])[name](model, row[row != PAD][None], max_length=7)
            steps.append(len(model.fed))
        assert together == [sum(count > step for count in steps) for step in range(max(steps))], name


def no_beam_finds_more_than_exact_search(case: ModelCase) -> None:
    vocabulary, max_length = 5, 4
    better = 0
    for seed in range(3):
        model, source = case.random(vocabulary, seed=seed), sources((3, 1), vocabulary, seed=seed)
        best = exact(model, source, max_length=max_length, width=1)
        for found, expected in zip(best, exhaustive(model, source, max_length=max_length), strict=True):
            assert_same(found, expected)
            assert found[0].proof is not None
            assert found[0].proof.proved
        for width in (1, 2, 4):
            for [narrow], [found] in zip(
                beam(model, source, width=width, alpha=0.0, max_length=max_length), best, strict=True
            ):
                if narrow.finished:
                    assert narrow.logprob <= found.logprob + 1e-5
                better += narrow.tokens != found.tokens
    assert better, "a beam that is always right would prove nothing"


def demands_are_met_and_cost_what_the_model_says(case: ModelCase) -> None:
    model, source = Lively(case.random()), sources(LENGTHS)
    filters = Filters(prefixes=PREFIXES, suppressed=[10], min_length=4)
    rows = beam(model, source, width=5, max_length=12, alpha=0.0, filters=filters, phrases=PHRASES)
    scored = score(model, source, [found.tokens for [found] in rows])
    for [found], expected, prefix, phrases in zip(rows, scored, PREFIXES, PHRASES, strict=True):
        assert found.finished or not phrases
        assert found.tokens[: len(prefix)] == prefix
        assert 10 not in found.tokens
        assert len(found.tokens) >= 4
        assert all(contains(found.tokens, phrase) for phrase in phrases if found.finished)
        if found.finished:
            assert abs(found.logprob - expected.logprob) < 1e-3


@torch.no_grad()
def an_ensemble_is_the_mean_of_its_members(case: ModelCase) -> None:
    one, other = case.random(seed=1), case.random(seed=2)
    source = sources()
    targets = [[3, 1, 4], [], [5, 9, 2, 6, 5], [10]]
    found = score(Ensemble([one, other]), source, targets)
    for row, target, scores in zip(source, targets, found, strict=True):
        fed, expected_ids = torch.tensor([[PAD, *target]]), torch.tensor([*target, 0])
        each = [model(row[row != PAD][None], fed)[0].softmax(-1) for model in (one, other)]
        expected = ((each[0] + each[1]) / 2)[torch.arange(len(expected_ids)), expected_ids].log()
        torch.testing.assert_close(torch.tensor(scores.token_logprobs), expected, rtol=1e-4, atol=1e-5)


CHECKS = (
    no_search_depends_on_the_batch,
    finished_sentences_leave_the_batch,
    no_beam_finds_more_than_exact_search,
    demands_are_met_and_cost_what_the_model_says,
    an_ensemble_is_the_mean_of_its_members,
)
