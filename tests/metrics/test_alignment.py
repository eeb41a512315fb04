"""Alignment error rate on numbers computed by hand, and Pharaoh notation there and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.metrics.alignment import (
    Links,
    alignment_error_rate,
    flipped,
    joined,
    mass_on_gold,
    parse_pharaoh,
    to_pharaoh,
)

LINKS = st.frozensets(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=20)


def test_the_rates_by_hand() -> None:
    predicted = [frozenset({(0, 0), (1, 1), (2, 1), (3, 3)}), frozenset({(0, 1)})]
    sure = [frozenset({(0, 0), (1, 2), (3, 3)}), frozenset({(0, 0), (1, 1)})]
    possible = [frozenset({(2, 1)}), frozenset({(0, 1)})]
    # A = 5, S = 5; A∩S = (0,0), (3,3) = 2; A∩P with S inside P = those and (2,1) and the other sentence's (0,1) = 4
    found = alignment_error_rate(predicted, sure, possible)
    assert found.precision == pytest.approx(4 / 5)
    assert found.recall == pytest.approx(2 / 5)
    assert found.aer == pytest.approx(1 - (2 + 4) / (5 + 5))


def test_without_possible_links_it_is_one_minus_the_f_score() -> None:
    found = alignment_error_rate([frozenset({(0, 0), (1, 1), (2, 2)})], [frozenset({(0, 0), (1, 2)})])
    assert (found.precision, found.recall) == (pytest.approx(1 / 3), pytest.approx(1 / 2))
    assert found.aer == pytest.approx(1 - 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))


@given(st.lists(st.tuples(LINKS, LINKS, LINKS), max_size=5))
def test_rates_are_shares_and_the_gold_is_perfect(sentences: list[tuple[Links, Links, Links]]) -> None:
    predicted, sure, possible = (list(column) for column in zip(*sentences, strict=True)) if sentences else ([], [], [])
    found = alignment_error_rate(predicted, sure, possible)
    assert all(0.0 <= rate <= 1.0 for rate in (found.aer, found.precision, found.recall))
    perfect = alignment_error_rate(sure, sure, possible)
    assert (perfect.aer, perfect.precision, perfect.recall) == (0.0, 1.0, 1.0)
    both = [one | other for one, other in zip(possible, sure, strict=True)]
    assert alignment_error_rate(predicted, sure, both) == found


def test_nothing_predicted_finds_nothing() -> None:
    found = alignment_error_rate([frozenset()], [frozenset({(0, 0)})])
    assert (found.aer, found.precision, found.recall) == (1.0, 1.0, 0.0)


def test_the_mass_on_gold_by_hand() -> None:
    weights = [[[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [1.0, 0.0, 0.0]], [[0.25, 0.75]]]
    gold: list[Links] = [frozenset({(0, 0), (2, 0), (2, 1)}), frozenset({(0, 0), (7, 0)})]
    # 0.5 + 0.2; 0.8; a word without gold counts nothing; 0.25, and a source word that was cut off has no weight
    assert mass_on_gold(weights, gold) == pytest.approx((0.7 + 0.8 + 0.25) / 3)
    assert mass_on_gold(weights[:1], [frozenset()]) == 0.0


def test_unequal_lists_are_refused() -> None:
    with pytest.raises(DataError, match="2 predicted alignments for 1 sure and 1 possible"):
        alignment_error_rate([frozenset(), frozenset()], [frozenset()])
    with pytest.raises(DataError, match="1 predicted alignments for 1 sure and 2 possible"):
        alignment_error_rate([frozenset()], [frozenset()], [frozenset(), frozenset()])


def test_pharaoh_marks_sure_and_possible_links() -> None:
    sure, possible = parse_pharaoh(" 0-0  2-1 1p12\t3?4\n")
    assert sure == {(0, 0), (2, 1)}
    assert possible == {(0, 0), (2, 1), (1, 12), (3, 4)}
    assert parse_pharaoh("") == (frozenset(), frozenset())


@given(LINKS)
def test_pharaoh_goes_there_and_back(links: Links) -> None:
    assert parse_pharaoh(to_pharaoh(links)) == (links, links)


def test_links_are_written_in_order() -> None:
    assert to_pharaoh(frozenset({(10, 0), (2, 3), (2, 1)})) == "2-1 2-3 10-0"


@pytest.mark.parametrize("token", ["0-", "-1", "a-b", "1-2-3", "0--1", "1,2", "१-२", "0-99999999999999999999", "-1-2"])
def test_a_bad_link_is_named(token: str) -> None:
    with pytest.raises(DataError, match="alignment link") as refused:
        parse_pharaoh(f"0-0 {token}")
    assert repr(token) in str(refused.value)


def test_links_grow_from_what_both_say_by_hand() -> None:
    forward = frozenset({(0, 0), (1, 1), (2, 1), (4, 4)})
    backward = frozenset({(0, 0), (1, 1), (1, 2), (2, 2), (4, 0)})
    assert joined(forward, backward, "both") == {(0, 0), (1, 1)}
    assert joined(forward, backward, "either") == forward | backward
    # (1, 2) and (2, 1) touch (1, 1) and each joins a word that has no link; (2, 2) then joins none; (4, 0) and (4, 4) touch nothing
    assert joined(forward, backward, "grow-diag") == {(0, 0), (1, 1), (1, 2), (2, 1)}


@given(LINKS, LINKS)
def test_what_grows_lies_between_both_and_either(one: Links, other: Links) -> None:
    both, grown, either = (joined(one, other, rule) for rule in ("both", "grow-diag", "either"))
    assert both <= grown <= either
    assert joined(other, one, "grow-diag") == grown
    assert bool(grown) == bool(both)
    assert flipped(flipped(one)) == one
