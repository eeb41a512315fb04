"""Work that nobody wants any more ends at its next look, and long work of one kind does not keep another waiting."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest

from regard.activity import activity
from regard.documents.formats import DocumentFormat
from regard.engine.ct2 import Ct2Search
from regard.explain.table import VERB
from regard.search.interruption import BetweenBatches, Interruption, SearchStopped
from regard.search.options import SearchOptions
from regard.serve import batching, regard_api, service
from regard.serve.completing import Prompt, Wanted, choices
from regard.serve.models import ServedModels
from regard.serve.queued_documents import translated_documents
from regard.serve.service import Service
from regard.serve.settings import ServeSettings
from serve.running import Running, running
from tasks.bundles import TEXTS


@pytest.fixture
def blocked() -> Iterator[threading.Event]:
    """An event that blocks the threads of a test until its end."""
    go = threading.Event()
    yield go
    go.set()


def test_html_waits_for_no_file(
    models: ServedModels, blocked: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_read = DocumentFormat.read
    reading = threading.Semaphore(0)

    def read(self: DocumentFormat, content: bytes, name: str = "document") -> Any:
        if content == b"oui\n":
            reading.release()
            blocked.wait(30)
        return plain_read(self, content, name)

    monkeypatch.setattr(DocumentFormat, "read", read)
    with running(models, limits={"seconds": 5}) as found:
        fields = {"source": "fr", "target": "en"}
        files = [
            threading.Thread(
                target=lambda: found.post("/translate_file", data=fields, files={"file": ("a.txt", b"oui\n")})
            )
            for _ in range(service.DOCUMENTS)
        ]
        for file in files:
            file.start()
        assert all(reading.acquire(timeout=20) for _ in files)
        answer = found.translate(q=f"<p>{TEXTS[0]}</p>", format="html", **fields)
        assert answer.status_code == 200, answer.text
        blocked.set()
        for file in files:
            file.join()


def test_a_server_ends_beside_a_document_that_looks_at_nothing(
    models: ServedModels, blocked: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "CLOSING_SECONDS", 0.05, raising=False)
    own = Service(ServeSettings(), [])
    began = threading.Event()
    threads: list[threading.Thread] = []

    def work(stopped: Callable[[], bool]) -> None:
        threads.append(threading.current_thread())
        began.set()
        blocked.wait(30)

    async def request() -> None:
        task = asyncio.ensure_future(own.run_document(work, None, 600.0))
        while not began.is_set():
            await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(request())
    closing = threading.Thread(target=own.close)
    closing.start()
    closing.join(5)
    assert not closing.is_alive()
    assert [thread.daemon for thread in threads] == [True]  # the process ends beside it


def test_closing_stops_what_looks(models: ServedModels) -> None:
    own = Service(ServeSettings(), [])
    began, ended = threading.Event(), threading.Event()

    def work(stopped: Callable[[], bool]) -> None:
        began.set()
        while not stopped():
            threading.Event().wait(0.001)
        ended.set()

    async def request() -> None:
        task = asyncio.ensure_future(own.run_document(work, None, 20.0))
        while not began.is_set():
            await asyncio.sleep(0.001)
        await asyncio.get_running_loop().run_in_executor(None, own.close)
        await task

    asyncio.run(request())
    assert ended.is_set()


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("read 1", ["read 1"]),
        ("segments", ["read 1", "segments"]),
        ("read 2", ["read 1", "segments", "read 2"]),
        ("", ["read 1", "segments", "read 2", "write"]),
    ],
)
def test_a_document_stops_between_its_steps(last: str, expected: list[str]) -> None:
    steps: list[str] = []

    class Document:
        def segments(self) -> list[Any]:
            steps.append("segments")
            return []

        def write(self, translations: Any) -> bytes:
            steps.append("write")
            return b"written"

    class Format:
        def read(self, content: bytes) -> Document:
            steps.append("read 2" if steps else "read 1")
            return Document()

    async def run_document(work: Any, *_: Any) -> Any:
        return work(lambda: steps[-1:] == [last])

    route = SimpleNamespace(steps=[SimpleNamespace(translator=SimpleNamespace(aligns=False))])
    fake: Any = SimpleNamespace(
        models_of=lambda _: SimpleNamespace(translator=lambda *_: route), run_document=run_document
    )
    form: Any = Format()
    request: Any = None
    work = translated_documents(fake, request, [b"a"], form, ("fr", "en"), SearchOptions())
    if last:
        with pytest.raises(SearchStopped):
            asyncio.run(work)
    else:
        assert asyncio.run(work) == [[b"written"]]
    assert steps == expected


def test_translations_wait_for_no_other_work(models: ServedModels, blocked: threading.Event) -> None:
    with running(models, batching={"workers": 1}, limits={"seconds": 5}) as found:
        found.service._pool.submit(lambda: blocked.wait(30))
        body = {"texts": TEXTS[:1], "source": "fr", "target": "en"}
        answer = found.post("/v1/regard/translate", json=body)
        blocked.set()
        assert answer.status_code == 200, answer.text
        assert answer.json()["translations"][0]["alignment"] is None


@pytest.mark.parametrize(
    ("route", "method", "body"),
    [
        ("forecast", "forecast", {"series": [[1.0, 2.0, 3.0 + number] for number in range(5)]}),
        ("classify", "classify", {"texts": list("abcde"), "model": "classifier"}),
        ("tag", "classify", {"texts": list("abcde")}),
        ("fill", "fill", {"texts": ["fine <mask>"] * 5}),
    ],
)
def test_models_that_look_at_nothing_work_in_slices(
    every: Running, route: str, method: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = every.post(f"/v1/regard/{route}", json=body).json()
    monkeypatch.setattr(regard_api, "AT_ONCE", 2, raising=False)
    name = {"forecast": "forecaster", "classify": "classifier", "tag": "tagger", "fill": "mask"}[route]
    kind = type(every.service.models.named(name).served)
    plain_method = getattr(kind, method)
    sizes: list[int] = []

    def counted(self: Any, given: Any, **options: Any) -> Any:
        found = plain_method(self, given, **options)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(kind, method, counted)
    sliced = every.post(f"/v1/regard/{route}", json=body).json()
    assert sizes == [2, 2, 1]
    [(_, records)], [(_, expected)] = sliced.items(), whole.items()
    for one, other in zip(records, expected, strict=True):
        assert [one.get(key) for key in ("name", "label", "text")] == [
            other.get(key) for key in ("name", "label", "text")
        ]


def test_slices_end_when_nobody_wants_them() -> None:
    calls: list[Any] = []
    work = regard_api._in_slices(range(100), lambda _, some: calls.append(some) or some)  # type: ignore[func-returns-value]
    with pytest.raises(SearchStopped):
        work(None, lambda: bool(calls))
    assert calls == [range(regard_api.AT_ONCE)]


def test_the_number_of_inputs_is_limited(every: Running) -> None:
    with running(every.service.models, limits={"batch_texts": 3}) as found:
        for route, body, name in [
            ("forecast", {"series": [[1.0, 2.0]] * 4}, "series"),
            ("classify", {"pictures": ["QUJD"] * 4}, "pictures"),
            ("caption", {"pictures": ["QUJD"] * 4}, "pictures"),
        ]:
            answer = found.post(f"/v1/regard/{route}", json=body)
            message = f"Invalid request: 4 {name} exceed the limit of 3 {name}"
            assert (answer.status_code, answer.json()["error"]["message"]) == (400, message)
        answer = found.post("/v1/completions", json={"model": "counted", "prompt": ["that", "is"], "n": 2})
        assert answer.status_code == 400
        assert "n = 2 for each of 2 prompts" in answer.json()["error"]["message"]


def test_an_echo_is_read_once_for_all_choices_and_can_be_stopped() -> None:
    read: list[tuple[int, ...]] = []

    class Writer:
        tokenizer = SimpleNamespace(vocabulary=SimpleNamespace(spelling=lambda token: f"t{token}"))

        def read_logprobs(self, ids: tuple[int, ...], most: int) -> list[Any]:
            read.append(ids)
            return [SimpleNamespace(token=token, logprob=-1.0, top=()) for token in ids]

        def text(self, ids: tuple[int, ...]) -> str:
            return "x" * len(ids)

    writer: Any = Writer()
    wanted = Wanted(max_tokens=0, temperature=1.0, top_p=1.0, echo=True, logprobs=0)
    prompts = [Prompt("xx", (1, 2)), Prompt("x", (3,))]
    pieces = list(choices(writer, prompts, 3, wanted, lambda: False))
    assert read == [(1, 2), (3,)]
    assert [piece.text for piece in pieces if piece.finish is None] == ["xx"] * 3 + ["x"] * 3
    assert all(piece.logprobs is not None for piece in pieces if piece.finish is None)
    read.clear()
    with pytest.raises(SearchStopped):
        list(choices(writer, prompts, 3, wanted, lambda: bool(read)))
    assert read == [(1, 2)]


def test_an_explanation_ends_between_its_parts(every: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client of `/v1/regard/explain` goes away in the first part: the second one does not begin."""
    began, ended, parts = threading.Event(), threading.Event(), list[str]()

    class Row:
        keywords = staticmethod(lambda given, name: {})
        check = staticmethod(lambda *given: None)

        @staticmethod
        def explain(*given: Any, **keywords: Any) -> Any:
            try:
                for part in ("first", "second"):
                    with activity(part):
                        parts.append(part)
                        began.set()
                        while not gone.is_set():
                            gone.wait(0.01)
            finally:
                ended.set()

    gone = threading.Event()
    monkeypatch.setitem(VERB, "classify", Row)
    with running(every.service.models, limits={"seconds": 60}) as found:
        host, port = found.url.removeprefix("http://").split(":")
        body = b'{"model": "classifier", "text": "a fine film"}'
        with socket.create_connection((host, int(port))) as connection:
            head = f"POST /v1/regard/explain HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
            connection.sendall(f"{head}\r\n\r\n".encode() + body)
            assert began.wait(20)
        found.logged(1, "/v1/regard/explain")  # it is seen that the client is gone
        gone.set()
        assert ended.wait(20)
    assert parts == ["first"]


