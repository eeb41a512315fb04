"""How long a worker waits for more texts, with moments given by hand."""

from regard.serve.patience import LONGEST_WAIT, SHARE, Patience


def test_it_waits_from_the_arrival_of_the_first_text() -> None:
    assert Patience(0.25).until(arrived=8.0, waiting=1) == 8.25


def test_it_waits_for_as_many_as_there_were_lately() -> None:
    patience = Patience(0.25)
    patience.learn(texts=16, seconds=0.25, now=100.0)
    assert patience.until(arrived=90.0, waiting=9) == 100.0 + SHARE * 0.25
    assert patience.until(arrived=90.0, waiting=16) == 90.25  # all of them are there
    assert patience.until(arrived=200.0, waiting=1) == 200.25  # and that moment is over


def test_after_a_long_batch_it_does_not_wait_long() -> None:
    patience = Patience(0.002)
    patience.learn(texts=16, seconds=20.0, now=100.0)
    assert patience.until(arrived=99.0, waiting=9) == 100.0 + LONGEST_WAIT
    assert LONGEST_WAIT <= 0.05


def test_a_client_alone_is_not_made_to_wait_longer() -> None:
    patience = Patience(0.25)
    patience.learn(texts=1, seconds=20.0, now=100.0)
    assert patience.until(arrived=100.5, waiting=1) == 100.75


def test_without_a_delay_it_never_waits() -> None:
    patience = Patience(0.0)
    patience.learn(texts=16, seconds=20.0, now=100.0)
    assert patience.until(arrived=100.0, waiting=1) == 100.0
