"""What a client may not do: each attempt has its status and one line, and the next good request is answered."""

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from regard.serve.body import _writable
from regard.serve.models import ServedModels
from serve.running import Running, raw, running, wait_for

GOOD = {"q": "bonjour", "source": "fr", "target": "en"}


@pytest.fixture(scope="module")
def small(models: ServedModels) -> Iterator[Running]:
    """A server with small limits."""
    limits = {
        "body_bytes": 2000,
        "file_bytes": 4000,
        "header_bytes": 2000,
        "headers": 20,
        "upload_seconds": 0.5,
        "characters": 500,
        "batch_texts": 5,
        "alternatives": 2,
    }
    with running(models, limits=limits) as found:
        yield found


def is_refused(server: Running, status: int, **given: Any) -> str:
    """The error of a request that is refused with this status. The next one is answered."""
    answer = server.post("/translate", **given)
    assert answer.status_code == status, answer.text
    assert server.translate(**GOOD).status_code == 200
    [(name, message)] = answer.json().items()
    assert name == "error"
    return str(message)


def test_a_body_with_a_length_that_is_too_large(small: Running) -> None:
    message = is_refused(small, 413, json={**GOOD, "q": "x" * 3000})
    assert message == "Invalid request: the body has more than 2000 bytes"


def test_a_body_without_a_length_is_counted_while_it_arrives(small: Running) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"q": "'
        for _ in range(1000):
            yield b"x" * 100

    assert "2000 bytes" in is_refused(small, 413, content=endless(), headers={"Content-Type": "application/json"})
    assert "2000 bytes" in is_refused(
        small, 413, content=endless(), headers={"Content-Type": "application/x-www-form-urlencoded"}
    )


def test_a_file_has_its_own_limit(small: Running) -> None:
    fields = {"source": "fr", "target": "en"}
    accepted = small.post("/translate_file", data=fields, files={"file": ("a.txt", b"oui\n" * 700)})
    assert accepted.status_code == 200
    refused = small.post("/translate_file", data=fields, files={"file": ("a.txt", b"oui\n" * 1200)})
    assert refused.status_code == 413


def test_a_slow_body_ends(small: Running) -> None:
    head = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    answer = raw(small, head + b'{"q"')
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert answer.endswith(b'{"error":"Invalid request: the body did not arrive in time"}')


def test_slow_headers_end(small: Running) -> None:
    assert raw(small, b"POST /translate HTTP/1.1\r\n", b"Host: a\r\n", b"X: 1\r\n", wait=0.1) == b""
    assert raw(small) == b""


def test_too_many_or_too_large_headers(small: Running) -> None:
    many = small.get("/languages", headers={f"X-{number}": "1" for number in range(30)})
    assert (many.status_code, many.json()) == (431, {"error": "Invalid request: too many headers"})
    flood = b"GET /languages HTTP/1.1\r\nHost: a\r\n" + b"".join(b"X-%d: 1\r\n" % number for number in range(10_000))
    assert raw(small, flood).startswith(b"HTTP/1.1 400 ")
    long_path = b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    assert raw(small, long_path)[:13] in (
        b"HTTP/1.1 400 ",
        b"HTTP/1.1 431 ",
    )  # whether it came in one part or in several
    assert small.translate(**GOOD).status_code == 200


def test_no_http_at_all(small: Running) -> None:
    assert raw(small, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[" * 1500, "not valid JSON"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "nested more than 64 levels deep"),
        (b'{"q": "a", "q": "b"}', "the key 'q' is there twice"),
        (b"[1, 2]", "no JSON object"),
        (b"{", "not valid JSON"),
        (b'{"q": "\xff"}', "not UTF-8, at byte 7"),
        (b'{"q": "\\ud800", "source": "fr", "target": "en"}', "not valid JSON"),
        (b'{"q": 1' + b"0" * 500 + b"}", "a number of 501 digits"),
    ],
)
def test_json_that_nobody_should_read(small: Running, body: bytes, message: str) -> None:
    assert message in is_refused(small, 400, content=body, headers={"Content-Type": "application/json"})


