"""Systems, references and intervals against sacrebleu, and the rules for missing references by hand."""

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from metrics.test_significance import damaged, references
from regard.errors import ConfigError, DataError
from regard.metrics.scores import METRICS, Metric
from regard.metrics.systems import chosen_scores, present_references, score_systems

SACREBLEU = {"bleu": BLEU, "chrf": CHRF, "ter": TER}
TRUTH = references()
OTHER = damaged(TRUTH, 0.2, 9)
FIRST, SECOND = damaged(TRUTH, 0.3, 4), damaged(TRUTH, 0.25, 5)


@pytest.mark.parametrize("name", SACREBLEU)
@pytest.mark.parametrize("lists", [[TRUTH], [TRUTH, OTHER], [TRUTH, OTHER, damaged(TRUTH, 0.1, 8)]])
def test_values_signatures_and_intervals_are_those_of_sacrebleu(
    name: str, lists: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    [scores] = score_systems([FIRST], lists, [name], resamples=200)
    theirs = SACREBLEU[name]()
    plain = theirs.corpus_score(FIRST, lists)
    assert scores[name].value == pytest.approx(plain.score, abs=1e-8)
    assert scores[name].signature == str(theirs.get_signature())
    assert f"nrefs:{len(lists)}|" in str(theirs.get_signature())
    drawn = theirs.corpus_score(FIRST, lists, n_bootstrap=200)
    low, high = scores[name].interval
    # sacrebleu sums in 32 bits
    assert scores[name].mean == pytest.approx(drawn._mean, abs=1e-4)
    assert (high - low) / 2 == pytest.approx(drawn._ci, abs=1e-4)


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_without_case(name: str) -> None:
    upper = [line.upper() for line in FIRST]
    [scores] = score_systems([upper], [TRUTH, OTHER], [name], lowercase=True, resamples=0)
    theirs = SACREBLEU[name](lowercase=True)
    assert scores[name].value == pytest.approx(theirs.corpus_score(upper, [TRUTH, OTHER]).score, abs=1e-8)
    assert scores[name].signature == str(theirs.get_signature())
    assert "case:lc" in scores[name].signature
    assert scores[name].interval is None


def test_a_blank_line_beside_another_reference_is_no_reference() -> None:
    assert present_references([["a", "", " "], ["b", "c", ""]]) == [["a", None, " "], ["b", "c", ""]]
    blank = ["" if number % 3 == 0 else line for number, line in enumerate(OTHER)]
    missing = [line or None for line in blank]
    [scores] = score_systems([FIRST], [TRUTH, blank], list(SACREBLEU), resamples=0)
    for name, score in scores.items():
        theirs = SACREBLEU[name]()
        assert score.value == pytest.approx(theirs.corpus_score(FIRST, [TRUTH, missing]).score, abs=1e-8)
        assert score.signature == str(theirs.get_signature())
        assert "nrefs:var|" in score.signature


def test_of_several_references_the_best_one_counts() -> None:
    def lengths_apart(ours: list[str], right: list[str]) -> list[float]:
        return [float(abs(len(a) - len(b))) for a, b in zip(ours, right, strict=True)]

    distance = Metric("distance", "distance", "lower", sentence_scores=lengths_apart)
    [exact] = score_systems([["a", "b", "c"]], [["a", "x", ""], ["x", "b", "d"]], ["exact_match"], resamples=0)
    assert exact["exact_match"].value == 2 / 3
    counted = distance.count_by(references=2).count(["aaa", "bbb"], ["a", None], ["aaaa", "b"])
    assert counted.tolist() == [[1.0, 1.0], [2.0, 1.0]]
    assert distance.count_by().of_corpus(["aaa", "b"], ["", ""]) == 2.0


def test_further_systems_are_tested_against_the_first() -> None:
    first, second, same = score_systems([FIRST, SECOND, FIRST], [TRUTH], ["bleu"], resamples=200)
    assert first["bleu"].against is None
    assert second["bleu"].against.difference == pytest.approx(second["bleu"].value - first["bleu"].value)
    assert same["bleu"].against.p_value == 1.0
    assert second["bleu"].interval == score_systems([SECOND], [TRUTH], ["bleu"], resamples=200)[0]["bleu"].interval


def test_which_scores_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Metric("whole", "whole", compute=lambda ours, right: float(ours == right))
    monkeypatch.setitem(METRICS, "whole", whole)
    assert chosen_scores(None, 1) == ["bleu", "chrf", "ter", "exact_match", "whole"]
    assert chosen_scores([], 2) == ["bleu", "chrf", "ter", "exact_match"]  # it has no rule for several references
    assert chosen_scores(["ter", "whole", "ter"], 1) == ["ter", "whole"]
    [scores] = score_systems([TRUTH], [TRUTH], ["whole"], resamples=10)
    assert (scores["whole"].value, scores["whole"].interval) == (1.0, None)
    with pytest.raises(ConfigError, match="--metric whole: compares with one reference, not with 2"):
        chosen_scores(["whole"], 2)
    with pytest.raises(ConfigError, match=r"--metric accuracy: not one of bleu, chrf, ter, exact_match, .*, whole"):
        chosen_scores(["accuracy"], 1)


def test_unequal_and_empty_lists_are_refused() -> None:
    with pytest.raises(DataError, match="1 lines beside 2"):
        score_systems([["a"]], [["a", "b"]], ["bleu"])
    with pytest.raises(DataError, match="no sentences to score"):
        score_systems([[]], [[]], ["bleu"])