@pytest.mark.parametrize("patient", [True, False])
def test_batches_of_ctranslate2_that_run_are_awaited_before_the_next_ones(patient: bool) -> None:
    """Else one request after the other leaves some behind, which fill CTranslate2's queue while ours is empty."""

    class Answer:
        looks = 0

        def done(self) -> bool:
            self.looks += 1
            return self.looks > 3

    submitted: list[Answer] = []

    def submit(batch: list[int]) -> Any:
        submitted.append(Answer())
        return batch, 1, [submitted[-1]]

    def unwanted() -> bool:
        return bool(submitted)

    engine: Any = SimpleNamespace(_workers=2)
    signal = BetweenBatches(unwanted) if patient else unwanted
    with pytest.raises(SearchStopped):
        list(Ct2Search._answers(engine, submit, iter([[0], [1], [2], [3], [4]]), Interruption(None, signal)))
    assert len(submitted) == 1
    assert all(answer.looks > 3 for answer in submitted) == patient


def test_a_batch_of_ctranslate2_ends_between_its_own_batches(models: ServedModels) -> None:
    """A batch that takes long gets a signal; it is one that changes no engine where nothing can stop between tokens."""
    given: list[Any] = []

    class Model:
        read = staticmethod(lambda texts: [SimpleNamespace(ids=[1]) for _ in texts])
        is_interruptible = staticmethod(lambda options: options.beam == 1)
        fast_batch_tokens = staticmethod(lambda options: None)

        @staticmethod
        def search_read(sources: Any, options: SearchOptions, *, stopped: Any, **rest: Any) -> Any:
            given.append(stopped)
            return [SimpleNamespace(tokens=[]) for _ in sources]

    def batch(**values: Any) -> Any:
        job = SimpleNamespace(model=Model, texts=["a"], options=SearchOptions(beam=2), constrained=False, terms=None)
        job.__dict__.update(values)
        return SimpleNamespace(places=[(job, 0)], unwanted=lambda: False)

    for stoppable, values, expected in [
        (False, {}, None),
        (True, {}, BetweenBatches),
        (True, {"options": SearchOptions(beam=1)}, FunctionType),
        (False, {"terms": SimpleNamespace(search_read=lambda model, *rest, **named: Model.search_read(*rest, **named))},
         BetweenBatches),
    ]:  # fmt: skip
        given.clear()
        batching._searched(batch(**values), stoppable=stoppable)
        [signal] = given
        assert signal is None if expected is None else isinstance(signal, expected)
