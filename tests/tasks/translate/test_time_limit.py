"""A time limit and a stop signal of the served models, with both engines."""

import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regard.engine import fast
from regard.engine.batching import OUTPUT_TOKENS, length_batches
from regard.engine.ct2 import Ct2Search
from regard.engine.input_length import TruncationWarning
from regard.search import interruption
from regard.search.interruption import BetweenBatches, Interruption, SearchStopped
from regard.search.options import MOST_POSITIONS, SearchOptions
from regard.tasks.load import load_served
from regard.tasks.translate import output_length
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
    """A clock that moves each time a search reads it. Other threads of the tests keep the real one."""
    ticks = itertools.count()
    monkeypatch.setattr(interruption, "time", SimpleNamespace(monotonic=lambda: next(ticks) * step))


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3, "nbest": 3}])
def test_a_limit_that_is_not_reached_changes_nothing(model: Translator, options: dict[str, Any]) -> None:
    expected = model.translate(TEXTS[:12], **options)
    for found in (
        model.translate(TEXTS[:12], time_limit=1000, **options),
        model.translate(TEXTS[:12], stopped=lambda: False, **options),
    ):
        assert [text.tokens for text in found] == [text.tokens for text in expected]
        assert [text.finished for text in found] == [text.finished for text in expected]
        # CTranslate2 rounds differently in batches of other sizes
        assert [text.score for text in found] == pytest.approx([text.score for text in expected], rel=1e-5)
        assert not any(text.timed_out for text in found)


@pytest.mark.parametrize("beam", [1, 3])
def test_every_text_is_answered_when_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch, model: Translator, beam: int
) -> None:
    whole = model.translate(TEXTS, beam=beam)
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
    [cut] = model.search(TEXTS[:1], SearchOptions(beam=1, time_limit=4.0), scores=scores)  # from the first token on
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


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3, "nbest": 2}])
def test_one_limit_bounds_all_batches_of_a_call(
    monkeypatch: pytest.MonkeyPatch, bundle: Path, options: dict[str, Any]
) -> None:
    """A batch that has not begun when the time is over is answered empty, and marked."""
    model = load_served(bundle, engine="torch")
    assert isinstance(model, Translator)
    ticking(monkeypatch)
    cut = model.translate(TEXTS[:9], time_limit=4.0, batch_tokens=1, **options)
    searched = [translation for translation in cut if translation.tokens]
    assert len(searched) == 1  # with a limit of its own, each of them would have some tokens
    assert all(translation.timed_out and not translation.finished for translation in cut)


def test_one_limit_bounds_minimum_bayes_risk_too(monkeypatch: pytest.MonkeyPatch, bundle: Path) -> None:
    model = load_served(bundle, engine="torch")
    assert isinstance(model, Translator)
    ticking(monkeypatch)
    cut = model.translate(TEXTS[:3], mbr=3, time_limit=2.0, batch_tokens=1)
    assert sum(bool(translation.tokens) for translation in cut) == 1
    assert all(translation.timed_out for translation in cut)


@pytest.mark.parametrize("limits", [{"time_limit": 1000.0}, {"stopped": lambda: False}])
def test_a_beam_that_may_be_interrupted_runs_on_torch_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, bundle: Path, limits: dict[str, Any]
) -> None:
    pytest.importorskip("ctranslate2")
    model = load_served(bundle)
    assert isinstance(model, Translator)
    engine = model._searcher.fast._engine
    assert isinstance(engine, Ct2Search)
    calls: list[int] = []
    searched = engine.search
    monkeypatch.setattr(engine, "search", lambda *given: calls.append(given[2].beam) or searched(*given))
    for beam in (3, 1):
        model.translate(TEXTS[:2], beam=beam, **limits)
    assert calls == [1]
    model.translate(TEXTS[:2], beam=2)
    monkeypatch.setattr(fast, "is_installed", lambda name: False)  # no torch
    model.translate(TEXTS[:2], beam=3, **limits)
    assert calls == [1, 2, 3]


def test_a_signal_that_waits_for_batches_changes_no_engine_and_ends_between_them(
    monkeypatch: pytest.MonkeyPatch, bundle: Path
) -> None:
    pytest.importorskip("ctranslate2")
    model = load_served(bundle)
    assert isinstance(model, Translator)
    engine = model._searcher.fast._engine
    assert isinstance(engine, Ct2Search)
    batches: list[int] = []
    translated = engine._model.translator.translate_batch

    def counted(sources: list[Any], **options: Any) -> Any:
        batches.append(len(sources))
        return translated(sources, **options)

    monkeypatch.setattr(engine, "_model", SimpleNamespace(translator=SimpleNamespace(translate_batch=counted)))
    expected = model.translate(TEXTS, beam=2, batch_tokens=40)
    whole = batches[:]
    batches.clear()
    patient = BetweenBatches(lambda: False)
    assert model.translate(TEXTS, beam=2, batch_tokens=40, stopped=patient) == expected
    assert batches == whole
    batches.clear()
    with pytest.raises(SearchStopped):
        model.translate(TEXTS, beam=2, batch_tokens=40, stopped=BetweenBatches(lambda: bool(batches)))
    assert len(batches) <= 1 + engine._workers < len(whole)


def test_the_clock_of_ctranslate2_starts_when_other_calls_are_done(
    monkeypatch: pytest.MonkeyPatch, bundle: Path
) -> None:
    """A beam without torch: the sentences of other calls take none of a call's time."""
    pytest.importorskip("ctranslate2")
    engine = Ct2Search(load_served(bundle).bundle, "float32")
    waiting = Interruption(1000.0, lambda: next(looks) >= 3)
    looks = itertools.count()
    with engine._taking_turns(Interruption(1000.0)), pytest.raises(SearchStopped):
        engine.search([[5, 6]], [4], SearchOptions(beam=3), 100, True, waiting)
    assert waiting._end is None  # the signal ended the wait, and no clock had started
    [(_, [found])] = engine.search([[5, 6]], [4], SearchOptions(beam=3), 100, True, Interruption(1000.0))
    assert not found.timed_out


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


def test_many_hypotheses_cut_an_output_with_a_warning_but_no_prefix(
    monkeypatch: pytest.MonkeyPatch, bundle: Path
) -> None:
    model = load_served(bundle, engine="torch")
    assert isinstance(model, Translator)
    monkeypatch.setattr(output_length, "MOST_POSITIONS", 4 * 6)
    with pytest.warns(
        TruncationWarning,
        match=r"^2 translations were cut at 5 tokens, the most with 4 hypotheses; the first is number 1",
    ):
        cut = model.translate(TEXTS[:2], beam=4)
    assert [len(translation.tokens) for translation in cut] == [5, 5]
    prefix = "p le p le p le p le p le p le"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        [begun] = model.translate(TEXTS[:1], beam=4, prefixes=[prefix])
        model.translate(TEXTS[:1], beam=1)
    assert not begun.unmet
    assert max_output_length(3, SearchOptions(beam=4), 40, None) == 50
    assert max_output_length(3, SearchOptions(beam=4), 40, 30) == 29
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what was asked for is no surprise
        model.translate(TEXTS[:2], beam=4, max_length=3)
