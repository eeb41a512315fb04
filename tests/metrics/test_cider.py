"""CIDEr-D against numbers worked out by hand, and against numbers of the COCO evaluation's own code."""

from math import exp, log, sqrt

import pytest

from regard.errors import ConfigError
from regard.metrics.cider import cider
from regard.metrics.scores import METRICS
from regard.metrics.systems import chosen_scores, score_systems


def test_two_pictures_by_hand() -> None:
    # Every n-gram is in one of two pictures: idf = log 2, which cancels in the cosine. "red" and "square" differ of "red circle":
    # n = 1: 1 / (sqrt(2) sqrt(2)), n = 2, 3, 4: nothing in common.
    scores = cider(["red circle", "blue square"], [["red square", "blue square"]])
    # "square" is in the references of both pictures: idf 0. So the second caption has the weights (blue, log 2) alone.
    assert scores[0] == pytest.approx(10 * (1 / sqrt(2)) / 4)
    assert scores[1] == pytest.approx(10 * (1 + 1) / 4)


def test_a_repeated_word_is_clipped_and_a_longer_caption_costs() -> None:
    [score, _] = cider(["dog dog dog", "cat"], [["dog", "cat"]])
    clipped = (1 * log(2)) * log(2) / (3 * log(2) * log(2))
    assert score == pytest.approx(10 * clipped / 4 * exp(-(2**2) / (2 * 36)))


def test_the_mean_over_several_references() -> None:
    both = cider(["a b", "x"], [["a b", "x"], ["c d", None]])
    assert both[0] == pytest.approx(cider(["a b", "x"], [["a b", "x"]])[0] / 2)
    assert both[1] == pytest.approx(cider(["a b", "x"], [["a b", "x"]])[1])


def test_the_numbers_of_the_coco_evaluation() -> None:
    """Made once by `CiderScorer(n=4, sigma=6)` of pycocoevalcap 1.2, which has no other role here."""
    hypotheses = ["a red circle above a blue square", "two two green stars at the top", "a dog"]
    first = ["a red circle above a blue square", "two green stars at the top", "a white cross on the left"]
    second = ["a blue square below a red circle", "two stars", "one cross"]
    expected = [7.35789898, 4.71296998, 0.06188011]
    assert cider(hypotheses, [first, second]) == pytest.approx(expected, abs=1e-8)


def test_case_and_punctuation_do_not_count() -> None:
    plain = ["un carré bleu à droite d'une étoile", "deux croix"]
    assert cider(["Un carré bleu, à droite d'une étoile.", "Deux croix!"], [plain]) == pytest.approx(
        cider(plain, [plain])
    )


def test_the_row_has_intervals_and_is_no_score_of_translations() -> None:
    lines = [f"word{number} of line {number % 3}" for number in range(12)]
    [scores] = score_systems([lines], [lines], ["cider"], resamples=50)
    assert scores["cider"].value == pytest.approx(sum(cider(lines, [lines])) / 12)
    assert scores["cider"].interval is not None
    assert METRICS["cider"].number(scores["cider"].value) == f"{scores['cider'].value:.2f}"
    with pytest.raises(ConfigError, match="--metric cider: not one of"):
        chosen_scores(["cider"], 1)
