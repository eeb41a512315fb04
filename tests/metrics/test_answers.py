"""Answers, diversity and summaries: numbers worked out by hand, and several references."""

import random
from itertools import pairwise

import pytest

from regard.errors import ConfigError
from regard.metrics.answers import answer_f1, exact_answers, normalised_answer
from regard.metrics.diversity import distinct
from regard.metrics.rouge import TYPES, rouge
from regard.metrics.scores import METRICS
from regard.metrics.systems import chosen_scores, score_systems


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("The Cat.", "cat"),
        ("an  apple, a day", "apple day"),
        ("U.S.A.", "usa"),  # punctuation goes before articles: "U.S.A." has no word "a"
        ("theatre", "theatre"),
        ("the", ""),
        ("1,000 km", "1000 km"),
    ],
)
def test_the_normalisation_of_squad(text: str, normalised: str) -> None:
    assert normalised_answer(text) == normalised


def test_answers_by_hand() -> None:
    hypotheses = ["The grey cat", "grey dog", "in Oslo town", "", "cat cat"]
    references = ["a grey cat", "grey cat", "Oslo", "the", "cat"]
    assert exact_answers(hypotheses, references) == [1.0, 0.0, 0.0, 1.0, 0.0]
    # 2 P R / (P + R): 1/2 and 1/2; 1/3 and 1; both empty; the repeated word counts once: 1/2 and 1
    assert answer_f1(hypotheses, references) == pytest.approx([1.0, 0.5, 0.5, 1.0, 2 / 3])
    assert answer_f1(["cat", ""], ["dog", "dog"]) == [0.0, 0.0]


def test_of_several_answers_the_best_counts() -> None:
    [scores] = score_systems([["oslo town", "cat"]], [["lima", "dog"], ["oslo", "the cat"]], ["answer_f1"], resamples=0)
    assert scores["answer_f1"].value == pytest.approx((2 / 3 + 1) / 2)


def test_distinct_by_hand() -> None:
    texts = ["I do not know", "i do not care", "yes"]
    assert distinct(texts, 1) == pytest.approx(6 / 9)  # i do not know care yes, of 4 + 4 + 1 words
    assert distinct(texts, 2) == pytest.approx(4 / 6)  # "i do" and "do not" come twice
    assert distinct(["yes", ""], 2) == 0.0


def test_rouge_by_hand() -> None:
    pytest.importorskip("rouge_score")
    hypothesis, reference = "the cats sat on a mat", "the cat was on the mat"
    [scores] = score_systems([[hypothesis]], [[reference]], ["rouge1", "rouge2", "rougeL"], resamples=0)
    # stems the, cat, on, mat are in both, of 6 words each; the bigram "the cat", of 5 each; in this order all four
    values = {name: score.value for name, score in scores.items()}
    assert values == pytest.approx({"rouge1": 100 * 4 / 6, "rouge2": 100 * 1 / 5, "rougeL": 100 * 4 / 6})


def test_of_several_summaries_the_best_counts_for_each_text() -> None:
    pytest.importorskip("rouge_score")
    hypotheses = ["a b c d", "x y"]
    references = [["a b", "x y"], ["q r s t", ""]]  # the second text has one summary
    [scores] = score_systems([hypotheses], references, ["rouge1"], resamples=0)
    # words of one letter are words: 2 of 4 and 2 of 2, F1 = 2/3; and 1
    assert scores["rouge1"].value == pytest.approx(100 * (2 / 3 + 1) / 2)


def test_rouge_knows_every_script() -> None:
    """By hand: 3 of 4 characters of Japanese and of Thai, 2 of 3 words of accents; marks belong to their letters."""
    pytest.importorskip("rouge_score")
    texts = {"猫が寝る": "犬が寝る", "กินขาว": "กินขาด", "Ééé àèù, déjà": "ééé àèù là", "кот спит": "кот спит"}
    for text, other in texts.items():
        assert rouge("rouge1", [text], [text]) == [pytest.approx(100.0)]
        share = {"猫": 3 / 4, "ก": 3 / 4, "É": 2 / 3, "к": 1.0}[text[0]]
        assert rouge("rouge1", [text], [other]) == [pytest.approx(100 * share)]
    assert rouge("rouge2", ["क्या हाल है"], ["क्या हाल था"]) == [pytest.approx(50.0)]
    assert rouge("rouge1", ["e\u0301te\u0301"], ["été"]) == [pytest.approx(100.0)]
    assert rouge("rougeL", ["—"], ["。"]) == [0.0]


def test_rouge_of_english_is_that_of_the_package() -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer")
    generator = random.Random(4)
    characters = "".join(map(chr, range(128)))
    words = ["running", "Runs", "don't", "F1-score", "a_b", "x", "GPUs", "3.5%", "studies", "studied", "\x1f", ""]
    texts = [" ".join(generator.choices(words, k=12)) for _ in range(60)]
    texts += ["".join(generator.choices(characters, k=40)) for _ in range(60)]
    for kind in TYPES:
        theirs = scorer.RougeScorer([kind], use_stemmer=True)
        expected = [100.0 * theirs.score(right, left)[kind].fmeasure for left, right in pairwise(texts)]
        assert rouge(kind, texts[:-1], texts[1:]) == expected
        mixed = [f"{text} naïve λ-terms ’ “" for text in words]
        expected = [100.0 * theirs.score(right, left)[kind].fmeasure for left, right in pairwise(mixed)]
        assert rouge(kind, mixed[:-1], mixed[1:]) == expected, "English with some other letters"


def test_scores_of_one_kind_of_task_are_computed_on_request() -> None:
    names = {"rouge1", "rouge2", "rougeL", "answer_match", "answer_f1", "distinct1", "distinct2"}
    assert all(METRICS[name].on_request for name in names)
    assert not names & set(chosen_scores(None, 1))
    assert chosen_scores(["answer_f1", "rouge1"], 3) == ["answer_f1", "rouge1"]
    with pytest.raises(ConfigError, match="distinct1: reads no reference, and 2 are given; give one --ref"):
        chosen_scores(["distinct1"], 2)
