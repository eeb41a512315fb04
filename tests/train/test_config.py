"""What a setting is when it is not given."""

import pytest

from regard.train.config import RATES, TrainConfig


@pytest.mark.parametrize("kind", list(RATES))
def test_each_optimiser_begins_with_a_rate_that_suits_it(kind: str) -> None:
    assert TrainConfig.parse({"optimizer": kind}).learning_rate == RATES[kind]
    assert TrainConfig.parse({"optimizer": kind, "learning_rate": 0.5}).learning_rate == 0.5


def test_the_rate_not_given_is_that_of_the_default_optimiser_and_noam_s_factor_is_one() -> None:
    assert TrainConfig().learning_rate == TrainConfig.parse({}).learning_rate == RATES[TrainConfig().optimizer]
    assert TrainConfig.parse({"optimizer": "adam", "schedule": "noam"}).learning_rate == 1.0