PART = b'--x\r\nContent-Disposition: form-data; name="q"%s\r\n\r\nbonjour\r\n--x--\r\n'
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PARTS = {"Content-Type": "multipart/form-data; boundary=x"}


def test_bytes_of_a_form_that_are_not_utf_8_are_refused(small: Running) -> None:
    """They were read as Latin-1 or replaced: the wrong text was translated."""
    rest = b"&source=fr&target=en"
    for value in (b"caf\xe9", b"caf%e9"):
        message = is_refused(small, 400, content=b"q=" + value + rest, headers=FORM)
        assert message == "Invalid request: q parameter is not UTF-8, at byte 3"
    parts = PART.replace(b"bonjour", b"caf\xe9") % b""
    assert (
        is_refused(small, 400, content=parts, headers=PARTS) == "Invalid request: q parameter is not UTF-8, at byte 3"
    )
    assert is_refused(small, 400, content=b"q=a&\xe9=b" + rest, headers=FORM).startswith(
        "Invalid request: the name of a"
    )
    query = small.post("/translate?q=caf%e9&source=fr&target=en")
    assert (query.status_code, query.json()) == (400, {"error": "Invalid request: the query is not UTF-8, at byte 5"})


def test_a_form_in_utf_8_is_read_with_and_without_escapes(small: Running) -> None:
    answers = [
        small.post("/translate", content=b"q=" + value + b"&source=en&target=en", headers=FORM).json()
        for value in ("un caf\xe9".encode(), b"un+caf%C3%A9", b"un%20caf%c3%a9")
    ]
    assert answers == [{"translatedText": "un caf\xe9"}] * 3


@pytest.mark.parametrize("charset", ["punycode", "idna", "utf-7", "latin-1", "", "\x7f", "no-such-codec"])
@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
def test_only_utf_8_is_decoded(small: Running, kind: str, charset: str) -> None:
    headers = {"Content-Type": f"{kind}; charset={charset}"}
    message = is_refused(small, 400, content=PART % b"", headers=headers)
    assert "charset" in message
    assert message.endswith("is not supported; send UTF-8")
    typed = small.post("/v1/regard/classify_file", content=PART % b"", headers=headers)
    assert (typed.status_code, typed.json()["error"]["message"]) == (400, message)


def test_a_part_states_its_own_charset(small: Running) -> None:
    headers = {"Content-Type": 'multipart/form-data; boundary=x; charset="UTF-8"'}
    for name, content in (("", b"bonjour"), ('; filename="a.txt"', b"oui")):
        part = f'--x\r\nContent-Disposition: form-data; name="q"{name}\r\nContent-Type: text/plain; charset='.encode()
        end = b"\r\n\r\n" + content + b"\r\n--x--\r\n"
        message = is_refused(small, 400, content=part + b"punycode" + end, headers=headers)
        assert message == "Invalid request: the charset punycode is not supported; send UTF-8"
        accepted = small.post("/detect", content=part + b"utf-8" + end, headers=headers)
        assert accepted.status_code == (400 if name else 200)
        assert "charset" not in accepted.text


def test_the_name_of_a_file_can_be_written(small: Running) -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="+2AA-.txt"\r\n\r\noui\r\n--x--\r\n'
    kind = "multipart/form-data; boundary=x; charset=utf-7"
    assert small.post("/translate_file", content=part, headers={"Content-Type": kind}).status_code == 400
    assert quote(_writable("\ud800\u00e9.txt")) == "%3F%C3%A9.txt"


def test_texts_and_characters_are_limited(small: Running) -> None:
    message = is_refused(small, 400, json={**GOOD, "q": ["a"] * 6})
    assert message == "Invalid request: 6 texts exceed the limit of 5 texts"
    message = is_refused(small, 400, json={**GOOD, "q": "a" * 501})
    assert message == "Invalid request: request (501) exceeds text limit (500)"


def test_more_alternatives_than_allowed_are_the_most_that_are_allowed(small: Running) -> None:
    assert len(small.translate(**GOOD, alternatives=1000).json()["alternatives"]) <= 2


