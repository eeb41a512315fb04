"""OpenAI's completions by the real client, from a real server. One model knows three lines: its answers are worked out by hand."""

import json
import math
import threading
import time
from typing import Any

import httpx
import openai
import pytest

from regard.serve.completing import first_stop, held_back
from regard.tasks.generate.text_stream import TextStream
from regard.tasks.generate.writer import Writer
from serve.running import Running, running

THIRD = -math.log(3)
"""log p of each of the three words that follow `to be` in the training text."""


@pytest.fixture(scope="module")
def client(every: Running) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{every.url}/v1", api_key="unused", max_retries=0)


def completed(client: openai.OpenAI, **given: Any) -> Any:
    return client.completions.create(**{"model": "counted", "temperature": 0, **given})


def streamed(client: openai.OpenAI, **given: Any) -> list[Any]:
    return list(completed(client, stream=True, **given))


def test_a_line_that_is_known_by_heart(client: openai.OpenAI) -> None:
    answer = completed(client, prompt="that")
    [choice] = answer.choices
    assert (choice.text, choice.finish_reason, choice.index, choice.logprobs) == (" is the question", "stop", 0, None)
    assert (answer.object, answer.model, answer.id[:5]) == ("text_completion", "counted", "cmpl-")
    assert abs(answer.created - time.time()) < 600
    assert answer.usage.model_dump(exclude_none=True) == {
        "prompt_tokens": 1,
        "completion_tokens": 3,
        "total_tokens": 4,
    }


def test_a_text_that_is_cut(client: openai.OpenAI) -> None:
    [choice] = completed(client, prompt="that", max_tokens=2).choices
    assert (choice.text, choice.finish_reason) == (" is the", "length")


def test_several_prompts_in_text_and_tokens(client: openai.OpenAI, every: Running) -> None:
    writer: Writer = every.service.models.named("counted").served
    ids = [writer.tokenizer.encode(text) for text in ("that is", "is the")]
    answer = completed(client, prompt=["that is", "is the"], n=2)
    assert [(one.index, one.text) for one in answer.choices] == [
        (0, " the question"), (1, " the question"), (2, " question"), (3, " question"),
    ]  # fmt: skip
    assert answer.usage.prompt_tokens == 4
    assert [one.text for one in completed(client, prompt=ids).choices] == [" the question", " question"]
    assert [one.text for one in completed(client, prompt=ids[0]).choices] == [" the question"]


def test_log_probabilities_and_echo(client: openai.OpenAI) -> None:
    [choice] = completed(client, prompt="not to be", logprobs=3, echo=True, max_tokens=0).choices
    found = choice.logprobs
    assert (choice.text, choice.finish_reason) == ("not to be", "length")
    assert found.tokens == [" not", " to", " be"]
    assert found.text_offset == [0, 3, 6]
    assert found.token_logprobs[0] is None
    assert found.top_logprobs[0] is None
    assert found.token_logprobs[1:] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert found.top_logprobs[1][" to"] == pytest.approx(0.0, abs=1e-6)
    [choice] = completed(client, prompt="to be", logprobs=3, max_tokens=1).choices
    [top] = choice.logprobs.top_logprobs
    assert top == {name: pytest.approx(THIRD, abs=1e-6) for name in (" or", " is", "</s>")}


def test_tokens_and_places_of_an_echoed_answer(client: openai.OpenAI) -> None:
    [choice] = completed(client, prompt="that", logprobs=0, echo=True).choices
    assert choice.text == "that is the question"
    assert choice.logprobs.text_offset == [0, 4, 7, 11]
    assert choice.logprobs.tokens == [" that", " is", " the", " question"]
    assert choice.logprobs.token_logprobs[1:] == pytest.approx([0.0] * 3, abs=1e-6)


