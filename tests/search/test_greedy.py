"""Greedy search against a walk in plain Python, and what must not change it."""

import torch

from regard.search.candidates import most_probable
from regard.search.greedy import greedy
from search.toy import TableStepper, ToyStepper, padded, random_sources


def naive_greedy(stepper: ToyStepper, source: list[int], max_length: int) -> tuple[tuple[int, ...], float, bool]:
    said: tuple[int, ...] = ()
    total = 0.0
    while True:
        logprobs = stepper.next_logprobs(source, said)
        token = max(range(len(logprobs)), key=logprobs.__getitem__)
        if token == 0:
            return said, total + logprobs[0], True
        if len(said) == max_length:
            return said, total, False
        said, total = (*said, token), total + logprobs[token]


def test_it_takes_the_most_probable_token_at_each_step() -> None:
    ends = set()
    for seed in range(20):
        stepper = ToyStepper(7, seed, end_bias=seed % 3)
        sources = random_sources(6, seed)
        for source, [found] in zip(sources, greedy(stepper, padded(sources), max_length=5), strict=True):
            tokens, logprob, finished = naive_greedy(stepper, source, 5)
            assert (found.tokens, found.finished) == (tokens, finished)
            assert abs(found.logprob - logprob) < 1e-9
            assert found.score == found.logprob
            ends.add((finished, len(tokens)))
    assert {(False, 5), (True, 5)} <= ends, "both ends at the longest length must have been met"


def test_each_sentence_has_its_own_limit() -> None:
    stepper = ToyStepper(7, 1, end_bias=-9.0)
    [[one], [two]] = greedy(stepper, padded([[3], [3]]), max_length=torch.tensor([2, 4]))
    assert (len(one.tokens), len(two.tokens)) == (2, 4)
    assert two.tokens[:2] == one.tokens
    assert not one.finished


def test_the_score_is_normalised_on_request() -> None:
    stepper = ToyStepper(7, 1, end_bias=-9.0)
    [[found]] = greedy(stepper, padded([[3]]), max_length=4, alpha=0.5)
    assert abs(found.score - found.logprob / 2.0) < 1e-12


def test_finished_sentences_leave_the_batch() -> None:
    stepper = ToyStepper(7, 0, end_bias=1.0)
    sources = random_sources(12, 0)
    found = [hypothesis for [hypothesis] in greedy(stepper, padded(sources), max_length=8)]
    steps = [len(hypothesis.tokens) + 1 for hypothesis in found]
    assert [size for size, _ in stepper.fed] == [sum(count > step for count in steps) for step in range(max(steps))]
    assert len(set(steps)) > 2


def test_a_sentence_does_not_depend_on_its_batch() -> None:
    stepper = ToyStepper(9, 3, end_bias=1.0)
    sources = random_sources(8, 3)
    together = greedy(stepper, padded(sources), max_length=6)
    alone = [greedy(stepper, padded([source]), max_length=6)[0] for source in sources]
    assert [[found.tokens for found in row] for row in together] == [[found.tokens for found in row] for row in alone]


def test_the_record_follows_the_hypothesis() -> None:
    stepper = ToyStepper(7, 5, end_bias=2.0)
    sources = random_sources(6, 5)
    lengths = set()
    for source, [found] in zip(sources, greedy(stepper, padded(sources), max_length=4, record=True), strict=True):
        expected = stepper.attention_rows(source, found.tokens)[: len(found.tokens) + found.finished]
        assert found.attention is not None
        assert found.attention.shape == (len(expected), padded(sources).shape[1])
        torch.testing.assert_close(found.attention[:, : len(source)], torch.from_numpy(expected))
        lengths.add((len(found.tokens), found.finished))
    assert len(lengths) > 1


def test_no_sentences_give_no_results() -> None:
    assert greedy(ToyStepper(5, 0), torch.empty((0, 3), dtype=torch.long), max_length=4) == []


def test_half_precision_logits_are_normalised_in_float32() -> None:
    class Half(TableStepper):
        def step(self, tokens, state, record=False):  # type: ignore[no-untyped-def]
            logits, state, seen = super().step(tokens, state, record)
            return logits.to(torch.bfloat16), state, seen

    [[found]] = greedy(Half(3, {(): [0.25, 0.5, 0.25]}), torch.zeros((1, 1), dtype=torch.long), max_length=2)
    logits = torch.tensor([0.25, 0.5, 0.25]).log().to(torch.bfloat16).float()
    assert found.tokens == (1,)
    assert abs(found.logprob - float(logits.log_softmax(0)[1])) < 1e-6


def test_the_maximum_by_blocks_is_the_first_of_equals() -> None:
    generator = torch.Generator().manual_seed(4)
    for outputs in (3, 64, 100, 128, 200):
        gains = torch.randint(-4, 1, (50, outputs), generator=generator).float()  # many equals
        gains[3] = -torch.inf
        gains[7, outputs // 2] = torch.nan
        values, tokens = most_probable(gains)
        expected, first = gains.max(dim=-1)
        assert torch.equal(tokens, first)
        torch.testing.assert_close(values, expected, equal_nan=True)
