"""What a setting is when it is not given, and what has no meaning for a task."""

import pytest

from regard.errors import ConfigError
from regard.models.config import MIXER_TRAITS, MixerTraits
from regard.tasks.settings import parse_settings
from regard.tasks.translate.settings import TranslateBundle
from regard.training.config import RATES, TrainConfig


@pytest.mark.parametrize("kind", list(RATES))
def test_each_optimiser_begins_with_a_rate_that_suits_it(kind: str) -> None:
    assert TrainConfig.parse({"optimizer": kind}).learning_rate == RATES[kind]
    assert TrainConfig.parse({"optimizer": kind, "learning_rate": 0.5}).learning_rate == 0.5


def test_the_rate_not_given_is_that_of_the_default_optimiser_and_noam_s_factor_is_one() -> None:
    assert TrainConfig().learning_rate == TrainConfig.parse({}).learning_rate == RATES[TrainConfig().optimizer]
    assert TrainConfig.parse({"optimizer": "adam", "schedule": "noam"}).learning_rate == 1.0


def test_a_preset_that_a_task_has_no_use_for_is_named() -> None:
    values = {"task": "generate", "data": {"text": "a.txt"}, "model": {"preset": "tiny-deep"}}
    with pytest.raises(
        ConfigError,
        match=r"model\.preset 'tiny-deep', which sets model\.encoder_layers, has no meaning for task 'generate'",
    ):
        parse_settings(values)
    with pytest.raises(ConfigError, match=r": model\.encoder_layers has no meaning for task 'generate'"):
        parse_settings({**values, "model": {"encoder_layers": 2}})
    classifier = {"task": "classify", "data": {"labelled": "a.tsv"}, "model": {"preset": "tiny-deep"}}
    assert parse_settings(classifier).model.preset == "tiny-deep"  # type: ignore[union-attr]


def test_a_class_token_needs_a_position_too() -> None:
    model = {"positions": "learned", "max_positions": 21}
    values = {"task": "classify", "data": {"labelled": "a.tsv", "max_length": 20}, "model": model}
    assert parse_settings(values).model.reach == 21
    with pytest.raises(ConfigError, match=r"data\.max_length 20 and an end mark and a class token; raise the one"):
        parse_settings({**values, "model": {**model, "pooling": "class"}})
    assert parse_settings({**values, "model": {**model, "max_positions": 22, "pooling": "class"}}).model.reach == 22


@pytest.mark.parametrize("task", ["generate", "classify", "caption"])
def test_a_prefix_language_model_translates_only(task: str) -> None:
    with pytest.raises(ConfigError, match=rf"model\.kind 'prefix' cannot do task '{task}'; set model\.kind to 'transf"):
        parse_settings({"task": task, "model": {"kind": "prefix"}})


def test_one_embedding_needs_one_vocabulary() -> None:
    with pytest.raises(ConfigError, match=r"model\.kind 'prefix' has one embedding.*; set text\.joint = true"):
        parse_settings({"model": {"kind": "prefix"}, "text": {"joint": False}})
    sizes = {"vocabulary": {"source": 9, "target": 9, "joint": False}}
    with pytest.raises(ConfigError, match=r"vocabulary: 9 and 9 pieces, joint False; this network has one table"):
        TranslateBundle.parse({"model": {"kind": "prefix"}, **sizes})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": {"order": 3}}, "'translate'; leave it out, or set task to 'generate' and model.kind to 'markov'"),
        ({"model": {"ngrams": 2}}, "'translate'; leave it out, or set task to 'classify' and model.kind to 'bag'"),
        ({"model": {"pooling": "max"}}, "'translate'; leave it out, or set task to 'classify'"),
        (
            {"task": "generate", "model": {"kind": "markov", "layers": 2}},
            "unknown key 'model.layers'; it needs model.kind = 'transformer' or 'recurrent'",
        ),
    ],
)
def test_a_setting_of_another_network_names_who_has_it(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_settings(values)
    assert str(caught.value).endswith(message)


def test_a_mixer_that_sees_later_tokens_may_be_declared_causal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MIXER_TRAITS, "decay", MixerTraits(causal=False))
    with pytest.raises(
        ConfigError, match=r"model\.mixer 'decay' sees later tokens, .* causal = True \(docs/extensions\.md\)"
    ):
        parse_settings({"model": {"mixer": "decay"}})
