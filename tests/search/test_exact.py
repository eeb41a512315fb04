"""Exact search against exhaustive search, and what it says of itself against what it did."""

import math

import pytest
import torch

from regard.errors import SearchError
from regard.search import exact as module
from regard.search.beam import beam
from regard.search.exact import exact
from regard.search.exhaustive import exhaustive
from regard.search.expansion import Branching
from search.comparing import assert_same, plain
from search.toy import TableStepper, ToyStepper, padded, random_sources

NO_SOURCE = torch.zeros((1, 1), dtype=torch.long)


@pytest.mark.parametrize("together", [1, 3, 64])
@pytest.mark.parametrize(("vocabulary", "max_length"), [(2, 6), (4, 4), (7, 3)])
def test_it_finds_the_best_of_all(
    vocabulary: int, max_length: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TOGETHER", together)
    better = 0
    for seed in range(8):
        stepper = ToyStepper(vocabulary, seed, end_bias=-(seed % 3), sharpness=(0.5, 1.0, 2.0)[seed % 3])
        source = padded(random_sources(3, seed))
        best = exhaustive(stepper, source, max_length=max_length)
        narrow = beam(stepper, source, width=1, alpha=0.0, max_length=max_length)
        for found, expected, [first] in zip(
            exact(stepper, source, max_length=max_length, width=1), best, narrow, strict=True
        ):
            assert_same(found, plain(expected))
            assert found[0].proof is not None
            assert found[0].proof.proved
            better += found[0].tokens != first.tokens
    assert better > 2, "a beam that always finds the best would prove nothing"


def test_each_sentence_has_its_own_limit() -> None:
    stepper = ToyStepper(4, 2, end_bias=-1.0)
    sources = random_sources(4, 2)
    limits = [1, 4, 2, 3]
    rows = exact(stepper, padded(sources), max_length=torch.tensor(limits))
    for source, limit, found in zip(sources, limits, rows, strict=True):
        assert_same(found, plain(exhaustive(stepper, padded([source]), max_length=limit)[0]))


def test_what_the_bound_leaves_out_by_hand() -> None:
    # The beam of one finds (1, 1) = 0.5 * 0.4 = 0.2. Of the first tokens, ending has 0.1 and 2 has 0.4; (2, 1) has 0.36, the best.
    table = {(): [0.1, 0.5, 0.4], (1,): [0.3, 0.4, 0.3], (2,): [0.05, 0.9, 0.05]}
    told: list[Branching] = []
    [[found]] = exact(TableStepper(3, table), NO_SOURCE, max_length=4, width=1, watch=told.append)
    assert found.tokens == (2, 1)
    assert math.exp(found.logprob) == pytest.approx(0.36)
    # (), then (1) and (2), which may both lead to more than 0.2; then (2, 1) alone: 0.5 * 0.4 and 0.4 * 0.05 do not
    assert found.proof is not None
    assert (found.proof.nodes, found.proof.proved) == (4, True)
    assert [(one.numbers, one.parents, one.tokens, one.kept) for one in told] == [
        ([0], [0], [3], [2]),
        ([1, 2], [0, 0], [1, 2], [0, 1]),
        ([3], [2], [1], [0]),
    ]
    assert [math.exp(one.bound) for one in told] == pytest.approx([0.2, 0.2, 0.36])
    assert [math.exp(value) for value in told[1].endings] == pytest.approx([0.15, 0.02])


def test_nodes_are_the_partial_outputs_that_were_continued() -> None:
    stepper = ToyStepper(6, 2, end_bias=-3.0, sharpness=0.7)
    told: list[Branching] = []
    [[found]] = exact(stepper, padded([[3, 1]]), max_length=5, width=2, watch=told.append)
    assert found.proof is not None
    assert [number for one in told for number in one.numbers] == list(range(found.proof.nodes))
    assert found.proof.nodes > 20
    said = {0: ()}
    for one in told:
        for number, parent, token, logprob in zip(one.numbers, one.parents, one.tokens, one.logprobs, strict=True):
            if number:
                said[number] = (*said[parent], token)
            steps = [stepper.next_logprobs([3, 1], said[number][:at])[token] for at, token in enumerate(said[number])]
            assert logprob == pytest.approx(sum(steps), abs=1e-9)
    assert len(set(said.values())) == len(said), "nothing is continued twice"


def test_a_limit_of_nodes_is_kept_and_told() -> None:
    proved = set()
    for seed in range(4):
        stepper = ToyStepper(6, seed, end_bias=-1.5, sharpness=0.7)
        source = padded([[3, 1]])
        [[whole]] = exact(stepper, source, max_length=5, width=2)
        [[first]] = beam(stepper, source, width=2, alpha=0.0, max_length=5)
        assert whole.proof is not None
        needed = whole.proof.nodes
        for limit in {1, 2, needed // 2, needed - 1, needed, needed + 1} - {0}:
            [[found]] = exact(stepper, source, max_length=5, width=2, node_limit=limit)
            assert found.proof is not None
            assert found.proof.nodes == min(limit, needed)
            assert found.proof.proved == (limit >= needed)
            assert first.logprob <= found.logprob <= whole.logprob or not first.finished
            proved.add(found.proof.proved)
    assert proved == {True, False}


def test_memory_goes_only_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    """`stepper.State` forbids going on from an older state: a model that reuses its memory must still be searched."""

    class Forgetful(ToyStepper):
        latest = 0

        def start(self, source, prefix=None):  # type: ignore[no-untyped-def]
            return self.marked(super().start(source, prefix))

        def step(self, tokens, state, record=False):  # type: ignore[no-untyped-def]
            assert state.mark == self.latest, "an older state was used"
            logits, inner, seen = super().step(tokens, state.inner, record)
            return logits, self.marked(inner), seen

        def marked(self, inner):  # type: ignore[no-untyped-def]
            self.latest += 1
            return Marked(inner, self, self.latest)

    class Marked:
        def __init__(self, inner, owner, mark):  # type: ignore[no-untyped-def]
            self.inner, self.owner, self.mark = inner, owner, mark

        def reorder(self, sentences, parents):  # type: ignore[no-untyped-def]
            assert self.mark == self.owner.latest, "an older state was reordered"
            return self.owner.marked(self.inner.reorder(sentences, parents))

    monkeypatch.setattr(module, "TOGETHER", 4)
    stepper = Forgetful(5, 1, end_bias=-1.0, sharpness=0.5)
    source = padded([[3, 1], [2]])
    rows = exact(stepper, source, max_length=4, width=2)
    for found, expected in zip(
        rows, exhaustive(ToyStepper(5, 1, end_bias=-1.0, sharpness=0.5), source, max_length=4), strict=True
    ):
        assert_same(found, plain(expected))


def test_what_cannot_end_is_not_called_proved() -> None:
    table = {(): [0.0, 1.0], (1,): [0.0, 1.0], (1, 1): [0.0, 1.0]}
    [[found]] = exact(TableStepper(2, table), NO_SOURCE, max_length=2)
    assert not found.finished
    assert found.proof is not None
    assert not found.proof.proved


def test_no_sentences_give_no_results() -> None:
    assert exact(ToyStepper(5, 0), torch.empty((0, 3), dtype=torch.long), max_length=4) == []


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(SearchError, match="node_limit = 0"):
        exact(ToyStepper(5, 0), padded([[1]]), max_length=4, node_limit=0)
