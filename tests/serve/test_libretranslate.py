"""LibreTranslate's API: its own Python client, curl, and every body and error that its clients know."""

import json
import subprocess
import threading
import urllib.error
from typing import Any

import pytest
from libretranslatepy import LibreTranslateAPI

from regard.serve import libretranslate
from regard.serve.models import ServedModels
from regard.serve.pieces import Pieces, pieces_of
from serve.running import Running, running
from tasks.bundles import TEXTS


@pytest.fixture
def texts_of(models: ServedModels) -> Any:
    """A function: the translations of texts by the models themselves, without the server."""

    def translate(texts: list[str], *pair: str, nbest: int = 1) -> list[list[str]]:
        [step] = models.translator(*pair).steps
        found = step.translator.translate(texts, beam=max(2, nbest), nbest=nbest)
        return [[one.text for one in translation.alternatives or [translation]] for translation in found]

    return translate


def test_the_python_client_works_unmodified(server: Running, texts_of: Any) -> None:
    client = LibreTranslateAPI(server.url)
    assert client.translate(TEXTS[0], "fr", "en") == texts_of(TEXTS[:1], "fr", "en")[0][0]
    assert [language["code"] for language in client.languages()] == ["en", "fr"]
    assert client.languages()[1] == {"code": "fr", "name": "French", "targets": ["de", "en"]}
    [found] = client.detect("Le chat de ma soeur dort toute la journée sur le canapé.")
    assert found["language"] == "fr"
    assert 50 < found["confidence"] <= 100


def test_the_python_client_is_told_of_errors(server: Running) -> None:
    with pytest.raises(urllib.error.HTTPError) as refusal:
        LibreTranslateAPI(server.url).translate("bonjour", "fr", "zz")
    assert refusal.value.code == 400
    assert json.loads(refusal.value.read()) == {"error": "zz is not supported"}


def test_curl_with_a_form(server: Running, texts_of: Any) -> None:
    fields = [part for field in (f"q={TEXTS[1]}", "source=fr", "target=en") for part in ("--data-urlencode", field)]
    done = subprocess.run(
        ["curl", "-s", *fields, f"{server.url}/translate"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"translatedText": texts_of([TEXTS[1]], "fr", "en")[0][0]}


def test_a_list_gives_a_list(server: Running, texts_of: Any) -> None:
    expected = [own[0] for own in texts_of(TEXTS[:5], "fr", "en")]
    assert server.translate(q=TEXTS[:5], source="fr", target="en").json() == {"translatedText": expected}
    form = {"q": TEXTS[:5], "source": "fr", "target": "en"}
    assert server.post("/translate", data=form).json() == {"translatedText": expected}


def test_alternatives_are_the_next_best(server: Running, texts_of: Any) -> None:
    [best, *others] = texts_of(TEXTS[:1], "fr", "en", nbest=4)[0]
    answer = server.translate(q=TEXTS[0], source="fr", target="en", alternatives=3).json()
    assert answer == {"translatedText": best, "alternatives": list(dict.fromkeys(others))}
    answer = server.translate(q=TEXTS[:1], source="fr", target="en", alternatives=3).json()
    assert answer == {"translatedText": [best], "alternatives": [list(dict.fromkeys(others))]}


def test_auto_detects_each_text(server: Running, texts_of: Any) -> None:
    french, english = "Le chat de ma soeur dort toute la journée.", "My sister's cat sleeps all day on the sofa."
    answer = server.translate(q=[french, english], source="auto", target="de").json()
    assert [found["language"] for found in answer["detectedLanguage"]] == ["fr", "en"]
    assert answer["translatedText"][1] == texts_of([english], "en", "de")[0][0]
    answer = server.translate(q=french, source="auto", target="en").json()
    assert answer["detectedLanguage"]["language"] == "fr"


def test_a_missing_pair_goes_through_a_shared_language(server: Running, texts_of: Any) -> None:
    middle = [own[0] for own in texts_of(TEXTS[:3], "fr", "en")]
    expected = [own[0] if text else "" for text, own in zip(middle, texts_of(middle, "en", "de"), strict=True)]
    assert server.translate(q=TEXTS[:3], source="fr", target="de").json() == {"translatedText": expected}


def test_lines_and_white_space_stay(server: Running, texts_of: Any) -> None:
    first, second = (own[0] for own in texts_of(TEXTS[:2], "fr", "en"))
    text = f"  {TEXTS[0]}\n\n\t{TEXTS[1]}\n"
    answer = server.translate(q=text, source="fr", target="en").json()
    assert answer == {"translatedText": f"  {first}\n\n\t{second}\n"}


def test_the_same_language_is_returned(server: Running) -> None:
    assert server.translate(q="bonjour\n", source="fr", target="fr").json() == {"translatedText": "bonjour\n"}


FULL = {"q": "bonjour", "source": "fr", "target": "en"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"source": "fr", "target": "en"}, "Invalid request: missing q parameter"),
        ({**FULL, "q": ""}, "Invalid request: missing q parameter"),
        ({"q": "bonjour", "target": "en"}, "Invalid request: missing source parameter"),
        ({"q": "bonjour", "source": "fr"}, "Invalid request: missing target parameter"),
        ({**FULL, "source": "zz"}, "zz is not supported"),
        ({**FULL, "target": "zz"}, "zz is not supported"),
        ({**FULL, "source": "de"}, "de is not supported"),
        ({**FULL, "source": "en", "target": "fr"}, "fr is not supported"),
        ({**FULL, "format": "pdf"}, "pdf format is not supported"),
        ({**FULL, "alternatives": -1}, "Invalid request: alternatives parameter is not a whole number"),
        ({**FULL, "alternatives": "two"}, "Invalid request: alternatives parameter is not a whole number"),
        ({**FULL, "q": 7}, "Invalid request: q parameter is not a text or a list of texts"),
        ({**FULL, "q": ["a", None]}, "Invalid request: q parameter is not a text or a list of texts"),
        ({**FULL, "source": ["fr"]}, "Invalid request: source parameter is not a text"),
    ],
)
def test_a_wrong_request_is_told_as_libretranslate_tells_it(server: Running, fields: Any, message: str) -> None:
    answer = server.post("/translate", json=fields)
    assert (answer.status_code, answer.json()) == (400, {"error": message})


