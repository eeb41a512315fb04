"""Calibration of quantiles: the order statistics by hand, and coverage of noise whose distribution is known."""

import numpy as np
import pytest

from regard.metrics.calibration import LEAST_SCORES, conformal_quantile, corrections
from regard.metrics.forecasting import intervals

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def test_the_order_statistic_by_hand() -> None:
    scores = np.array([5.0, 1.0, 4.0, 2.0, 3.0])
    assert conformal_quantile(scores, 0.5) == 3.0  # ceil(6 * 0.5) = 3
    assert conformal_quantile(scores, 0.8) == 5.0  # ceil(6 * 0.8) = 5
    assert conformal_quantile(scores, 0.9) == 5.0  # ceil(6 * 0.9) = 6: there is no sixth
    assert conformal_quantile(np.arange(1.0, 10.0), 0.9) == 9.0  # 10 * 0.9 is 9, whatever its last bit


def test_corrections_by_hand() -> None:
    truth = np.arange(1.0, 101.0)[:, None]  # one step, 100 windows
    levels = np.zeros((100, 1, 3))
    levels[..., 2] = 90.0  # an interval from 0 to 90 of which ten values are above
    found = corrections(truth, levels, np.full(100, 2.0), (0.1, 0.5, 0.9))
    # scores max(0 - y, y - 90): ceil(101 * 0.8) = 81st smallest; they fall up to y = 45 and rise again
    scores = np.sort(np.maximum(-truth, truth - 90.0).ravel() / 2.0)
    assert found.tolist() == [[-scores[80], 0.0, scores[80]]]
    lone = corrections(truth, levels[..., 2:], np.full(100, 2.0), (0.9,))
    assert lone.tolist() == [[(91.0 - 90.0) / 2.0]]  # the 91st of 100 values y - 90, in units of 2
    low = corrections(-truth, -levels[..., 2:], np.full(100, 2.0), (0.1,))
    assert low.tolist() == [[-0.5]]


def test_steps_with_few_windows_share_their_correction() -> None:
    generator = np.random.default_rng(1)

    def groups(windows: int) -> int:
        truth = generator.normal(size=(windows, 12))
        found = corrections(truth, np.zeros((windows, 12, 5)), np.ones(windows), QUANTILES)
        assert (found[:, 2] == 0.0).all()
        assert (found[:, ::4] == -found[:, ::-4]).all()
        return len(np.unique(found[:, 4]))

    assert groups(3) == 1  # 36 scores in all
    assert groups(LEAST_SCORES // 2) == 6
    assert groups(LEAST_SCORES) == 12


@pytest.mark.parametrize("factor", [0.0, 0.4, 2.5])
def test_intervals_of_a_wrong_width_cover_their_share(factor: float) -> None:
    """Noise with another spread at every step and window, and quantiles that are too narrow or too wide by `factor`."""
    generator = np.random.default_rng(7)
    windows, horizon = 4000, 3
    normal = np.array([-1.644854, -0.674490, 0.0, 0.674490, 1.644854])
    scale = np.exp(generator.normal(size=2 * windows))
    spread = scale[:, None] * np.array([0.5, 1.0, 3.0])
    truth = spread * generator.normal(size=(2 * windows, horizon))
    levels = factor * spread[..., None] * normal
    found = corrections(truth[:windows], levels[:windows], scale[:windows], QUANTILES)
    calibrated = np.sort(levels[windows:] + found * scale[windows:, None, None], axis=-1)
    new = truth[windows:]
    for share, (low, high) in intervals(QUANTILES).items():
        covered = ((calibrated[..., low] <= new) & (new <= calibrated[..., high])).mean(axis=0)
        # twice the variance of a share, for the share is estimated on the first half too
        error = np.sqrt(2.0 * share * (1.0 - share) / windows)
        assert np.abs(covered - share).max() < 4.0 * error, (share, covered)


def test_few_windows_cover_at_least_their_share_on_average() -> None:
    """With n exchangeable scores the coverage of a new value is between share and share + 1 / (n + 1), in the mean over draws."""
    generator = np.random.default_rng(3)
    n, draws = 19, 20_000
    scores = generator.normal(size=(draws, n + 1))
    covered = np.mean([new <= conformal_quantile(own, 0.9) for *own, new in scores.tolist() for own in [np.array(own)]])
    assert 0.9 - 0.01 < covered < 0.9 + 1 / (n + 1) + 0.01
