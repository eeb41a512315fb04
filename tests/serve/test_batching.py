"""The queue: who shares a batch, who waits for whom, and that no answer depends on it."""

import asyncio
import random
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from regard.search.interruption import SearchStopped
from regard.search.options import SearchOptions
from regard.serve.batching import Batcher
from regard.serve.errors import SlowdownError, UnavailableError
from regard.serve.models import ServedModels
from regard.serve.settings import BatchSettings, LimitSettings
from tasks.bundles import SPLIT

GREEDY = SearchOptions(beam=1)


class Slow:
    """A translator that writes down its batches. A batch waits until `go` is set, or its search is stopped."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go = threading.Event()
        self.started = threading.Event()
        self.stopped = 0

    def read(self, texts: Sequence[str]) -> list[Any]:
        return [SimpleNamespace(text=text, ids=text.split()) for text in texts]

    def is_interruptible(self, options: SearchOptions) -> bool:
        return True

    def fast_batch_tokens(self, options: SearchOptions) -> int | None:
        return None

    def search_read(
        self, sources: Sequence[Any], options: SearchOptions, *, stopped: Callable[[], bool], **constraints: Any
    ) -> list[Any]:
        texts = [source.text for source in sources]
        self.batches.append(texts)
        self.started.set()
        while not self.go.wait(0.001):
            if stopped():
                self.stopped += 1
                raise SearchStopped
        if "bad" in texts:
            raise ValueError("bad")
        return [SimpleNamespace(text=text.upper(), tokens=[text]) for text in texts]


@pytest.fixture
def slow() -> Slow:
    return Slow()


def batcher_of(**settings: Any) -> Batcher:
    limits = LimitSettings.parse(settings.pop("limits", {}))
    return Batcher(BatchSettings.parse({"workers": 1, "delay": 0.0, **settings}), limits)


def translated(batcher: Batcher, model: Any, texts: Sequence[str], options: SearchOptions = GREEDY) -> Any:
    return batcher.translate(model, texts, options)


async def begun(slow: Slow) -> None:
    """Wait until the worker searches."""
    while not slow.started.is_set():
        await asyncio.sleep(0.001)


def run(batcher: Batcher, work: Callable[[], Any]) -> Any:
    async def with_end() -> Any:
        return await asyncio.wait_for(work(), 60)

    try:
        return asyncio.run(with_end())
    finally:
        batcher.close()


@pytest.mark.filterwarnings("ignore::regard.engine.input_length.TruncationWarning")
def test_answers_under_load_are_those_of_each_text_alone(models: ServedModels) -> None:
    [step] = models.translator("fr", "en").steps
    texts = [*(pair.french for pair in SPLIT.train[:30]), "", "   ", "x" * 60]
    beam = SearchOptions(beam=2, nbest=2)
    alone = {
        (text, options.beam): step.translator.search([text], options)[0] for text in texts for options in (GREEDY, beam)
    }
    batcher = batcher_of(workers=3, delay=0.002)
    draw = random.Random(5)

    async def request() -> None:
        await asyncio.sleep(draw.random() / 20)
        options = draw.choice((GREEDY, beam))
        own = draw.sample(texts, draw.choice((1, 1, 2, 20)))
        for text, found in zip(own, await batcher.translate(step.translator, own, options), strict=True):
            expected = alone[text, options.beam]
            assert (found.text, found.tokens, found.finished) == (expected.text, expected.tokens, expected.finished)
            assert [one.text for one in found.alternatives] == [one.text for one in expected.alternatives]
            assert found.score == pytest.approx(expected.score, abs=1e-4)

    async def work() -> None:
        await asyncio.gather(*(request() for _ in range(30)))

    run(batcher, work)


def test_requests_share_a_batch_if_model_and_options_agree(slow: Slow) -> None:
    batcher = batcher_of(texts=4)
    other = Slow()
    other.go.set()

    async def work() -> None:
        first = asyncio.ensure_future(translated(batcher, slow, ["first"]))
        await begun(slow)
        wide = SearchOptions(beam=2)
        tasks = [
            asyncio.ensure_future(translated(batcher, model, [text], options))
            for model, text, options in [
                (slow, "a", GREEDY), (other, "b", GREEDY), (slow, "c", wide), (slow, "d", GREEDY), (slow, "e", wide),
            ]
        ]  # fmt: skip
        await asyncio.sleep(0.01)
        slow.go.set()
        results = await asyncio.gather(first, *tasks)
        assert [own[0].text for own in results] == ["FIRST", "A", "B", "C", "D", "E"]

    run(batcher, work)
    assert slow.batches == [["first"], ["a", "d"], ["c", "e"]]
    assert other.batches == [["b"]]


def test_what_depends_on_the_other_texts_of_a_call_shares_no_batch(slow: Slow) -> None:
    batcher = batcher_of(texts=4)
    sampled, limited = SearchOptions(beam=1, sample=True), SearchOptions(beam=1, time_limit=5.0)

    async def work() -> None:
        first = asyncio.ensure_future(translated(batcher, slow, ["first"]))
        await begun(slow)
        tasks = [
            asyncio.ensure_future(translated(batcher, slow, texts, options))
            for texts, options in [(["a"], sampled), (list("bcdefg"), sampled), (["h"], limited), (["i"], limited)]
        ]
        await asyncio.sleep(0.01)
        slow.go.set()
        await asyncio.gather(first, *tasks)

    run(batcher, work)
    assert slow.batches == [["first"], ["a"], list("bcdefg"), ["h"], ["i"]]


def test_a_short_request_waits_for_a_batch_and_not_for_a_list(slow: Slow) -> None:
    batcher = batcher_of(texts=4, slice=2)
    ended: list[str] = []

    async def named(name: str, texts: list[str]) -> None:
        await translated(batcher, slow, texts)
        ended.append(name)

    async def work() -> None:
        tasks = [asyncio.ensure_future(named("list", [f"l{number:02}" for number in range(100)]))]
        await begun(slow)
        tasks += [asyncio.ensure_future(named(name, [name])) for name in ("a", "b")]
        await asyncio.sleep(0.01)
        slow.go.set()
        await asyncio.gather(*tasks)

    run(batcher, work)
    assert slow.batches[1] == ["l04", "l05", "a", "b"]
    assert ended[-1] == "list"
    assert len(slow.batches) < 30  # and the list still has whole batches


def test_texts_of_like_length_go_together(slow: Slow) -> None:
    batcher = batcher_of(texts=4, characters=100)
    texts, found = ["a" * 10, "b" * 90, "c" * 120, "d" * 20, "e" * 20], list[str]()

    async def work() -> None:
        slow.go.set()
        found.extend(own.text for own in await translated(batcher, slow, texts))

    run(batcher, work)
    assert [[len(text) for text in batch] for batch in slow.batches] == [[120], [90], [20, 20, 10]]
    assert [text.lower() for text in found] == texts  # in the order of the request


def test_texts_that_number_their_draws_keep_their_order(slow: Slow) -> None:
    batcher = batcher_of(texts=2)
    slow.go.set()
    texts = ["a", "ccc", "bb"]
    run(batcher, lambda: translated(batcher, slow, texts, SearchOptions(beam=1, sample=True)))
    assert slow.batches == [texts]


def test_idle_workers_share_what_waits() -> None:
    models = [Slow(), Slow()]
    batcher = batcher_of(workers=3, texts=32, slice=32)

    async def work() -> None:
        while batcher.idle < 3:
            await asyncio.sleep(0.001)
        large = asyncio.ensure_future(translated(batcher, models[0], [f"{number:02}" for number in range(12)]))
        while len(models[0].batches) < 3:
            await asyncio.sleep(0.001)
        few = asyncio.ensure_future(translated(batcher, models[1], ["a", "b", "c", "d"]))
        models[0].go.set(), models[1].go.set()
        assert [own.text for own in await large] == [f"{number:02}" for number in range(12)]
        await few

    run(batcher, work)
    assert sorted(map(len, models[0].batches)) == [4, 4, 4]
    assert list(map(len, models[1].batches)) == [4]  # fewer do not wake another worker


def test_a_full_queue_refuses_and_says_when_to_come_back(slow: Slow) -> None:
    batcher = batcher_of(limits={"queue": 10}, texts=1, slice=2)

    async def work() -> None:
        tasks = [asyncio.ensure_future(translated(batcher, slow, ["first"]))]
        await begun(slow)
        tasks.append(asyncio.ensure_future(translated(batcher, slow, ["a"] * 7)))
        await asyncio.sleep(0.01)
        assert batcher.waiting == 7
        with pytest.raises(SlowdownError, match="Slowdown") as refusal:  # a list may not fill the last quarter
            await translated(batcher, slow, ["b"] * 3)
        assert refusal.value.retry_after >= 1
        tasks += [asyncio.ensure_future(translated(batcher, slow, ["c"])) for _ in range(3)]
        await asyncio.sleep(0.01)
        with pytest.raises(SlowdownError):
            await translated(batcher, slow, ["d"])
        patient = asyncio.ensure_future(batcher.translate(slow, ["e"] * 3, GREEDY, patient=True))  # type: ignore[arg-type]
        await asyncio.sleep(0.01)
        slow.go.set()
        await asyncio.gather(*tasks, patient)
        assert batcher.waiting == 0

    run(batcher, work)


def test_a_cancelled_request_leaves_the_queue_and_stops_its_search(slow: Slow) -> None:
    batcher = batcher_of(texts=2)

    async def work() -> None:
        tasks = [asyncio.ensure_future(translated(batcher, slow, ["a", "b", "c", "d"]))]
        await begun(slow)
        tasks.append(asyncio.ensure_future(translated(batcher, slow, ["e"])))
        await asyncio.sleep(0.01)
        assert batcher.waiting == 3
        slow.started.clear()
        tasks[0].cancel()
        await begun(slow)
        assert slow.stopped == 1
        assert slow.batches == [["a", "b"], ["e"]]
        assert batcher.waiting == 0
        slow.go.set()
        [found] = await tasks[1]
        assert found.text == "E"

    run(batcher, work)


def test_a_search_that_somebody_still_wants_is_not_stopped(slow: Slow) -> None:
    batcher = batcher_of(texts=8)

    async def work() -> None:
        first = asyncio.ensure_future(translated(batcher, slow, ["first"]))
        await begun(slow)
        tasks = [asyncio.ensure_future(translated(batcher, slow, [name])) for name in "ab"]
        await asyncio.sleep(0.01)
        slow.started.clear()
        first.cancel()
        await begun(slow)  # a and b, together
        tasks[0].cancel()
        await asyncio.sleep(0.02)
        slow.go.set()
        [found] = await tasks[1]
        assert found.text == "B"

    run(batcher, work)
    assert slow.batches == [["first"], ["a", "b"]]
    assert slow.stopped == 1


def test_the_error_of_one_request_is_not_that_of_another(slow: Slow) -> None:
    batcher = batcher_of(texts=8)

    async def work() -> None:
        first = asyncio.ensure_future(translated(batcher, slow, ["first"]))
        await begun(slow)
        tasks = [asyncio.ensure_future(translated(batcher, slow, [name])) for name in ("a", "bad", "c")]
        await asyncio.sleep(0.01)
        slow.go.set()
        results = await asyncio.gather(first, *tasks, return_exceptions=True)
        assert [own[0].text for own in (results[0], results[1], results[3])] == ["FIRST", "A", "C"]
        assert isinstance(results[2], ValueError)
        [again] = await translated(batcher, slow, ["again"])  # the worker lives
        assert again.text == "AGAIN"

    run(batcher, work)


def test_an_idle_worker_waits_a_moment_for_more(slow: Slow) -> None:
    batcher = batcher_of(delay=0.3, texts=3)
    slow.go.set()

    async def work() -> None:
        await asyncio.gather(*(translated(batcher, slow, [name]) for name in "de"))

    run(batcher, work)
    assert [sorted(batch) for batch in slow.batches] == [["d", "e"]]


def test_a_full_batch_does_not_wait(slow: Slow) -> None:
    settings = BatchSettings.parse({"workers": 1, "texts": 3}).model_copy(update={"delay": 3600.0})
    batcher = Batcher(settings, LimitSettings())  # the test ends: nobody waits an hour
    slow.go.set()

    async def work() -> None:
        await asyncio.gather(*(translated(batcher, slow, [name]) for name in "abc"))

    run(batcher, work)
    assert [sorted(batch) for batch in slow.batches] == [["a", "b", "c"]]


def test_a_closed_batcher_finishes_what_is_queued(slow: Slow) -> None:
    batcher = batcher_of(texts=1)

    async def work() -> None:
        tasks = [asyncio.ensure_future(translated(batcher, slow, [name])) for name in "abc"]
        await begun(slow)
        closing = asyncio.get_running_loop().run_in_executor(None, batcher.close)
        await asyncio.sleep(0.01)
        with pytest.raises(UnavailableError):
            await translated(batcher, slow, ["d"])
        slow.go.set()
        assert [own[0].text for own in await asyncio.gather(*tasks)] == ["A", "B", "C"]
        await closing

    run(batcher, work)


def test_a_short_text_whose_search_is_long_can_be_stopped(slow: Slow) -> None:
    batcher = batcher_of()
    slow.go.set()
    looks: list[bool] = []
    plain_search = slow.search_read

    def search_read(*given: Any, stopped: Any, **constraints: Any) -> Any:
        looks.append(stopped is not None)
        return plain_search(*given, stopped=stopped, **constraints)

    slow.search_read = search_read  # type: ignore[method-assign]

    async def work() -> None:
        await translated(batcher, slow, ["a" * 4000])  # the speed is measured
        for options in (SearchOptions(exact=True), SearchOptions(exhaustive=True, max_length=2)):
            await translated(batcher, slow, ["a"], options)

    run(batcher, work)
    assert looks[1:] == [True, True]


def test_an_end_refuses_what_waits(slow: Slow) -> None:
    """A request of which a part is searched is refused as well, and that part is stopped; one that is wholly searched is answered."""
    batcher = Batcher(BatchSettings(texts=2, workers=1, delay=0), LimitSettings())

    async def requests() -> list[Any]:
        first = asyncio.ensure_future(batcher.translate(slow, ["a", "b"], GREEDY))  # type: ignore[arg-type]
        while not slow.started.is_set():
            await asyncio.sleep(0.001)
        others = [
            asyncio.ensure_future(batcher.translate(slow, texts, GREEDY))  # type: ignore[arg-type]
            for texts in (["c"] * 50, ["d"])
        ]
        await asyncio.sleep(0.01)
        batcher.end()
        slow.go.set()
        late = batcher.translate(slow, ["e"], GREEDY)  # type: ignore[arg-type]
        return await asyncio.gather(first, *others, late, return_exceptions=True)

    answered, *refused = asyncio.run(requests())
    assert [one.text for one in answered] == ["A", "B"]
    assert [str(error) for error in refused] == ["the server is stopping"] * 3
    batcher.close()
    assert slow.batches == [["a", "b"]]
    assert batcher.waiting == 0