@pytest.mark.parametrize(
    ("stop", "text"),
    [
        ("question", " is the "),
        (["nothing", " the"], " is"),
        ("is the q", " "),
        (" ", ""),
        ("questions", " is the question"),
    ],
)
def test_stop_sequences(client: openai.OpenAI, stop: Any, text: str) -> None:
    [choice] = completed(client, prompt="that", stop=stop).choices
    assert (choice.text, choice.finish_reason) == (text, "stop")
    parts = streamed(client, prompt="that", stop=stop)
    assert "".join(part.choices[0].text for part in parts) == text


def test_where_a_stop_sequence_may_begin() -> None:
    assert first_stop("abcabc", ["ca", "b"]) == 1
    assert first_stop("abc", ["d"]) is None
    assert held_back("xx ab", ["abc", "bd"]) == 2
    assert held_back("xx", ["abc"]) == 0
    assert held_back("", ["abc"]) == 0


@pytest.mark.parametrize(
    "given",
    [
        {"prompt": "fine film", "temperature": 1.0, "seed": 7, "max_tokens": 30, "n": 2},
        {"prompt": ["number", ""], "temperature": 0.7, "top_p": 0.8, "seed": 3, "max_tokens": 20, "logprobs": 2},
        {"prompt": "dull", "max_tokens": 12, "echo": True, "logprobs": 1, "stop": "e"},
    ],
)
def test_a_stream_says_what_the_whole_answer_says(client: openai.OpenAI, given: dict[str, Any]) -> None:
    given = {"model": "language", **given}
    whole = completed(client, **given)
    parts = streamed(client, **given, stream_options={"include_usage": True})
    assert parts[-1].choices == []
    assert parts[-1].usage == whole.usage
    assert len({part.id for part in parts}) == 1
    for choice in whole.choices:
        own = [one for part in parts for one in part.choices if one.index == choice.index]
        assert "".join(one.text for one in own) == choice.text
        assert [one.finish_reason for one in own][-1] == choice.finish_reason
        assert all(one.finish_reason is None for one in own[:-1])
        if choice.logprobs is not None:
            for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
                assert [v for one in own if one.logprobs for v in getattr(one.logprobs, name)] == getattr(
                    choice.logprobs, name
                )
            sizes = {len(getattr(choice.logprobs, name)) for name in ("tokens", "token_logprobs", "text_offset")}
            assert len(sizes) == 1


def test_drawn_texts_are_those_of_the_library(client: openai.OpenAI, every: Running) -> None:
    writer: Writer = every.service.models.named("language").served
    [choice] = completed(
        client, model="language", prompt="fine film", temperature=0.9, top_p=0.9, seed=5, max_tokens=25, logprobs=1
    ).choices
    [expected] = writer.generate(["fine film"], temperature=0.9, top_p=0.9, seed=5, max_length=25)
    assert choice.text == expected.text
    assert sum(choice.logprobs.token_logprobs) == pytest.approx(expected.logprob, abs=1e-4)


def test_seeds(client: openai.OpenAI) -> None:
    def text(**given: Any) -> list[str]:
        answer = completed(client, model="language", prompt="fine", temperature=1.0, max_tokens=20, **given)
        return [choice.text for choice in answer.choices]

    assert text(seed=-4) == text(seed=-4)
    assert text(seed=1) != text(seed=2)
    assert len(set(text(seed=1, n=4))) == 4
    assert text() != text()


