"""Edits, wrong words and brackets, against numbers worked out by hand and against an independent distance."""

import random
from functools import cache

import pytest

from regard.metrics.scores import METRICS
from regard.metrics.systems import chosen_scores, group_table, score_systems, scores_by_group
from regard.metrics.tokens import balanced_outputs, edit_distance, wrong_words


def slow_distance(left: str, right: str) -> int:
    """The recurrence as it is written down (Levenshtein 1966)."""

    @cache
    def rest(i: int, j: int) -> int:
        if i == len(left) or j == len(right):
            return len(left) - i + len(right) - j
        return min(rest(i + 1, j) + 1, rest(i, j + 1) + 1, rest(i + 1, j + 1) + (left[i] != right[j]))

    return rest(0, 0)


def test_edit_distance() -> None:
    assert edit_distance("kitten", "sitting") == 3
    generator = random.Random(1)
    for _ in range(60):
        left, right = ("".join(generator.choices("abc", k=generator.randrange(9))) for _ in range(2))
        assert edit_distance(left, right) == slow_distance(left, right) == edit_distance(right, left)


def scores(hypotheses: list[str], *references: list[str], names: tuple[str, ...] = ("per", "wer")) -> dict[str, float]:
    [found] = score_systems([hypotheses], list(references), names, resamples=0)
    return {name: score.value for name, score in found.items()}


def test_per_and_wer_by_hand() -> None:
    """4 tokens and 1 edit, 2 tokens and 2 edits (one deletion, one substitution), 3 tokens and none."""
    found = scores(["K AE T S", "AA", "D AO G"], ["K AE T Z", "B IY", "D  AO G"])
    assert found == {"per": pytest.approx(3 / 9), "wer": pytest.approx(2 / 3)}


def test_the_best_alternative_counts() -> None:
    found = scores(["R IY D", "T UW"], ["R EH D", "T UW"], ["R IY D", ""])  # a blank line is no alternative
    assert found == {"per": 0.0, "wer": 0.0}
    longer = scores(["A B"], ["A C"], ["A B C D E F"])  # 1 edit of 2 tokens, 4 of 6
    assert longer["per"] == pytest.approx(1 / 2)
    assert scores(["A B C D"], ["A C"], ["A B C D X X"])["per"] == pytest.approx(2 / 6)  # though both take two edits


def test_the_name_of_wrong_words_is_not_that_of_edits() -> None:
    """Two edits of ten words are one wrong line of one."""
    row = METRICS["wer"]
    [found] = score_systems([["a b c d e f g h x y"]], [["a b c d e f g h i j"]], ["wer", "per"], resamples=0)
    assert row.line(found["wer"].value) == "wrong words 100.00 %"
    assert found["per"].value == pytest.approx(0.2)


def test_wrong_words_ignore_spaces_alone() -> None:
    assert wrong_words(["a  b", "a b", "a B"], ["a b", "b a", "a b"]) == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        ("(S (NP a ) )", True),
        ("( [ { } ] ) ( )", True),
        ("( [ ) ]", False),
        (") (", False),
        ("( (", False),
        ("no brackets", False),
        ("", False),
    ],
)
def test_brackets(text: str, sound: bool) -> None:
    assert balanced_outputs([text], ["(S a )"]) == [float(sound)]


def test_brackets_are_not_needed_where_the_reference_has_none() -> None:
    assert balanced_outputs(["a", "a )"], ["b", "b"]) == [1.0, 0.0]


def test_they_are_computed_only_on_request() -> None:
    assert {"per", "wer", "valid_brackets"}.isdisjoint(chosen_scores(None, 1))
    assert chosen_scores(["per", "wer"], 2) == ["per", "wer"]
    assert METRICS["per"].line(0.0523) == "PER 5.23 %"


def test_scores_of_groups_are_those_of_each_by_itself() -> None:
    hypotheses, references = ["a", "b", "c", "d"], ["a", "x", "c", "d"]
    found = scores_by_group(["one", "one", "two", "two"], hypotheses, [references], ["exact_match"], sources=hypotheses)
    assert found == {"one": {"sentences": 2, "exact_match": 0.5}, "two": {"sentences": 2, "exact_match": 1.0}}
    assert group_table(found).splitlines() == [
        "",
        "group       sentences     exact_match",
        "one                 2           0.500",
        "two                 2           1.000",
    ]
    assert group_table({}) == ""
