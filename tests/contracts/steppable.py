"""The contract of `search.Stepper`: decoding step by step equals teacher forcing.

Shapes: B sentences, k hypotheses each, S source, T target, V outputs.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from contracts.cases import PAD, ModelCase, prefixes, sources
from regard.search.beam import beam
from regard.search.exhaustive import exhaustive
from regard.search.greedy import greedy
from regard.search.hypothesis import Hypothesis
from regard.search.scoring import score

TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


def teacher_forced(model, source: Tensor, target_in: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    """(source [B, S], target_in [B, k, T]) -> logits [B, k, T, V], one sentence and hypothesis at a time, without any padding."""
    rows = [
        torch.cat(
            [model(source[b : b + 1, source[b] != PAD], target_in[b, j][None]) for j in range(target_in.shape[1])]
        )
        for b in range(target_in.shape[0])
    ]
    return torch.stack(rows)


class Lively:
    """A random model repeats itself for ever; this one, made of it, likes no token twice in a row and ends soon, but not at once."""

    def __init__(self, model) -> None:  # type: ignore[no-untyped-def]
        self.start_token, self.end_token = model.start_token, model.end_token
        self.start, self.model = model.start, model

    def step(self, tokens: Tensor, state, record: bool = False):  # type: ignore[no-untyped-def]
        logits, state, seen = self.model.step(tokens, state, record)
        avoided = tokens.masked_fill(tokens == self.start_token, self.end_token)
        wanted = F.one_hot(torch.full_like(tokens, self.end_token), logits.shape[-1])
        return 0.5 * logits - 4.0 * F.one_hot(avoided, logits.shape[-1]) + wanted, state, seen


@torch.no_grad()
def stepping_equals_teacher_forcing(case: ModelCase) -> None:
    model, source = case.random(), sources()
    target_in = prefixes(len(source), 3, 7)
    expected = teacher_forced(model, source, target_in)
    assert expected.std() > 0.1, "logits that are all alike would prove nothing"
    everyone = torch.arange(len(source))
    state = model.start(source).reorder(everyone, torch.zeros(len(source), 3, dtype=torch.long))
    for step in range(7):
        logits, state, seen = model.step(target_in[:, :, step], state)
        assert seen is None
        torch.testing.assert_close(logits, expected[:, :, step], **TOLERANCE)


@torch.no_grad()
def a_prefix_is_steps_taken_before(case: ModelCase) -> None:
    model, source = case.random(), sources()
    target_in = prefixes(len(source), 1, 6)
    expected = teacher_forced(model, source, target_in)
    state = model.start(source, prefix=target_in[:, 0, :4])
    for step in (4, 5):
        logits, state, _ = model.step(target_in[:, :, step], state)
        torch.testing.assert_close(logits, expected[:, :, step], **TOLERANCE)


@torch.no_grad()
def reordering_equals_computing_again(case: ModelCase) -> None:
    model, source = case.random(), sources()
    target_in = prefixes(len(source), 3, 4)
    state = model.start(source).reorder(torch.arange(len(source)), torch.zeros(len(source), 3, dtype=torch.long))
    for step in range(4):
        _, state, _ = model.step(target_in[:, :, step], state)
    # fewer sentences and more hypotheses, then the same sentences with fewer, permuted and repeated
    kept, parents = torch.tensor([0, 2, 3]), torch.tensor([[2, 0, 0, 1], [1, 1, 2, 0], [0, 1, 2, 2]])
    state = state.reorder(kept, parents)
    source, target_in = source[kept], target_in[kept[:, None], parents]
    fed = prefixes(3, 4, 2, seed=9)[:, :, 1]
    target_in = torch.cat([target_in, fed[..., None]], dim=2)
    logits, state, _ = model.step(fed, state)
    torch.testing.assert_close(logits, teacher_forced(model, source, target_in)[:, :, -1], **TOLERANCE)
    everyone, parents = torch.arange(3), torch.tensor([[3, 1], [0, 0], [2, 3]])
    state = state.reorder(everyone, parents)
    target_in = target_in[everyone[:, None], parents]
    fed = prefixes(3, 2, 2, seed=10)[:, :, 1]
    logits, _, _ = model.step(fed, state)
    target_in = torch.cat([target_in, fed[..., None]], dim=2)
    torch.testing.assert_close(logits, teacher_forced(model, source, target_in)[:, :, -1], **TOLERANCE)


@torch.no_grad()
def padding_changes_nothing(case: ModelCase) -> None:
    model, source = case.random().double(), sources()  # in single precision rounding alone may exceed the tolerance
    target_in = prefixes(len(source), 1, 5)
    more = torch.cat([source, torch.full((len(source), 4), PAD)], dim=1)
    torch.testing.assert_close(
        model(more, target_in[:, 0]), teacher_forced(model, source, target_in)[:, 0], **TOLERANCE
    )
    logits, _, _ = model.step(target_in[:, :, 0], model.start(more))
    torch.testing.assert_close(logits, model.step(target_in[:, :, 0], model.start(source))[0], **TOLERANCE)


@torch.no_grad()
def the_source_matters(case: ModelCase) -> None:
    """Without this, ignoring the source would pass for independence of the batch."""
    model, source = case.random(), sources()
    target_in = prefixes(1, 1, 5)[:, 0].expand(len(source), -1)
    logits = model(source, target_in)
    for row in range(1, len(source)):
        assert (logits[row] - logits[0]).abs().max() > 0.01


def a_sentence_does_not_depend_on_its_batch(case: ModelCase) -> None:
    source = sources((6, 3, 1, 5, 2, 4))
    for seed in range(1, 9):
        model = Lively(case.random(seed=seed))
        together = beam(model, source, width=3, max_length=8, nbest=3)
        target_in = {one.tokens for found in together for one in found}
        if len(target_in) > 4 and len({len(tokens) for tokens in target_in}) > 1:
            break
    else:
        raise AssertionError("results that are all alike would prove nothing")
    for row, found in zip(source, together, strict=True):
        [alone] = beam(model, row[row != PAD][None], width=3, max_length=8, nbest=3)
        assert_same(found, alone)


def a_beam_of_one_is_greedy(case: ModelCase) -> None:
    for seed in range(3):
        model, source = Lively(case.random(seed=seed)), sources((6, 3, 1, 5, 2, 4), seed=seed)
        narrow = beam(model, source, width=1, alpha=1.0, max_length=8)
        for found, expected in zip(narrow, greedy(model, source, max_length=8, alpha=1.0), strict=True):
            assert_same(found, expected)


def a_beam_as_wide_as_the_space_is_exhaustive(case: ModelCase) -> None:
    vocabulary, max_length = 4, 3  # three outputs: the end mark and two more
    model, source = case.random(vocabulary), sources((3, 1), vocabulary)
    for alpha in (0.0, 1.0):
        wide = beam(model, source, width=3 ** (max_length + 1), alpha=alpha, max_length=max_length, nbest=5)
        whole = exhaustive(model, source, alpha=alpha, max_length=max_length, nbest=5)
        for found, expected in zip(wide, whole, strict=True):
            assert_same(found, expected)


@torch.no_grad()
def log_probabilities_are_those_of_teacher_forcing(case: ModelCase) -> None:
    model, source = case.random(), sources()
    targets = [[3, 1, 4], [], [5, 9, 2, 6, 5], [10]]
    for row, target, found in zip(source, targets, score(model, source, targets), strict=True):
        logits = model(row[row != PAD][None], torch.tensor([[PAD, *target]]))[0]
        expected = logits.log_softmax(-1)[torch.arange(len(target) + 1), torch.tensor([*target, 0])]
        torch.testing.assert_close(torch.tensor(found.token_logprobs), expected, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def the_record_is_a_distribution_over_the_source(case: ModelCase) -> None:
    model, source = case.random(), sources()
    target_in = prefixes(len(source), 2, 2)
    state = model.start(source).reorder(torch.arange(len(source)), torch.zeros(len(source), 2, dtype=torch.long))
    logits, _, seen = model.step(target_in[:, :, 0], state, record=True)
    torch.testing.assert_close(logits, teacher_forced(model, source, target_in)[:, :, 0], **TOLERANCE)
    assert seen is not None
    assert seen.attention is not None
    places = model.patches if "looking" in case.capabilities else source.shape[1]
    assert seen.attention.shape == (len(source), 2, places)
    torch.testing.assert_close(seen.attention.sum(dim=-1), torch.ones(len(source), 2))
    if "looking" in case.capabilities:  # a picture has no padding
        return
    assert not seen.attention.masked_select((source == PAD)[:, None]).any(), "padding must not be looked at"


@torch.no_grad()
def without_attention_nothing_is_recorded(case: ModelCase) -> None:
    model, source = case.random(), sources()
    target_in = prefixes(len(source), 1, 2)
    logits, _, seen = model.step(target_in[:, :, 0], model.start(source), record=True)
    torch.testing.assert_close(logits, teacher_forced(model, source, target_in)[:, :, 0], **TOLERANCE)
    assert seen is None


def assert_same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    """Equal wherever the deciding gap is above 1e-4, as the design says: none is smaller in these models."""
    assert [(one.tokens, one.finished) for one in found] == [(one.tokens, one.finished) for one in expected]
    scores = torch.tensor([one.score for one in found]), torch.tensor([one.score for one in expected])
    torch.testing.assert_close(*scores, rtol=1e-4, atol=1e-4)


CHECKS = (
    stepping_equals_teacher_forcing,
    a_prefix_is_steps_taken_before,
    reordering_equals_computing_again,
    a_beam_of_one_is_greedy,
    a_beam_as_wide_as_the_space_is_exhaustive,
    log_probabilities_are_those_of_teacher_forcing,
)
ATTENDING_CHECKS = (the_record_is_a_distribution_over_the_source,)
BLIND_CHECKS = (without_attention_nothing_is_recorded,)
READING_CHECKS = (
    padding_changes_nothing,
    the_source_matters,
    a_sentence_does_not_depend_on_its_batch,
)