def test_the_end_of_a_stream_as_it_is_sent(every: Running) -> None:
    body = {"model": "counted", "prompt": "that", "temperature": 0, "stream": True}
    answer = every.post("/v1/completions", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = answer.text.split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    assert all(json.loads(event.removeprefix("data: "))["object"] == "text_completion" for event in events[:-2])


def test_models(client: openai.OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    assert {"counted", "language", "fr-en"} <= set(names)
    model = client.models.retrieve("counted")
    assert (model.id, model.object, model.owned_by) == ("counted", "model", "regard")
    with pytest.raises(openai.NotFoundError, match="no model 'gpt-4'"):
        client.models.retrieve("gpt-4")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "gpt-4"}, "no model 'gpt-4'"),
        ({"model": "fr-en"}, "'fr-en' is a model to translate"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": 0}, "nothing would be written"),
        ({"max_tokens": 10**6}, "allows at most 2000"),
        ({"n": 1000}, "n = 1000: this server allows at most 10"),
        ({"temperature": -1}, "temperature"),
        ({"top_p": 1.5}, "top_p"),
        ({"logprobs": 6}, "logprobs"),
        ({"prompt": []}, "prompt = "),
        ({"prompt": [[10**6]]}, "token 1000000: this model has the tokens 0 to"),
        ({"prompt": 3}, "prompt"),
        ({"stop": ["a"] * 5}, "stop"),
        ({"stop": "a" * 201}, "at most 200 characters"),
        ({"stop": ["a", "a" * 201]}, "at most 200 characters"),
        ({"suffix": "end"}, "suffix = 'end': not supported here"),
        ({"frequency_penalty": 0.5}, "frequency_penalty = 0.5: not supported"),
        ({"best_of": 3}, "best_of = 3: not supported"),
        ({"model": "language", "prompt": "fine film " * 1000}, "this model's context length is"),
    ],
)  # fmt: skip
def test_what_is_refused(client: openai.OpenAI, given: dict[str, Any], message: str) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        completed(client, **{"prompt": "that", **given})
    assert caught.value.status_code in (400, 404)
    error: Any = caught.value.body
    assert message in error["message"]
    assert set(error) == {"message", "type", "param", "code"}


def test_unknown_fields_and_neutral_ones_are_tolerated(client: openai.OpenAI) -> None:
    more = {"frequency_penalty": 0, "presence_penalty": 0.0, "logit_bias": {}, "best_of": 1, "user": "me"}
    [choice] = completed(client, prompt="that", **more, extra_body={"min_p": 0.1, "guided_regex": None}).choices
    assert choice.text == " is the question"


def test_half_of_a_surrogate_pair_is_refused(every: Running) -> None:
    content = b'{"model": "counted", "prompt": "\\ud800"}'
    answer = every.post("/v1/completions", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert "surrogate" in answer.json()["error"]["message"]


def test_keys_are_bearer_tokens(every: Running, tmp_path: Any) -> None:
    keys = tmp_path / "keys"
    keys.write_text("sesame\n")
    with running(every.service.models, api_keys=str(keys)) as server:
        for key, fine in (("sesame", True), ("wrong", False)):
            client = openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0)
            if fine:
                assert completed(client, prompt="that").choices[0].text == " is the question"
                assert len(list(client.models.list())) > 2
            else:
                with pytest.raises(openai.PermissionDeniedError, match="Invalid API key"):
                    completed(client, prompt="that")
                with pytest.raises(openai.PermissionDeniedError):
                    client.models.list()


def test_a_client_that_goes_away_stops_the_writing_between_tokens(
    every: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, closed, go = [0], threading.Event(), threading.Semaphore(3)
    plain_next, plain_close = TextStream.__next__, TextStream.close

    def slow_next(self: Any) -> str:
        go.acquire(timeout=5)
        steps[0] += 1
        return plain_next(self)

    def close(self: Any) -> None:
        plain_close(self)
        closed.set()

    monkeypatch.setattr(TextStream, "__next__", slow_next)
    monkeypatch.setattr(TextStream, "close", close)
    body = {"model": "language", "prompt": "fine", "max_tokens": 1000, "seed": 1, "stream": True}
    with httpx.stream("POST", f"{every.url}/v1/completions", json=body, timeout=30) as answer:
        next(answer.iter_lines())
    until = time.monotonic() + 20
    while every.service.metrics.running and time.monotonic() < until:
        time.sleep(0.01)
    assert not every.service.metrics.running
    for _ in range(10):
        go.release()
    assert closed.wait(20)
    assert steps[0] < 20
    monkeypatch.undo()
    assert (
        every.post("/v1/completions", json={"model": "counted", "prompt": "that", "temperature": 0}).json()["choices"][
            0
        ]["text"]
        == " is the question"
    )