def test_an_unknown_path_and_method(server: Running) -> None:
    assert (server.get("/nothing").status_code, server.get("/nothing").json()) == (404, {"error": "Not Found"})
    assert (server.get("/translate").status_code, server.get("/translate").json()) == (
        405,
        {"error": "Method Not Allowed"},
    )


def test_frontend_settings(server: Running) -> None:
    settings = server.get("/frontend/settings").json()
    assert settings["keyRequired"] is False
    assert settings["suggestions"] is False
    assert settings["language"]["source"] == {"code": "en", "name": "English"}
    assert ".txt" in settings["supportedFilesFormat"]


def test_the_description_has_every_route(server: Running) -> None:
    paths = server.get("/spec").json()["paths"]
    assert {"/translate", "/languages", "/detect", "/translate_file", "/suggest", "/health"} <= set(paths)
    fields = paths["/translate"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    own = {"glossary", "protect"}  # beside those of LibreTranslate
    assert {"q", "source", "target", "format", "alternatives", "api_key"} | own == set(fields)
    page = server.get("/docs")
    assert "/translate_file" in page.text
    assert "http://" not in page.text.replace(server.url, "")
    assert "https://" not in page.text


def test_long_texts_are_split_outside_of_the_event_loop(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []

    def watched(*given: Any) -> Pieces:
        threads.append(threading.current_thread().name)
        return pieces_of(*given)

    monkeypatch.setattr(libretranslate, "pieces_of", watched)
    half = "oui. " * (libretranslate.SPLIT_AT_ONCE // 10)
    for texts, in_loop in (([half, half], True), ([half, half, "."], False)):
        threads.clear()
        assert server.translate(q=texts, source="fr", target="en").status_code == 200
        assert len(threads) == len(texts)
        assert ("server" in threads) == in_loop  # the thread of the event loop


def test_a_file_is_translated_and_downloaded(server: Running, texts_of: Any) -> None:
    first, second = (own[0] for own in texts_of(TEXTS[:2], "fr", "en"))
    upload = {"file": ("../../notes.fr.txt", f"{TEXTS[0]}\n\n{TEXTS[1]}\n".encode())}
    answer = server.post("/translate_file", data={"source": "fr", "target": "en"}, files=upload)
    address = answer.json()["translatedFileUrl"]
    assert address.startswith(f"{server.url}/download_file/")
    download = server.get(address)
    assert download.content.decode() == f"{first}\n\n{second}\n"
    assert download.headers["content-disposition"] == "attachment; filename*=UTF-8''notes.fr.en.txt"
    assert server.get("/download_file/..%2f..%2fetc%2fpasswd").status_code == 404
    assert server.get("/download_file/notes.txt").status_code == 404


def test_a_file_of_an_unknown_format_is_refused(server: Running) -> None:
    upload = {"file": ("a.exe", b"x")}
    answer = server.post("/translate_file", data={"source": "fr", "target": "en"}, files=upload)
    assert (answer.status_code, answer.json()) == (400, {"error": "Invalid request: file format not supported"})
    answer = server.post("/translate_file", data={"source": "fr", "target": "en"})
    assert (answer.status_code, answer.json()) == (400, {"error": "Invalid request: missing file parameter"})


def test_suggestions_are_pairs_that_training_reads(models: ServedModels, tmp_path: Any) -> None:
    from regard.data.readers import read_pairs

    with running(models, suggestions={"directory": str(tmp_path / "kept")}) as found:
        pair = {"q": "le chat\tdort", "s": "the cat\nsleeps", "source": "fr", "target": "en"}
        assert found.post("/suggest", data=pair).json() == {"success": True}
        assert found.post("/suggest", json={**pair, "q": "oui", "s": "yes"}).json() == {"success": True}
        refused = found.post("/suggest", json={**pair, "source": "../x"})
        assert (refused.status_code, refused.json()) == (400, {"error": "../x is not supported"})
        elsewhere = found.post("/suggest", data=pair, headers={"Origin": "https://elsewhere.example"})
        assert elsewhere.status_code == 403
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["fr-en.tsv"]
    read = list(read_pairs(pairs=tmp_path / "kept" / "fr-en.tsv"))
    assert read == [("le chat dort", "the cat sleeps"), ("oui", "yes")]


def test_suggestions_that_cannot_be_written_are_not_the_clients_fault(models: ServedModels, tmp_path: Any) -> None:
    pair = {"q": "oui", "s": "yes", "source": "fr", "target": "en"}
    with running(models, suggestions={"directory": str(tmp_path / "kept")}) as found:
        (tmp_path / "kept").rmdir()
        (tmp_path / "kept").write_text("a file now")
        answer = found.post("/suggest", json=pair)
    assert answer.status_code == 500
    assert answer.json()["error"].startswith("suggestions cannot be kept: ")


def test_suggestions_are_off_by_default(server: Running) -> None:
    answer = server.post("/suggest", json={"q": "a", "s": "b", "source": "fr", "target": "en"})
    assert (answer.status_code, answer.json()) == (403, {"error": "Suggestions are disabled on this server."})
