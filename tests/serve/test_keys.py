"""Keys and rates."""

import socket
from pathlib import Path

import pytest
from fastapi.routing import APIRoute
from libretranslatepy import LibreTranslateAPI

from regard.errors import ConfigError
from regard.serve.admission import AdmittedRoute
from regard.serve.app import ROUTERS
from regard.serve.errors import SlowdownError
from regard.serve.keys import Keys
from regard.serve.models import ServedModels
from regard.serve.rates import MOST_BUCKETS, Rates
from regard.serve.settings import RateSettings
from serve.running import running

GOOD = {"q": "bonjour", "source": "fr", "target": "en"}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys.txt"
    path.write_text("# ours\nalpha\nbeta 3\n\n", encoding="utf-8")
    return path


def test_the_file_of_keys(keys: Path, tmp_path: Path) -> None:
    found = Keys.read(keys)
    alpha, beta = found.find("alpha"), found.find("beta")
    assert alpha is not None
    assert beta is not None
    assert (alpha.per_minute, beta.per_minute) == (None, 3)
    assert [found.find(wrong) for wrong in ("", "alph", "alphaa", "#", "3", "alpha" * 1000, "\ud800")] == [None] * 7
    assert "alpha" not in repr(vars(found))
    keys.write_text("a b c\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"keys\.txt:1: expected a key"):
        Keys.read(keys)
    keys.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="no key in it"):
        Keys.read(keys)
    keys.write_bytes(b"alpha\nb\xe9ta\n")
    with pytest.raises(ConfigError, match=r"keys\.txt:2: not UTF-8 \(byte 0xe9 at column 2\); give a text file"):
        Keys.read(keys)
    for path, reason in ((tmp_path / "missing", "no such file"), (tmp_path, "a directory")):
        with pytest.raises(ConfigError, match=f"{path.name}: {reason}; give a text file with one key a line"):
            Keys.read(path)


def test_requests_need_a_key(models: ServedModels, keys: Path) -> None:
    with running(models, api_keys=str(keys)) as found:
        missing = found.translate(**GOOD)
        assert missing.status_code == 403
        assert missing.json() == {"error": "Please contact the server operator to get an API key"}
        wrong = found.translate(**GOOD, api_key="gamma")
        assert (wrong.status_code, wrong.json()) == (403, {"error": "Invalid API key"})
        assert found.translate(**GOOD, api_key="alpha").status_code == 200
        assert found.post("/translate", data={**GOOD, "api_key": "alpha"}).status_code == 200
        bearer = found.post("/translate", json=GOOD, headers={"Authorization": "Bearer alpha"})
        assert bearer.status_code == 200
        assert LibreTranslateAPI(found.url, api_key="alpha").translate("bonjour", "fr", "en")
        assert found.get("/frontend/settings").json()["keyRequired"] is True
        assert found.get("/metrics").status_code == 403
        metrics = found.get("/metrics", headers={"Authorization": "Bearer alpha"}).text
        assert "alpha" not in metrics
        assert "127.0.0.1" not in metrics
        logged = repr(found.logged(9))
        assert "alpha" not in logged
        assert "bonjour" not in logged


def test_a_key_has_its_own_rate(models: ServedModels, keys: Path) -> None:
    with running(models, api_keys=str(keys)) as found:
        codes = [found.translate(**GOOD, api_key="beta").status_code for _ in range(5)]
        assert codes == [200, 200, 200, 429, 429]
        refused = found.translate(**GOOD, api_key="beta")
        assert refused.json() == {"error": "Slowdown: 3 per 1 minute"}
        assert 1 <= int(refused.headers["retry-after"]) <= 20
        assert found.translate(**GOOD, api_key="alpha").status_code == 200


def test_keys_cannot_be_guessed(models: ServedModels, keys: Path) -> None:
    with running(models, api_keys=str(keys), rates={"wrong_keys": 5}) as found:
        codes = [found.translate(**GOOD, api_key=f"guess-{number}").status_code for number in range(7)]
        assert codes == [403] * 5 + [429] * 2
        assert found.translate(**GOOD, api_key="alpha").status_code == 429


def test_an_address_has_a_rate_and_cannot_choose_its_name(models: ServedModels) -> None:
    with running(models, rates={"per_address": 2}) as found:
        codes = [
            found.post("/translate", json=GOOD, headers={"X-Forwarded-For": f"10.0.0.{number}"}).status_code
            for number in range(4)
        ]
        assert codes == [200, 200, 429, 429]
    with running(models, rates={"per_address": 1, "proxies": ["127.0.0.1"]}) as found:
        sent = ["1.1.1.1", "9.9.9.9, 1.1.1.1", "1.1.1.1, 2.2.2.2"]
        codes = [found.post("/translate", json=GOOD, headers={"X-Forwarded-For": value}).status_code for value in sent]
        assert codes == [200, 429, 200]


