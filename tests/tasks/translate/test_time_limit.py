"""A time limit and a stop signal of the served models, with both engines."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regard.engine import ct2
from regard.engine.batching import OUTPUT_TOKENS, length_batches
from regard.search import interruption
from regard.search.interruption import SearchStopped
from regard.search.options import MOST_POSITIONS, SearchOptions
from regard.tasks.load import load_served
from regard.tasks.translate.output_length import max_output_length
from regard.tasks.translate.translator import Translator
from tasks.bundles import TEXTS, random_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_bundle(tmp_path_factory.mktemp("bundle") / "b", ending=0.0)


@pytest.fixture(params=["torch", "ct2"])
def model(request: pytest.FixtureRequest, bundle: Path) -> Translator:
    if request.param == "ct2":
        pytest.importorskip("ctranslate2")
    served = load_served(bundle, engine=request.param)
    assert isinstance(served, Translator)
    return served


def ticking(monkeypatch: pytest.MonkeyPatch, step: float = 1.0) -> None:
    """A clock that moves each time a search reads it."""
    ticks = itertools.count()
    monkeypatch.setattr(interruption.time, "monotonic", lambda: next(ticks) * step)


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3, "nbest": 3}])
def test_a_limit_that_is_not_reached_changes_nothing(model: Translator, options: dict[str, Any]) -> None:
    expected = model.translate(TEXTS[:12], **options)
    assert model.translate(TEXTS[:12], time_limit=1000, **options) == expected
    assert model.translate(TEXTS[:12], stopped=lambda: False, **options) == expected


@pytest.mark.parametrize("beam", [1, 3])
def test_every_text_is_answered_when_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch, model: Translator, beam: int
) -> None:
    whole = model.translate(TEXTS, beam=beam)
    monkeypatch.setattr(ct2, "INTERRUPTIBLE_TOKENS", 20)
    ticking(monkeypatch)
    cut = model.translate(TEXTS, beam=beam, time_limit=4.0, batch_tokens=100)
    assert len(cut) == len(TEXTS)
    assert any(translation.timed_out for translation in cut)
    for translation, expected in zip(cut, whole, strict=True):
        if not translation.timed_out:
            assert translation.text == expected.text
        elif beam == 1:
            assert not translation.finished
            assert translation.tokens == expected.tokens[: len(translation.tokens)]


@pytest.mark.parametrize("scores", [True, False])
def test_greedy_search_of_ctranslate2_is_cut_between_tokens(
    monkeypatch: pytest.MonkeyPatch, bundle: Path, scores: bool
) -> None:
    pytest.importorskip("ctranslate2")
    model = load_served(bundle, engine="ct2")
    assert isinstance(model, Translator)
    [whole] = model.search(TEXTS[:1], SearchOptions(beam=1))
    assert len(whole.tokens) > 5
    ticking(monkeypatch)
    [cut] = model.search(TEXTS[:1], SearchOptions(beam=1, time_limit=5.0), scores=scores)
    assert cut.timed_out
    assert not cut.finished
    assert 0 < len(cut.tokens) < 5
    assert cut.tokens == whole.tokens[: len(cut.tokens)]


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3}, {"sample": True}])
@pytest.mark.parametrize("after", [0, 1])
def test_a_stop_signal_raises(model: Translator, options: dict[str, Any], after: int) -> None:
    if options.get("sample") and model._searcher.fast._engine is not None:
        pytest.skip("CTranslate2 does not sample here")
    looks = itertools.count()
    with pytest.raises(SearchStopped):
        model.translate(TEXTS[:4], stopped=lambda: next(looks) >= after, **options)
    assert model.translate(TEXTS[:2], **options)  # and the model goes on


def test_wide_beams_and_long_outputs_bound_the_batch(echo: Callable[..., Translator]) -> None:
    lengths = [9] * 300
    outputs = [1000 * 29] * 300
    assert [*map(len, length_batches(lengths, 4096))] == [300]
    assert {*map(len, length_batches(lengths, 4096, outputs))} == {OUTPUT_TOKENS // (1000 * 29)}
    assert [*map(len, length_batches([3, 3], 4096, [OUTPUT_TOKENS * 2] * 2))] == [1, 1]
    assert sorted(itertools.chain(*length_batches([3, 9, 1], 12, [5, 7, 9]))) == [0, 1, 2]
    widest = SearchOptions(beam=1000)
    assert max_output_length(1024, widest, 0, None) == MOST_POSITIONS // 1000 - 1
    assert max_output_length(20, widest, 0, None) == 50
    assert max_output_length(1024, SearchOptions(), 0, None) == 2058
    texts = ["le chat dort", "la pomme est rouge", "je suis étudiant"]
    wide, narrow = (echo().translate(texts, beam=beam, max_length=2000) for beam in (40, 1))
    assert [found.text for found in wide] == [found.text for found in narrow] == texts
