"""The gain on held-out text, against the functions of `metrics` and numbers worked out by hand."""

import math

import pytest

from regard.metrics.significance import counted_metric, paired_test, resampled_scores
from regard.tasks.improve.arguments import JudgingArguments
from regard.tasks.improve.gain import HeldOut, compared

REFERENCES = [
    f"the {animal} sleeps near the {place} number {n}"
    for n in range(6)
    for animal, place in (("cat", "lake"), ("dog", "hill"))
]
BASELINE = [line.replace("near", "at").replace("number", "no") if n % 3 else line for n, line in enumerate(REFERENCES)]
BETTER = [line.replace("near", "at") if n % 4 == 0 else line for n, line in enumerate(REFERENCES)]
TEXT = HeldOut("validation", [("x", reference) for reference in REFERENCES])


def test_the_numbers_are_those_of_the_paired_bootstrap() -> None:
    judged = compared(TEXT, ["RUN", "new"], [BASELINE, BETTER], [(1.0, 1), (1.0, 1)], JudgingArguments(resamples=200))
    for name in ("bleu", "chrf"):
        metric = counted_metric(name)
        counts = [metric.count(lines, REFERENCES) for lines in (BASELINE, BETTER)]
        values = [metric.score(one.sum(axis=0)) for one in counts]
        sampled = resampled_scores(metric, counts, 200)
        expected = paired_test(values[:1], values[1:], sampled[:1], sampled[1:])
        baseline, better = (getattr(one, name) for one in judged.systems)
        assert baseline.against_baseline is None
        assert [baseline.value, better.value] == values
        assert better.against_baseline.model_dump() == {
            "difference": expected.difference,
            "interval": expected.interval,
            "p_value": expected.p_value,
        }
    assert judged.gain.difference > 0
    assert f"{judged.gain.difference:+.2f} BLEU" in judged.verdict()
    assert judged.significant == (judged.gain.p_value < 0.05)


def test_equal_models_gain_nothing() -> None:
    judged = compared(TEXT, ["RUN", "new"], [BASELINE, BASELINE], [(1.0, 1), (1.0, 1)], JudgingArguments(resamples=50))
    assert (judged.gain.difference, judged.gain.p_value) == (0.0, 1.0)
    assert "may be chance" in judged.verdict()


def test_perplexities_are_of_the_same_tokens() -> None:
    """Models with other vocabularies: both losses are divided by the tokens of RUN."""
    losses = [(8.0, 4), (6.0, 3)]  # each two nats for a token of its own
    judged = compared(TEXT, ["RUN", "new"], [BASELINE, BETTER], losses, JudgingArguments(resamples=10))
    assert [one.perplexity for one in judged.systems] == [pytest.approx(math.exp(2.0)), pytest.approx(math.exp(1.5))]
