"""Directions of served models: named in the settings, shared by requests, and told without a path of the server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.serve.models import ServedModels
from regard.serve.settings import ServeSettings
from serve.running import Running, running
from tasks.bundles import TEXTS, random_bundle


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory, served_cache: Path) -> Iterator[tuple[Running, Path]]:
    """A model whose languages the settings give, and one of two directions; and the directory of both."""
    folder = tmp_path_factory.mktemp("directions")
    paths = [
        random_bundle(folder / "plain", ending=3.0),
        random_bundle(folder / "many", directions=[("fr", "en"), ("en", "fr")], ending=3.0),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(served_cache))
        models = ServedModels.load(paths, ServeSettings.parse({"beam": 2, "languages": {"plain": "fr-en"}}))
    with running(models) as found:
        yield found, folder


def test_a_model_whose_languages_the_settings_give(several: tuple[Running, Path]) -> None:
    server, _ = several
    given = {"texts": TEXTS[:1], "model": "plain"}
    whole = [
        server.post("/v1/regard/translate", json={**given, **own}) for own in ({}, {"source": "fr", "target": "en"})
    ]
    assert [answer.status_code for answer in whole] == [200, 200], whole[0].text
    first = server.service.models.translator("fr", "en").steps[0].translator
    assert whole[0].json()["translations"][0]["text"] == first.translate(TEXTS[:1], beam=2)[0].text


def test_requests_that_name_a_direction_share_its_translator(
    several: tuple[Running, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = several
    used: list[Any] = []
    plain_translate = server.service.batcher.translate

    def translate(model: Any, *given: Any, **more: Any) -> Any:
        used.append(model)
        return plain_translate(model, *given, **more)

    monkeypatch.setattr(server.service.batcher, "translate", translate)
    for _ in range(2):
        body = {"texts": TEXTS[:1], "model": "many", "source": "fr", "target": "en"}
        assert server.post("/v1/regard/translate", json=body).status_code == 200
    assert used[0] is used[1]
    assert used[0].languages.target == "en"


@pytest.mark.parametrize("model", ["plain", "many"])
def test_no_answer_has_a_path_of_the_server(several: tuple[Running, Path], model: str) -> None:
    server, folder = several
    for body in (
        {"text": "a", "target_language": "xx"}, {"text": "a", "source": "xx", "target_language": "en"},
        {"text": "a", "source": "en", "target_language": "en"},
    ):  # fmt: skip
        answer = server.post("/v1/regard/explain", json={"model": model, **body})
        assert answer.status_code == 400
        assert str(folder) not in answer.text
        assert model in answer.json()["error"]["message"]
    answer = server.post("/v1/regard/translate", json={"model": model, "texts": ["a"], "target": "xx"})
    assert answer.status_code == 400
    assert str(folder) not in answer.text
