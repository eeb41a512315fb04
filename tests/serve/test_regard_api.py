"""regard's own API: its answers are those of the library, its fields those of `SearchOptions` and of the tasks' records."""

import base64
import io
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from picture_files import bars
from regard.data.scenes.corpus import scene
from regard.explain.table import VERB
from regard.search.options import FIELDS
from regard.serve.errors import RequestError
from regard.serve.records import plain
from regard.serve.typed import SearchFields, files_of
from regard.tasks.caption.caption import Caption
from regard.tasks.classify.classification import Classification, Tagging
from regard.tasks.classify_images.classification import PictureClassification
from regard.tasks.forecast.series_forecast import SeriesForecast
from regard.tasks.generate.generation import Generation
from regard.tasks.pretrain.filling import Filling
from regard.tasks.translate.translation import Translation
from serve.running import Running
from tasks.bundles import TEXTS

RECORDS = [
    Translation, Generation, Classification, Tagging, PictureClassification, Caption, SeriesForecast, Filling,
]  # fmt: skip


def asked(server: Running, route: str, **body: Any) -> Any:
    answer = server.post(f"/v1/regard/{route}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(server: Running, route: str, status: int, **body: Any) -> str:
    answer = server.post(f"/v1/regard/{route}", json=body)
    assert answer.status_code == status, answer.text
    message: str = answer.json()["error"]["message"]
    return message


def served(server: Running, name: str) -> Any:
    return server.service.models.named(name).served


def png(picture: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(picture[:, :, 0] if picture.shape[2] == 1 else picture).save(stream, "PNG")
    return stream.getvalue()


def encoded(picture: np.ndarray) -> str:
    return base64.b64encode(png(picture)).decode()


def near(found: Any, expected: Any) -> bool:
    """Whether two JSON values are the same, numbers but for the last digits."""
    if isinstance(expected, dict):
        return (
            isinstance(found, dict) and set(found) == set(expected) and all(near(found[k], expected[k]) for k in found)
        )
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(near, found, expected))
    if isinstance(expected, float):
        return found == pytest.approx(expected, abs=1e-4, rel=1e-4)
    return bool(found == expected)


@pytest.fixture(scope="module")
def schemas(every: Running) -> dict[str, Any]:
    found: dict[str, Any] = every.get("/spec").json()["components"]["schemas"]
    return found


def test_every_search_option_is_in_the_spec(schemas: dict[str, Any]) -> None:
    stated = schemas["SearchOptions"]["properties"]
    assert list(stated) == list(FIELDS)
    for name, option in FIELDS.items():
        assert stated[name]["description"] == option.metadata["help"]
        assert stated[name].get("default") == (list(option.default) if name == "suppress" else option.default)
    assert stated["beam"]["maximum"] == 1000
    for body in ("TranslateBody", "GenerateBody", "CaptionBody"):
        assert schemas[body]["properties"]["options"]["$ref"].endswith("/SearchOptions")


def test_a_new_search_option_appears_by_itself() -> None:
    assert set(SearchFields.model_fields) == set(FIELDS)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_field_of_a_record_is_in_the_spec(schemas: dict[str, Any], record: Any) -> None:
    stated = set(schemas[record.__name__]["properties"])
    assert {field.name for field in fields(record)} - {"links"} == stated - {"alignment", "looks"}


def test_an_n_best_list_is_that_of_the_library(every: Running) -> None:
    answer = asked(every, "translate", source="fr", target="en", texts=TEXTS[:3], options={"beam": 3, "nbest": 3})
    expected = served(every, "fr-en").translate(TEXTS[:3], beam=3, nbest=3)
    assert near(answer["translations"], [plain(one, lambda _: {"alignment": None}) for one in expected])
    assert [len(one["alternatives"]) for one in answer["translations"]] == [3, 3, 3]
    assert "alternatives" not in answer["translations"][0]["alternatives"][0]


def test_prefixes_phrases_and_alignment(every: Running) -> None:
    texts, prefixes, phrases = TEXTS[:2], ["The", ""], [[], ["cat"]]
    given: dict[str, Any] = {"prefixes": prefixes, "phrases": phrases, "model": "fr-en"}
    answer = asked(every, "translate", texts=texts, alignment=True, options={"beam": 4}, **given)
    expected = served(every, "fr-en").translate(texts, beam=4, prefixes=prefixes, phrases=phrases)
    assert near(
        answer["translations"],
        [plain(one, lambda each: {"alignment": [list(link) for link in each.alignment]}) for one in expected],
    )
    assert answer["translations"][0]["text"].startswith("The")
    assert "cat" in answer["translations"][1]["text"]
    assert answer["translations"][0]["alignment"]


def test_through_another_language(every: Running) -> None:
    [answer] = asked(every, "translate", source="fr", target="de", texts=TEXTS[:1])["translations"]
    [middle] = served(every, "fr-en").translate(TEXTS[:1], beam=2)
    [last] = served(every, "en-de").translate([middle.text], beam=2)
    assert (answer["source"], answer["text"]) == (TEXTS[0], last.text)
    message = refused(every, "translate", 400, source="fr", target="de", texts=TEXTS[:1], alignment=True)
    assert "fr to de goes through another language" in message


def test_drawn_continuations_are_those_of_the_library(every: Running) -> None:
    options = {"seed": 4, "nbest": 3, "temperature": 0.8, "max_length": 12}
    answer = asked(every, "generate", model="language", prompts=["fine film", ""], options=options)
    expected = served(every, "language").generate(["fine film", ""], **options)
    assert near(answer["generations"], [plain(one) for one in expected])


def test_labels_of_texts_and_words(every: Running) -> None:
    answer = asked(every, "classify", texts=["fine film", ""])
    assert near(
        answer["classifications"], [plain(one) for one in served(every, "classifier").classify(["fine film", ""])]
    )
    answer = asked(every, "tag", texts=["they can fish", ""])
    assert near(answer["taggings"], [plain(one) for one in served(every, "tagger").classify(["they can fish", ""])])
    assert answer["taggings"][0]["words"] == ["they", "can", "fish"]


def test_labels_of_pictures(every: Running) -> None:
    pictures = list(bars(2)[0])
    answer = asked(every, "classify", pictures=[encoded(one) for one in pictures])
    expected = [plain(one) for one in served(every, "pictures").classify(pictures)]
    assert near([one["probabilities"] for one in answer["classifications"]], [one["probabilities"] for one in expected])
    found = every.post("/v1/regard/classify_file", files={"picture": ("a.png", png(pictures[0]))}).json()
    assert near(found["classifications"][0]["probabilities"], expected[0]["probabilities"])


def test_captions_and_where_they_look(every: Running) -> None:
    pictures = [scene("test", number).picture for number in range(2)]
    captioner = served(every, "captioner")
    answer = asked(every, "caption", pictures=[encoded(one) for one in pictures], looks=True, options={"beam": 2})
    expected = captioner.caption(pictures, beam=2)
    for found, one in zip(answer["captions"], expected, strict=True):
        assert near(found["tokens"], one.tokens)
        assert found["logprob"] == pytest.approx(one.logprob, abs=1e-3)
        assert found["looks"]["words"] == found["text"].split()
        assert all(sum(map(sum, weights)) == pytest.approx(1, abs=1e-3) for weights in found["looks"]["weights"])
    form = {"options": json.dumps({"beam": 2}), "looks": "false"}
    sent = every.post("/v1/regard/caption_file", files={"picture": ("a.png", png(pictures[0]))}, data=form)
    [found] = sent.json()["captions"]
    assert (found["text"], found["looks"]) == (expected[0].text, None)


def test_forecasts(every: Running) -> None:
    series = {"a": [50.0 + (step % 8) for step in range(20)], "new": [1.0, 2.0, 3.0]}
    answer = asked(every, "forecast", series=series)
    expected = [json.loads(json.dumps(plain(one))) for one in served(every, "forecaster").forecast(series)]
    assert near(answer["forecasts"], expected)
    assert [one["padded"] for one in answer["forecasts"]] == [False, True]


def test_gaps(every: Running) -> None:
    answer = asked(every, "fill", texts=["fine <mask> number"], nbest=2)
    [expected] = served(every, "mask").fill(["fine <mask> number"], nbest=2)
    assert near(answer["fillings"], [plain(expected)])
    assert len(answer["fillings"][0]["gaps"][0]) == 2


def test_models(every: Running) -> None:
    models = {model["name"]: model for model in asked_models(every)}
    assert models["fr-en"]["languages"] == [["fr", "en"]]
    assert models["tagger"]["tags_words"]
    assert sorted(models["pictures"]["labels"]) == ["blank", "lying", "standing"]
    assert models["counted"] == {
        "name": "counted", "task": "generate", "languages": [], "labels": [], "tags_words": False, "kind": "markov",
    }  # fmt: skip


def asked_models(every: Running) -> list[dict[str, Any]]:
    models: list[dict[str, Any]] = every.get("/v1/regard/models").json()["models"]
    return models


@pytest.mark.parametrize(
    ("name", "text", "body"),
    [
        pytest.param("fr-en", "Cette lettre", {"beam": 1}, marks=pytest.mark.slow),
        ("language", "fine film", {}),
        ("classifier", "dull film", {}),
        ("mask", "fine <mask> number", {}),
    ],
)
def test_an_explanation_is_the_file_that_regard_explain_writes(
    every: Running, name: str, text: str, body: dict[str, Any], tmp_path: Path
) -> None:
    answer = asked(every, "explain", model=name, text=text, **body)
    model = every.service.models.named(name)
    row = VERB[model.task]
    row.write([row.explain(model.served, text, name=name, **body)], tmp_path / "x.json")
    assert near(answer, json.loads((tmp_path / "x.json").read_text()))


@pytest.mark.parametrize("name", ["pictures", "captioner"])
def test_pictures_are_explained(every: Running, name: str) -> None:
    picture = bars(1)[0][0] if name == "pictures" else scene("test", 0).picture
    answer = asked(every, "explain", model=name, picture=encoded(picture))
    assert answer["format"] == 1
    assert len(answer["explanations"]) == 1


@pytest.mark.parametrize(
    ("route", "body", "status", "message"),
    [
        ("translate", {"texts": ["a"]}, 400, "source and target: there are"),
        ("translate", {"texts": ["a"], "source": "xx"}, 400, "xx to any language: there are"),
        ("translate", {"texts": ["a"], "source": "fr", "target": "en", "options": {"beem": 3}}, 400, "did you mean beam?"),
        ("translate", {"texts": ["a"], "source": "fr", "target": "en", "options": {"beam": 11}}, 400, "allows at most 10"),
        ("translate", {"texts": ["a"], "source": "fr", "target": "en", "options": {"top_k": 3}}, 400, "no effect without"),
        ("translate", {"texts": ["a"], "source": "fr", "target": "en", "beam": 3}, 400, "beam: Extra inputs"),
        ("translate", {"texts": ["a"], "model": "language"}, 400, "its task is to generate, not to translate"),
        ("translate", {"texts": ["a"], "model": "none"}, 404, "no model 'none'"),
        ("translate", {"texts": ["a", "b"], "source": "fr", "target": "en", "prefixes": ["x"]}, 400, "prefixes"),
        ("translate", {"texts": "a", "source": "fr", "target": "en"}, 400, "texts: Input should be a valid list"),
        ("generate", {"prompts": ["a"]}, 400, "there are language, counted to generate; name one"),
        ("classify", {}, 400, "give texts or pictures"),
        ("classify", {"texts": ["a"], "model": "tagger"}, 400, "its task is to tag, not to classify"),
        ("classify", {"pictures": ["%%%"]}, 400, "pictures[0]: not valid base64"),
        ("classify", {"pictures": ["QUJD"]}, 400, "pictures[0]: neither PNG nor JPEG"),
        ("caption", {"pictures": [""], "model": "captioner"}, 400, "pictures[0]"),
        ("forecast", {"series": "/etc/passwd"}, 400, "series"),
        ("forecast", {"series": [[]]}, 400, ""),
        ("forecast", {"series": []}, 400, ""),
        ("forecast", {"series": [[1e300, -1e300]]}, 400, "a value of 1e+300; give it in a larger unit"),
        ("fill", {"texts": ["<mask>"], "beam": 11}, 400, "allows at most 10"),
        ("explain", {"text": "a"}, 400, "name one"),
        ("explain", {"text": "a", "model": "forecaster"}, 400, "cannot be explained"),
        ("explain", {"text": "a", "model": "pictures"}, 400, "give a picture"),
        ("explain", {"picture": "QUJD", "model": "fr-en"}, 400, "give a text"),
        ("explain", {"text": "a" * 1001, "model": "fr-en"}, 400, "explains at most 1000"),
        ("explain", {"text": "a", "model": "classifier", "prefix": ["x"]}, 400, "does not translate"),
    ],
)  # fmt: skip
def test_what_is_refused(every: Running, route: str, body: dict[str, Any], status: int, message: str) -> None:
    assert message in refused(every, route, status, **body)


def test_without_torch_the_answer_is_501_with_the_command(every: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.extras import missing

    def needs_torch(*_: Any, **__: Any) -> Any:
        raise missing("word alignment", "torch")

    monkeypatch.setattr(type(served(every, "classifier")), "classify", needs_torch)
    assert 'pip install "regard[train]"' in refused(every, "classify", 501, texts=["a"])


def test_base64_is_checked() -> None:
    assert files_of(["QUJD"]) == [b"ABC"]
    with pytest.raises(RequestError, match=r"pictures\[1\]: not valid base64"):
        files_of(["", "ä"])
