"""A model under interventions is the same model where there are none, and another where there are."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from explain.models import KINDS, TRANSFORMER, tokenizers, trained_model
from regard.errors import ConfigError
from regard.explain.interventions import Edits, edited, with_embeddings, without_head, without_tokens
from regard.explain.what_if import Change, parse_head, parse_replacement
from regard.models.build import build_translator
from regard.models.config import TransformerConfig
from regard.ops.probe import Probe
from regard.tasks.translate.translator import Translator

TEXT, TARGET = "la pomme est rouge", "the apple is red"


@pytest.mark.parametrize("kind", KINDS)
def test_without_edits_it_says_the_same(kind: str) -> None:
    """Searching by probed passes gives the tokens and scores of the plain search."""
    model = trained_model(kind)
    texts = [TEXT, "le chat dort", "je suis rouge"]
    for beam in (1, 3):
        plain, probed = model.translate(texts, beam=beam), edited(model, {}).translate(texts, beam=beam)
        assert [one.tokens for one in probed] == [one.tokens for one in plain]
        assert [one.logprob for one in probed] == pytest.approx([one.logprob for one in plain], abs=1e-5)
        assert [one.score for one in probed] == pytest.approx([one.score for one in plain], abs=1e-5)


@pytest.mark.parametrize("kind", ["transformer", "recurrent", "input feeding"])
def test_a_dropped_word_is_not_looked_at(kind: str) -> None:
    model = trained_model(kind)
    seen = edited(model, without_tokens([1])).explain(TEXT, target=TARGET, parts=())  # type: ignore[attr-defined]
    for name, weights in seen.attention.items():
        if name != "decoder":
            assert weights.at(key=1).values.max() == 0.0
            assert weights.at(key=0).values.max() > 0.0
    assert abs(seen.logprob - model.explain(TEXT, target=TARGET, parts=()).logprob) > 1e-3


def test_a_silent_head_gives_nothing() -> None:
    model = trained_model()
    silent = edited(model, without_head("cross", 1, 0))
    probe = Probe("decoder.1.cross.context")
    source, target = model.tokenizers.source.encode(TEXT), model.tokenizers.target.encode(TARGET)
    silent.forced([source], [target], probe)
    context = probe["decoder.1.cross.context"]
    assert context[:, 0].abs().max() == 0.0
    assert context[:, 1].abs().max() > 0.0


def test_another_embedding_is_another_word() -> None:
    """Replacing the embedding of a token by that of another is translating the other."""
    model = trained_model()
    source, target = model.tokenizers.source.encode(TEXT), model.tokenizers.target.encode(TARGET)
    other = list(source)
    other[2] = 7
    network = model.network
    table = network.source.embedding.weight[7] * math.sqrt(network.source.embedding.embedding_dim)  # type: ignore[attr-defined]
    replaced = edited(model, with_embeddings([2], table)).forced([source], [target])
    torch.testing.assert_close(replaced, model.forced([other], [target]))


def test_learned_positions_end_for_it_too() -> None:
    """It says no more than the network has positions for, as the model itself."""
    pair = tokenizers()
    config = TransformerConfig(**TRANSFORMER, positions="learned", max_positions=9, dropout=0.0)
    network = build_translator(config, len(pair.source.vocabulary), len(pair.target.vocabulary), pair.joint).eval()
    model = Translator(network, pair, reach=9)
    silent = edited(model, without_head("cross", 0, 0))
    assert silent.max_tokens == model.max_tokens == 8
    [found] = silent.translate(["la"], beam=1, min_length=8, max_length=20)
    assert len(found.tokens) == 8


def test_an_edited_model_has_attributions() -> None:
    """Those of a word that it does not see are zero."""
    model = trained_model()
    words = model.tokenizers.source.words(model.tokenizers.source.encode(TEXT))
    blind = edited(model, without_tokens([token for token, word in enumerate(words) if word == 1]))
    seen = blind.explain(TEXT, target=TARGET, parts=("attribution",)).attribution  # type: ignore[attr-defined]
    assert seen is not None
    assert np.abs(seen.gradients.at(source_word=1).values).max() == 0.0
    assert np.abs(seen.occlusion.at(source_word=1).values).max() < 1e-12
    assert np.abs(seen.gradients.at(source_word=0).values).max() > 0.0


def test_every_change_is_told() -> None:
    model = trained_model()
    changes = [
        Change(prefix="he"),
        Change(replace=("pomme", "chat")),
        Change(mask="rouge"),
        Change(head=("encoder", 0, 1)),
    ]
    seen = model.explain(TEXT, parts=(), changes=changes)
    begun, replaced, masked, silent = seen.what_if
    assert begun.text.startswith("he")
    assert begun.kept_logprob == pytest.approx(seen.logprob, abs=1e-6)
    assert replaced.source == "la chat est rouge"
    [score] = model.score(["la chat est rouge"], [seen.target.text])
    assert replaced.kept_token_logprobs.values == pytest.approx(score.token_logprobs, abs=1e-5)
    np.testing.assert_allclose(
        replaced.token_changes.values, replaced.kept_token_logprobs.values - seen.token_logprobs.values, atol=1e-5
    )
    assert masked.name == "without “rouge”"
    assert abs(masked.kept_logprob - seen.logprob) > 1e-3
    assert silent.name == "without encoder layer 1 head 2"
    assert silent.alignment is not None
    assert silent.alignment.target_words == silent.text.split()


def test_mistakes_are_named() -> None:
    model = trained_model()
    with pytest.raises(ConfigError, match="no word 'chien'; its words are 'la', 'pomme'"):
        model.explain(TEXT, parts=(), changes=[Change(mask="chien")])
    with pytest.raises(ConfigError, match="layer 3, head 1: this model has 2 layers"):
        model.explain(TEXT, parts=(), changes=[Change(head=("cross", 2, 0))])
    for head in (("cross", -1, 0), ("cross", 0, -1), ("cross", 0, 2), ("decoder", 9, 9)):
        with pytest.raises(ConfigError, match="this model has 2 layers of 2 heads"):
            model.explain(TEXT, parts=(), changes=[Change(head=head)])  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="one of prefix"):
        Change(prefix="a", mask="b")
    with pytest.raises(ConfigError, match="write WORD=OTHER"):
        parse_replacement("chat")
    for text in ("cross.1", "cross.0.1", "sideways.1.1", "cross.a.b"):
        with pytest.raises(ConfigError, match=r"as in cross\.3\.1"):
            parse_head(text)
    assert parse_head("cross.3.1") == ("cross", 2, 0)


@pytest.mark.parametrize(
    ("kind", "edits", "message"),
    [
        ("transformer", lambda: without_head("cross", layer=2, head=0), r"decoder\.2\.cross.*nearest: decoder\.[01]\.cross"),
        ("transformer", lambda: without_head("encoder", layer=2, head=0), r"encoder\.2\.self.*nearest: encoder\.[01]\.self"),
        ("transformer", lambda: without_head("decoder", layer=0, head=2), "head 2 of decoder attention, layer 0: it has 2"),
        ("transformer", lambda: without_head("cross", layer=-1, head=0), "layer -1 of cross attention: counted from 0"),
        ("transformer", lambda: without_head("cross", layer=0, head=-1), "head -1 of cross attention: counted from 0"),
        ("transformer", lambda: without_head("sideways", layer=0, head=0), "'sideways': not one of encoder, decoder"),
        ("recurrent", lambda: without_head("encoder", layer=0, head=0), r"nothing to edit called 'encoder\.0\.self"),
        ("recurrent", lambda: without_head("cross", layer=1, head=0), r"nothing to edit called 'decoder\.1\.cross"),
        ("recurrent", lambda: without_head("cross", layer=0, head=1), "it has 1 heads"),
        ("no attention", lambda: without_head("cross", layer=0, head=0), "nearest: decoder"),
        ("transformer", lambda: with_embeddings([99], torch.zeros(1)), "source position 99: the source has"),
        ("transformer", lambda: with_embeddings([0, -1], torch.zeros(1)), "source position -1: counted from 0"),
        ("transformer", lambda: with_embeddings([0], torch.zeros(3)), r"shape \[3\]: this model needs \[16\] or \[1\]"),
        ("transformer", lambda: without_tokens([99]), "source position 99"),
        ("transformer", lambda: without_tokens([-2]), "source position -2"),
        ("transformer", lambda: {"encoder.words.": torch.neg}, r"'encoder\.words\.'; nearest: encoder\.words"),
    ],
)  # fmt: skip
def test_an_edit_that_changes_nothing_is_an_error(kind: str, edits: Callable[[], Edits], message: str) -> None:
    model = trained_model(kind)
    source, target = model.tokenizers.source.encode(TEXT), model.tokenizers.target.encode(TARGET)
    for use in (lambda changed: changed.translate([TEXT]), lambda changed: changed.forced([source], [target])):
        with pytest.raises(ConfigError, match=message):
            use(edited(model, edits()))


def test_an_edit_of_a_later_step_waits_for_it() -> None:
    """The first steps of a search have fewer steps than the edit names."""
    model = trained_model("recurrent")
    [plain] = model.translate([TEXT], beam=1)
    blind = edited(model, {"decoder.0.cross.2.context": torch.zeros_like})
    [changed] = blind.translate([TEXT], beam=1)
    assert changed.tokens[:2] == plain.tokens[:2]
    assert changed.logprob != pytest.approx(plain.logprob, abs=1e-6)


def changed_source(text: str, change: Change) -> str:
    return trained_model().explain(text, target=TARGET, changes=[change], parts=()).what_if[0].source


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("la pomme est rouge.", "rouge", "la pomme est verte."),  # its full stop stays
        ("la pomme est rouge.", "rouge.", "la pomme est verte"),  # given with it, it is replaced with it
        ("la pomme est Rouge ?", "rouge", "la pomme est verte ?"),
        ("Rouge, la pomme est rouge", "rouge", "Rouge, la pomme est verte"),  # the word as it is written comes first
    ],
)
def test_a_word_is_found_without_its_final_punctuation_and_case(text: str, word: str, expected: str) -> None:
    assert changed_source(text, Change(replace=(word, "verte"))) == expected


def test_a_word_that_may_be_two_is_refused() -> None:
    told = r"several words like 'rouge'; its words are 'Rouge,', 'la', 'pomme,', 'Rouge'"
    with pytest.raises(ConfigError, match=told):
        changed_source("Rouge, la pomme, Rouge", Change(mask="rouge"))
