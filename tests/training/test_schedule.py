"""Learning rates worked out by hand."""

import pytest

from regard.training.schedule import learning_rate


def rate(
    schedule: str, step: int, *, warmup: int = 0, progress: float = 0.0, highest: float = 1.0, full: bool = False
) -> float:
    return learning_rate(schedule, highest, step=step, warmup=warmup, progress=progress, width=512, full_warmup=full)


def test_warm_up_rises_in_a_straight_line() -> None:
    assert [rate("constant", step, warmup=4) for step in (1, 2, 4, 9)] == [0.25, 0.5, 1.0, 1.0]


def test_warm_up_takes_no_more_than_a_fifth_of_a_short_run() -> None:
    ten_steps = [rate("constant", step, warmup=200, progress=(step - 1) / 10) for step in (1, 2, 3, 10)]
    assert ten_steps == [1 / 200, 0.5, 1.0, 1.0]


def test_a_full_warm_up_keeps_a_short_run_at_low_rates() -> None:
    """The highest rate of 20 steps is 10 / 100 of the whole, half of which is gone by then; a run of 500 sees no difference."""
    rates = [rate("linear", step, warmup=100, progress=(step - 1) / 20, full=True) for step in range(1, 21)]
    assert max(rates) == pytest.approx(0.1 * 11 / 20)
    for step in (1, 50, 100, 101, 499):
        progress = (step - 1) / 500
        assert rate("linear", step, warmup=100, progress=progress, full=True) == pytest.approx(
            rate("linear", step, warmup=100, progress=progress)
        )


def test_linear_and_cosine_end_at_zero() -> None:
    assert rate("linear", 50, progress=0.25) == 0.75
    assert rate("linear", 50, progress=1.0) == 0.0
    assert rate("cosine", 50, progress=0.5) == pytest.approx(0.5)
    assert rate("cosine", 50, progress=1.0) == pytest.approx(0.0)


def test_a_clock_that_overruns_never_turns_the_rate_negative() -> None:
    assert rate("linear", 50, progress=1.02) == 0.0


def test_inverse_sqrt_halves_at_four_times_the_warm_up() -> None:
    assert rate("inverse_sqrt", 100, warmup=100) == 1.0
    assert rate("inverse_sqrt", 400, warmup=100) == pytest.approx(0.5)


def test_noam_is_the_papers_equation() -> None:
    """512^-0.5 min(s^-0.5, s 4000^-1.5): its peak, at step 4000, is about 7e-4."""
    assert rate("noam", 4000, warmup=4000) == pytest.approx(512**-0.5 * 4000**-0.5)
    assert rate("noam", 4000, warmup=4000) == pytest.approx(6.99e-4, rel=1e-3)
    assert rate("noam", 1000, warmup=4000) == pytest.approx(rate("noam", 4000, warmup=4000) / 4)
    assert rate("noam", 16000, warmup=4000) == pytest.approx(rate("noam", 4000, warmup=4000) / 2)
