"""The studio's routes: every value is that of the API, and what cannot be done is said in one line."""

import base64
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from regard.data.pictures import encoded_png
from regard.explain import sentence_page
from regard.explain.beam_tree import beam_tree
from regard.explain.document import to_json_types
from regard.explain.explain import explain
from regard.explain.intervened import intervened
from regard.explain.pictures import explain_picture
from regard.explain.text import explain_text
from regard.explain.what_if import Change
from serve.page_models import (
    HOSTILE,
    captioner,
    classifier,
    pages,
    picture,
    picture_classifier,
    served,
    translator,
    writer,
)

TEXT = "la pomme est rouge"
CHANGES = {"mask": ["pomme"], "without": ["cross.2.1"], "replace": ["rouge=chat"], "prefix": "it is"}
AS_CHANGES = [
    Change(replace=("rouge", "chat")),
    Change(mask="pomme"),
    Change(head=("cross", 1, 0)),
    Change(prefix="it is"),
]


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with pages(served()) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


def events(answer: httpx.Response) -> list[tuple[str, Any]]:
    """The events of a stream."""
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
    found = []
    for part in answer.text.split("\n\n")[:-1]:
        event, data = part.split("\n")
        found.append((event.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def watched(client: httpx.Client, **state: Any) -> tuple[list[Any], dict[str, Any]]:
    """The steps and the end."""
    *steps, (name, end) = events(client.post("/studio/watch", json=state))
    assert (name, {event for event, _ in steps}) == ("done", {"step"})
    return [data for _, data in steps], end


def test_the_models_that_it_shows(client: httpx.Client) -> None:
    found = client.get("/studio/models").json()
    assert [(one["name"], one["task"], one["watched"]) for one in found["models"]] == [
        ("pocket", "translate", True),
        (HOSTILE, "translate", True),
        ("verse", "generate", True),
        ("mood", "classify", False),
        ("bars", "classify_images", False),
        ("scenes", "caption", False),
    ]
    assert found["limits"] == {"beam": 10}


def test_a_watched_translation_grows_to_the_tree_of_the_api(client: httpx.Client) -> None:
    steps, end = watched(client, model="pocket", text=TEXT, beam=3, alpha=0.5)
    best, tree = beam_tree(translator(), TEXT, beam=3, alpha=0.5)
    assert end["nodes"] == json.loads(json.dumps(to_json_types(tree.nodes)))
    grown = [node for step in steps for node in step["nodes"]]
    plain = [{**node, "state": "finished" if node["state"] == "best" else node["state"]} for node in end["nodes"]]
    assert [plain[0], *grown] == plain
    [shown, *others] = end["hypotheses"]
    assert shown["text"] == translator().translate([TEXT], beam=3, alpha=0.5)[0].text == "the apple is red"
    assert shown["logprob"] == pytest.approx(best.logprob)
    assert len(others) == 2
    assert end["before"] is None
    assert end["changes"] == ""


def test_changes_act_together_while_it_is_watched(client: httpx.Client) -> None:
    _, end = watched(client, model="pocket", text=TEXT, **CHANGES)
    under = intervened(translator(), TEXT, AS_CHANGES)
    assert end["hypotheses"][0]["text"] == under.translate(beam=5, alpha=1.0)
    assert end["hypotheses"][0]["text"].startswith("it is")
    assert end["source"] == under.text == "la pomme est chat"
    assert end["before"] == "the apple is red"
    assert end["changes"] == under.name


def test_samples_are_watched_with_their_temperature(client: httpx.Client) -> None:
    options: dict[str, Any] = {"sample": True, "temperature": 2.5, "top_k": 50, "seed": 4}
    _, end = watched(client, model="pocket", text=TEXT, samples=3, **options)
    [best] = translator().translate([TEXT], nbest=3, **options)
    assert [one["text"] for one in end["hypotheses"]] == [one.text for one in best.alternatives]
    assert len({one["text"] for one in end["hypotheses"]}) > 1


def test_a_language_model_is_watched_token_by_token(client: httpx.Client) -> None:
    state = {
        "model": "verse",
        "text": "the apple",
        "temperature": 0.7,
        "top_k": 12,
        "top_p": 0.9,
        "seed": 2,
        "max_length": 9,
    }
    steps, end = watched(client, **state)
    [plain] = writer().generate(["the apple"], sample=True, temperature=0.7, top_k=12, top_p=0.9, seed=2, max_length=9)
    assert end["text"] == plain.text
    assert end["tokens"] == plain.tokens
    drawn = [step["candidates"][step["drawn"]] for step in steps]
    assert [one["token"] for one, step in zip(drawn, steps, strict=True) if not step["ends"]][:9] == plain.tokens
    for step in steps:
        assert step["left"] <= 12
        assert sum(one["drawn"] for one in step["candidates"]) == pytest.approx(1.0)
        assert {one["cut"] for one in step["candidates"]} == {None, "top-k"} | (
            {"top-p"} if step["left"] < 12 else set()
        )


def test_explanations_are_those_of_the_api(client: httpx.Client) -> None:
    def explained(**state: Any) -> dict[str, Any]:
        return client.post("/studio/explain", json=state).raise_for_status().json()

    def same(found: dict[str, Any], expected: Any) -> None:
        assert found == json.loads(json.dumps(sentence_page.to_data([expected], packed=True)))

    same(
        explained(model="pocket", text=TEXT, parts=["computation", "searches"]),
        explain(translator(), TEXT, parts=["computation", "searches"], name="pocket"),
    )
    under = intervened(translator(), TEXT, AS_CHANGES)
    said = under.translate(beam=5, alpha=1.0)
    same(
        explained(model="pocket", text=TEXT, **CHANGES),
        explain(under.model, under.text, target=said, parts=(), name=f"pocket, {under.name}"),
    )
    same(explained(model="mood", text=TEXT), explain_text(classifier(), TEXT, name="mood"))
    same(explained(model="verse", text="the", said="the apple"), explain_text(writer(), "the apple", name="verse"))


def test_pictures_are_explained_as_the_api_does(client: httpx.Client) -> None:
    sent = {"picture": base64.b64encode(encoded_png(picture())).decode(), "picture_name": "a <b>.png"}
    [found] = client.post("/studio/explain", json={"model": "bars", **sent}).json()["pictures"]
    expected = explain_picture(picture_classifier(), picture())
    assert found["picture"] == "a <b>.png"
    assert found["probabilities"] == pytest.approx(expected.probabilities)
    assert found["png"] == expected.png
    [told] = client.post("/studio/explain", json={"model": "scenes", "beam": 2, **sent}).json()["explanations"]
    [caption] = captioner().caption([picture()], beam=2)
    assert told["picture"]["text"] == caption.text
    assert told["picture"]["name"] == "a <b>.png"
    again = client.post("/studio/explain", json={"model": "bars", "picture": found["png"]}).json()["pictures"][0]
    assert again["probabilities"] == pytest.approx(
        found["probabilities"]
    )  # a link holds the picture as the network reads it


def test_the_saved_page_is_that_of_the_verb(client: httpx.Client) -> None:
    answer = client.post("/studio/save", json={"model": "pocket", "text": TEXT})
    assert answer.headers["content-disposition"] == 'attachment; filename="explanation.html"'
    assert answer.text == sentence_page.render_sentences([explain(translator(), TEXT, name="pocket")])
    changed = client.post("/studio/save", json={"model": HOSTILE, "text": TEXT, "mask": ["pomme"]}).text
    assert "<img" not in changed
    data = json.loads(changed.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    [before, after] = data["explanations"]
    assert before["model"]["name"] == HOSTILE
    assert after["model"]["name"] == f"{HOSTILE}, without “pomme”"
    assert not after["searches"]
    assert after["attribution"]


@pytest.mark.parametrize(
    ("path", "state", "status", "said"),
    [
        ("watch", {"model": "nobody"}, 404, "no model 'nobody'"),
        ("watch", {"model": "mood", "text": TEXT}, 400, "no steps to watch"),
        ("watch", {"model": "pocket", "text": " "}, 400, "give a sentence"),
        ("watch", {"model": "pocket", "text": TEXT, "beam": 11}, 400, "beam = 11: this server allows at most 10"),
        ("watch", {"model": "pocket", "text": TEXT, "mask": ["poire"]}, 400, "no word 'poire'"),
        ("watch", {"model": "pocket", "text": TEXT, "without": ["cross.9.9"]}, 400, "2 layers of 2 heads"),
        ("watch", {"model": "pocket", "text": TEXT, "without": ["<b>"]}, 400, "cross.3.1"),
        ("watch", {"model": "pocket", "text": TEXT, "colour": "red"}, 400, "colour"),
        ("watch", {"model": "pocket", "text": TEXT, "temperature": 0}, 400, "temperature"),
        ("watch", {"model": "pocket", "text": "a" * 6000}, 400, "text"),
        ("watch", {"model": "pocket", "text": TEXT, "prefix": "\ud800"}, 400, "unicode"),
        ("explain", {"model": "verse", "text": ""}, 400, "give a text"),
        ("explain", {"model": "bars"}, 400, "there is no picture"),
        ("explain", {"model": "bars", "picture": "???"}, 400, "not base64"),
        ("explain", {"model": "bars", "picture": "é"}, 400, "not base64"),
        ("explain", {"model": "bars", "picture": "aGVsbG8="}, 400, "picture"),
        ("save", {"model": "pocket", "text": TEXT, "parts": ["all"]}, 400, "parts"),
    ],
)
def test_what_is_wrong_is_said(client: httpx.Client, path: str, state: dict[str, Any], status: int, said: str) -> None:
    answer = client.post(f"/studio/{path}", content=json.dumps(state), headers={"Content-Type": "application/json"})
    assert (answer.status_code, said in answer.json()["error"]) == (status, True), answer.text


def test_a_reader_who_leaves_ends_the_search() -> None:
    before = threading.active_count()
    with pages(served(), batching={"workers": 1}) as address, httpx.Client(base_url=address, timeout=60) as client:
        state = {"model": "verse", "text": "the", "max_length": 400, "temperature": 5.0}
        with client.stream("POST", "/studio/watch", json=state) as answer:
            next(answer.iter_lines())
        whole = watched(client, model="verse", text="the", max_length=2)  # the only worker is free again
        assert len(whole[0]) >= 1
    assert threading.active_count() <= before + 1