def test_a_word_of_a_megabyte_and_combining_characters(models: ServedModels) -> None:
    with running(models, limits={"characters": 2_000_000}, beam=1) as found:
        for text in ("a" * 1_000_000, "e" + "\u0301" * 5000, "\u202e" * 50, "\x00\x01"):
            assert found.translate(q=text, source="fr", target="en").status_code == 200


def test_a_request_that_takes_too_long(models: ServedModels) -> None:
    with running(models, limits={"seconds": 0.001}, batching={"delay": 0.2}) as found:
        answer = found.translate(**GOOD)
        assert (answer.status_code, answer.json()) == (
            504,
            {"error": "the request took longer than 0.001 seconds; send less at once"},
        )
        assert found.service.batcher.waiting == 0


def test_a_client_that_goes_away_frees_its_place(models: ServedModels) -> None:
    with running(models, batching={"delay": 1.0}) as found:
        body = json.dumps({**GOOD, "q": ["bonjour"] * 3}).encode()
        head = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        host, port = found.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(head % len(body) + body)
            wait_for(lambda: found.service.batcher.waiting == 3)
        wait_for(lambda: not found.service.metrics.running)
        assert found.service.batcher.waiting == 0
        assert found.logged(1)[-1]["status"] == 499


def test_the_queue_is_full(models: ServedModels) -> None:
    with running(models, limits={"queue": 1}, batching={"delay": 1.0, "texts": 64}) as found:
        import threading

        answers: list[int] = []
        first = threading.Thread(target=lambda: answers.append(found.translate(**GOOD).status_code))
        first.start()
        wait_for(lambda: bool(found.service.batcher.waiting))
        refused = found.translate(**GOOD)
        assert (refused.status_code, refused.json()) == (429, {"error": "Slowdown: the queue is full"})
        assert int(refused.headers["retry-after"]) >= 1
        first.join()
        assert answers == [200]


def test_security_headers_and_no_cors(small: Running) -> None:
    headers = small.get("/languages", headers={"Origin": "https://elsewhere.example"}).headers
    assert "access-control-allow-origin" not in headers
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers


def test_cors_for_the_given_origin_only(models: ServedModels) -> None:
    with running(models, cors=["https://mine.example"]) as found:
        mine = found.get("/languages", headers={"Origin": "https://mine.example"})
        assert mine.headers["access-control-allow-origin"] == "https://mine.example"
        assert "access-control-allow-credentials" not in mine.headers
        other = found.get("/languages", headers={"Origin": "https://elsewhere.example"})
        assert "access-control-allow-origin" not in other.headers


LARGE = "a" * (3 << 19)  # a megabyte and a half: more than the parser of forms takes by itself


def test_a_large_field_of_a_form_is_refused_in_our_own_words(every: Running) -> None:
    fields = {"source": "fr", "target": "en"}
    said = {"error": "Invalid request: request (1572864) exceeds text limit (200000)"}
    for given in ({"data": {"q": LARGE, **fields}}, {"data": {"q": LARGE, **fields}, "files": {"x": ("a", b"a")}}):
        answer = every.post("/translate", **given)
        assert (answer.status_code, answer.json()) == (400, said)
    with running(every.service.models, limits={"body_bytes": 1 << 20}) as small:
        too_large = "Invalid request: the body has more than 1048576 bytes"
        answer = small.post("/translate", data={"q": LARGE, **fields})
        assert (answer.status_code, answer.json()) == (413, {"error": too_large})
        file = {"file": ("a.txt", b"oui")}
        answer = small.post("/translate_file", data={**fields, "glossary": LARGE}, files=file)
        too_large = "Invalid request: a field of the form has more than 1048576 bytes"
        assert (answer.status_code, answer.json()) == (413, {"error": too_large})
    answer = every.post("/v1/regard/classify_file", data={"model": LARGE}, files={"picture": ("a.png", b"a")})
    assert answer.status_code == 413
    assert answer.json()["error"]["message"].startswith("Invalid request: a field of the form is too large")
    answer = every.post("/translate", data={"q": ["a"] * 3000, **fields})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("Invalid request: Too many fields")
