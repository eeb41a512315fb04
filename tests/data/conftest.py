"""A cache of one test's own, and a guard against learning a vocabulary twice."""

import pytest

from regard.data import prepare as prepare_module


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def no_learning(monkeypatch):
    """Call it to make any further learning an error."""

    def forbid():
        def refuse(*_):
            raise AssertionError("learned again")

        monkeypatch.setattr(prepare_module, "learn_pair", refuse)

    return forbid
