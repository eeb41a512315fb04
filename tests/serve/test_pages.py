"""The files of the pages: which there are, their policy and tags, and that nothing in them names another place."""

import re
from collections.abc import Iterator

import httpx
import pytest

from regard.serve.pages import page_files
from serve.page_models import pages, served


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with pages(served()) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


@pytest.mark.parametrize("path", ["/", "/studio"])
def test_pages_allow_nothing_from_elsewhere_and_nothing_inline(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script>|<script [^>]*>[^<]|<style|\son\w+=|style=", answer.text)
    named = re.findall(r'(?:src|href)="([^"#]+)"', answer.text)
    assert named
    assert all(name.startswith("/") for name in named)
    assert [client.get(name).status_code for name in named] == [200] * len(named)


def test_every_import_of_a_module_is_a_file_that_is_served(client: httpx.Client) -> None:
    modules = [name for name in page_files() if name.endswith(".js") and not name.startswith("explain/")]
    seen = set()
    while modules:
        name = modules.pop()
        seen.add(name)
        answer = client.get(f"/page/{name}")
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
        folder = name.rpartition("/")[0]
        for found in re.findall(r'^import [^"]*"\./([\w./]+)";', answer.text, flags=re.MULTILINE):
            path = f"{folder}/{found}" if folder else found
            assert path in page_files(), f"{name} imports {found}"
            if path not in seen:
                modules.append(path)


def test_no_file_names_another_place() -> None:
    for name, file in page_files().items():
        text = file.content.decode()
        for address in re.findall(r"https?://[^\s\"'`)]+", text):
            assert address.startswith("http://www.w3.org/"), f"{name}: {address}"
        if not name.startswith("explain/"):
            assert "innerHTML" not in text, name
            assert "eval(" not in text, name


def test_a_file_that_the_browser_has_is_not_sent_again(client: httpx.Client) -> None:
    first = client.get("/page/translate.js")
    tag = first.headers["etag"]
    for held in (tag, f'"other", {tag}', f"W/{tag}"):
        again = client.get("/page/translate.js", headers={"If-None-Match": held})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
    page = client.get("/")
    kept = client.get(
        "/", headers={"If-None-Match": page.headers["etag"]}
    )  # a browser takes its headers for those of its copy
    assert kept.status_code == 304
    assert kept.headers["content-security-policy"] == page.headers["content-security-policy"]
    assert client.get("/page/translate.js", headers={"If-None-Match": '"other"'}).content == first.content
    assert client.head("/").headers["etag"] == client.get("/").headers["etag"]


@pytest.mark.parametrize(
    "path",
    [
        "nothing.js",
        "../pages.py",
        "..%2fpages.py",
        "%2e%2e/pages.py",
        "explain/../../explain.py",
        "/etc/passwd",
        "explain/report.html",
        "%00",
    ],
)
def test_no_request_reads_another_file(client: httpx.Client, path: str) -> None:
    answer = client.get(f"/page/{path}")
    assert answer.status_code == 404
    assert "error" in answer.json()


def test_links_are_those_of_the_model(client: httpx.Client) -> None:
    body = {"text": "la pomme est rouge", "translation": "the apple is red", "source": "fr", "target": "en"}
    found = client.post("/page/links", json=body).json()
    [expected] = served().named("pocket").served.align([body["text"]], [body["translation"]])
    assert found["links"] == [list(link) for link in expected.links]
    assert found["source_words"] == list(expected.source_words)
    assert client.post("/page/links", json={**body, "target": "zz"}).json() == {"error": "zz is not supported"}
    assert client.post("/page/links", json={**body, "text": "a" * 3000}).status_code == 400