def test_proxies_that_add_a_line_of_their_own(models: ServedModels) -> None:
    lines = [
        ["6.6.6.1", "1.1.1.1"],
        ["6.6.6.2", "1.1.1.1"],  # the client's own line does not count
        ["6.6.6.3", "1.1.1.1, 10.0.0.1"],  # nor does a second proxy of ours
        ["1.1.1.1", "10.0.0.1"],
        ["1.1.1.1", "2.2.2.2"],
        ["10.0.0.1"],  # of its own
    ]
    with running(models, rates={"per_address": 1, "proxies": ["127.0.0.1", "10.0.0.1"]}) as found:
        codes = [
            found.post("/translate", json=GOOD, headers=[("X-Forwarded-For", line) for line in own]).status_code
            for own in lines
        ]
    assert codes == [200, 429, 429, 429, 200, 200]


def test_a_key_in_the_headers_counts_before_the_body_is_read(models: ServedModels, keys: Path) -> None:
    with running(models, api_keys=str(keys), limits={"upload_seconds": 0.5}) as found:
        for path in ("/translate", "/detect", "/translate_file"):
            host, port = found.url.removeprefix("http://").split(":")
            with socket.create_connection((host, int(port)), timeout=20) as connection:
                head = f"POST {path} HTTP/1.1\r\nHost: a\r\nX-API-Key: gamma\r\nContent-Type: application/json\r\n"
                connection.sendall(f"{head}Content-Length: 100\r\n\r\n".encode())  # and nothing of the body
                assert connection.recv(65536).startswith(b"HTTP/1.1 403 ")
        right = {"X-API-Key": "beta"}  # counted once: three a minute
        assert [found.post("/detect", json=GOOD, headers=right).status_code for _ in range(4)] == [200] * 3 + [429]


ROUTES = ["/v1/regard/translate", "/v1/regard/explain", "/v1/regard/classify_file", "/v1/completions", "/page/links",
          "/studio/watch"]  # fmt: skip


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("key", ["", "X-API-Key: gamma\r\n"])
def test_typed_routes_read_no_body_without_a_key(models: ServedModels, keys: Path, path: str, key: str) -> None:
    with running(models, api_keys=str(keys), limits={"upload_seconds": 20}) as found:
        host, port = found.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            head = f"POST {path} HTTP/1.1\r\nHost: a\r\n{key}Content-Type: application/json\r\n"
            connection.sendall(f"{head}Content-Length: 100\r\n\r\n".encode())  # and nothing of the body
            answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert b"connection: close" in answer.lower()
        wrong = found.post(path, content=b"{", headers={"Content-Type": "application/json"})
        assert wrong.status_code == 403  # what is wrong with a body is nobody's business without a key


def test_a_typed_route_counts_a_request_once(models: ServedModels, keys: Path) -> None:
    with running(models, api_keys=str(keys)) as found:
        body = {"texts": ["bonjour"], "source": "fr", "target": "en"}
        codes = [
            found.post("/v1/regard/translate", json=body, headers={"X-API-Key": "beta"}).status_code for _ in range(4)
        ]
        assert codes == [200] * 3 + [429]


def test_every_route_that_computes_is_admitted() -> None:
    """Those that read the body themselves ask `admitted_fields`; the others are of `AdmittedRoute`."""
    own = {"/translate", "/detect", "/suggest", "/translate_file"}
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    posts = {route.path: isinstance(route, AdmittedRoute) for route in routes if "POST" in route.methods}
    assert {path for path, admitted in posts.items() if not admitted} == own


def test_a_bucket_fills_steadily_and_the_table_is_bounded() -> None:
    now = 0.0
    rates = Rates(RateSettings(), lambda: now)
    for _ in range(6):
        rates.spend("key", "a", 6)
    with pytest.raises(SlowdownError) as refusal:
        rates.spend("key", "a", 6)
    assert refusal.value.retry_after == 10
    now = 9.9
    with pytest.raises(SlowdownError):
        rates.spend("key", "a", 6)
    now = 10.1
    rates.spend("key", "a", 6)
    with pytest.raises(SlowdownError):
        rates.spend("key", "a", 6)
    now = 1000.0
    for _ in range(6):  # no more than a minute's
        rates.spend("key", "a", 6)
    with pytest.raises(SlowdownError):
        rates.spend("key", "a", 6)
    for number in range(MOST_BUCKETS + 50):
        rates.spend("address", number, 6)
    assert len(rates._buckets) == MOST_BUCKETS
