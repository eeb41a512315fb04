"""Exhaustive search against every sequence that itertools can spell."""

import itertools

import pytest

from regard.errors import SearchError
from regard.search.exhaustive import LARGEST_SPACE, exhaustive
from search.toy import ToyStepper, padded, random_sources


def spelled(stepper: ToyStepper, source: list[int], vocabulary: int, max_length: int) -> dict[tuple[int, ...], float]:
    """log p of every sequence, each from its own product of probabilities."""
    result = {}
    for length in range(max_length + 1):
        for said in itertools.product(range(1, vocabulary), repeat=length):
            steps = [stepper.next_logprobs(source, said[:at])[token] for at, token in enumerate((*said, 0))]
            result[said] = sum(steps)
    return result


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0])
@pytest.mark.parametrize(("vocabulary", "max_length"), [(2, 4), (3, 4), (5, 3)])
def test_it_finds_the_best_of_all_sequences(vocabulary: int, max_length: int, alpha: float) -> None:
    for seed in range(3):
        stepper = ToyStepper(vocabulary, seed)
        sources = random_sources(2, seed)
        rows = exhaustive(stepper, padded(sources), max_length=max_length, alpha=alpha, nbest=5)
        for source, found in zip(sources, rows, strict=True):
            everything = spelled(stepper, source, vocabulary, max_length)
            assert len(everything) == sum((vocabulary - 1) ** length for length in range(max_length + 1))
            scores = {said: logprob / max(1, len(said)) ** alpha for said, logprob in everything.items()}
            expected = sorted(scores, key=lambda said: -scores[said])[:5]
            assert [one.tokens for one in found] == expected
            assert [one.logprob for one in found] == pytest.approx([everything[said] for said in expected], abs=1e-9)
            assert [one.score for one in found] == pytest.approx([scores[said] for said in expected], abs=1e-9)
            assert all(one.finished for one in found)


def test_all_sequences_and_the_mass_beyond_the_limit_sum_to_one() -> None:
    stepper = ToyStepper(3, 0, end_bias=6.0)
    [found] = exhaustive(stepper, padded([[4, 2]]), max_length=7, nbest=10_000)
    assert len(found) == 2**8 - 1
    assert sum(2.718281828459045**one.logprob for one in found) == pytest.approx(1.0, abs=1e-3)


def test_a_space_that_is_too_large_is_refused_with_its_size() -> None:
    with pytest.raises(SearchError) as refused:
        exhaustive(ToyStepper(60, 0), padded([[1]]), max_length=4)
    message = str(refused.value)
    assert "60 tokens" in message
    assert f"{60**4:,}" in message
    assert f"{LARGEST_SPACE:,}" in message
    assert "lower max_length to 2" in message
    assert "\n" not in message
    with pytest.raises(SearchError, match=r"about 10\^88.*use beam search"):
        exhaustive(ToyStepper(60, 0), padded([[1]]), max_length=50)
