"""Documents through the server: HTML in `/translate`, and files of every format."""

import io
import zipfile
from typing import Any

import pytest

from regard.documents.formats import FORMATS
from regard.documents.translate import translate_document
from regard.search.options import SearchOptions
from regard.serve.models import ServedModels
from regard.serve.pivots import through
from regard.tasks.translate.translation import Translation
from serve.running import Running, running
from tasks.bundles import TEXTS

HTML = f"<p class='x'>{TEXTS[0][:6]}<b>{TEXTS[0][6:]}</b></p><script>a < b</script><p>{TEXTS[1]} &amp; {TEXTS[2]}</p>"


@pytest.fixture
def itself(models: ServedModels) -> Any:
    """A function: a document translated without the server, with the hypotheses of a rank."""

    def translate(content: str, form: str, source: str, target: str, nbest: int = 1, rank: int = 0) -> str:
        [step] = models.translator(source, target).steps
        options = SearchOptions(beam=max(2, nbest), nbest=nbest)

        def search(texts: list[str]) -> list[Translation]:
            found = step.translator.search(texts, options)
            return [one.alternatives[min(rank, len(one.alternatives) - 1)] if nbest > 1 else one for one in found]

        return translate_document(content.encode(), form, search, source=source, target=target).decode()

    return translate


def test_html_is_translated_with_its_tags(server: Running, itself: Any) -> None:
    answer = server.translate(q=HTML, source="fr", target="en", format="html").json()
    assert answer == {"translatedText": itself(HTML, "html", "fr", "en")}
    several = [HTML, f"<i>{TEXTS[3]}</i>", TEXTS[4]]
    answer = server.translate(q=several, source="fr", target="en", format="html").json()
    assert answer == {"translatedText": [itself(text, "html", "fr", "en") for text in several]}


def test_html_has_alternatives(server: Running, itself: Any) -> None:
    answer = server.translate(q=HTML, source="fr", target="en", format="html", alternatives=2).json()
    ranks = [itself(HTML, "html", "fr", "en", nbest=3, rank=rank) for rank in range(3)]
    assert [answer["translatedText"], *answer["alternatives"]] == list(dict.fromkeys(ranks))


def test_html_in_several_languages_is_detected(server: Running, itself: Any) -> None:
    texts = ["<p>Le chat de ma soeur dort toute la journée.</p>", "<p>My sister's cat sleeps all day.</p>"]
    answer = server.translate(q=texts, source="auto", target="en", format="html").json()
    assert [found["language"] for found in answer["detectedLanguage"]] == ["fr", "en"]
    assert answer["translatedText"] == [itself(texts[0], "html", "fr", "en"), texts[1]]


def uploaded(server: Running, name: str, content: bytes, source: str = "fr", target: str = "en") -> Any:
    answer = server.post("/translate_file", data={"source": source, "target": target}, files={"file": (name, content)})
    return server.get(answer.json()["translatedFileUrl"]) if answer.status_code == 200 else answer


@pytest.mark.parametrize(
    ("name", "form", "text"),
    [
        ("a.txt", "text", f"{TEXTS[0]}\n\n  {TEXTS[1]}\n"),
        ("A.HTML", "html", HTML),
        ("a.srt", "srt", f"1\n00:00:01,000 --> 00:00:02,000\n{TEXTS[0]}\n"),
        ("a.po", "po", f'msgid "{TEXTS[0]}"\nmsgstr ""\n'),
    ],
)
def test_a_file_is_as_the_library_translates_it(server: Running, itself: Any, name: str, form: str, text: str) -> None:
    download = uploaded(server, name, text.encode())
    assert download.content.decode() == itself(text, form, "fr", "en")
    assert download.headers["content-disposition"].endswith(f".en{name[1:].lower()}")


def test_a_file_is_detected_and_one_in_the_target_language_stays(server: Running, itself: Any) -> None:
    text = "Le chat de ma soeur dort toute la journée sur le canapé.\n"
    assert uploaded(server, "a.txt", text.encode(), "auto").content.decode() == itself(text, "text", "fr", "en")
    assert uploaded(server, "a.txt", text.encode(), "auto", "fr").content.decode() == text


def test_hostile_files_are_refused_in_one_line(server: Running) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<a>" + b" " * 60_000_000)
        archive.writestr("[Content_Types].xml", b"<Types/>")
    entities = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><xliff>&b;</xliff>'
    outside = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><xliff>&a;</xliff>'
    for name, content in [
        ("a.docx", bomb.getvalue()), ("a.docx", b"PK\x03\x04"), ("a.xliff", entities), ("a.xliff", outside),
        ("a.po", b"\xff\xfe\x00"), ("a.srt", b"\xff\xfe\x00"), ("a.pdf", b"%PDF"), ("noname", b"x"), (".txt", b""),
    ]:  # fmt: skip
        answer = uploaded(server, name, content)
        if answer.status_code != 200:
            assert answer.status_code == 400, answer.text
            assert list(answer.json()) == ["error"]
            assert "root:" not in answer.text
    assert server.translate(q="oui", source="fr", target="en").status_code == 200


def test_a_long_document_does_not_delay_a_short_request(models: ServedModels) -> None:
    import threading

    sentences = [f"{text} {number}" for number in range(12) for text in TEXTS[:20]]
    done: list[str] = []
    with running(models, batching={"workers": 1, "texts": 8, "slice": 4}) as found:

        def file() -> None:
            assert uploaded(found, "a.txt", "\n\n".join(sentences).encode()).status_code == 200
            done.append("document")

        thread = threading.Thread(target=file)
        thread.start()
        while not found.service.batcher.waiting:
            pass
        found.translate(q="oui", source="fr", target="en")
        done.append("short")
        thread.join()
    assert done == ["short", "document"]


def test_links_go_through_a_third_language() -> None:
    def translation(source: str, text: str, links: list[tuple[int, int]]) -> Translation:
        return Translation(source, text, 0.0, [], 0.0, links=lambda: links)

    middle = translation("le chat noir", "the black cat", [(0, 0), (2, 1), (1, 2)])
    last = translation("the black cat", "schwarze Katze da", [(1, 0), (2, 1), (0, 2), (2, 2)])
    assert through(middle, last).alignment == [(2, 0), (1, 1), (0, 2), (1, 2)]
    assert through(middle, last).source == "le chat noir"


def test_every_format_is_offered(server: Running) -> None:
    offered = server.get("/frontend/settings").json()["supportedFilesFormat"]
    assert set(offered) == {suffix for row in FORMATS.values() for suffix in row.suffixes}


def test_a_file_that_states_its_languages_is_translated_between_them(server: Running) -> None:
    file = "<xliff version='2.0' srcLang='{}' trgLang='{}'><file><unit><segment><source>The cat</source></segment></unit></file></xliff>"
    answer = uploaded(server, "a.xlf", file.format("en-GB", "de").encode(), "fr", "en")
    assert answer.status_code == 400
    assert "its source language is en-GB, that of the model is fr" in answer.json()["error"]
    assert uploaded(server, "a.xlf", file.format("fr", "de").encode(), "fr", "en").status_code == 400
    assert (
        uploaded(server, "a.xlf", file.format("fr", "en").encode(), "auto", "en").status_code == 200
    )  # not detected as en
