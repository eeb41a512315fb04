"""A model under interventions is the same model where there are none, and another where there are."""

import math

import numpy as np
import pytest
import torch

from explain.models import KINDS, TRANSFORMER, tokenizers, trained_model
from regard.errors import ConfigError
from regard.explain.interventions import edited, with_embeddings, without_head, without_tokens
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
    with pytest.raises(ConfigError, match="no word 'chien'; its words are la, pomme"):
        model.explain(TEXT, parts=(), changes=[Change(mask="chien")])
    with pytest.raises(ConfigError, match="layer 3, head 1: this model has 2 layers"):
        model.explain(TEXT, parts=(), changes=[Change(head=("cross", 2, 0))])
    with pytest.raises(ConfigError, match="one of prefix"):
        Change(prefix="a", mask="b")
    with pytest.raises(ConfigError, match="write WORD=OTHER"):
        parse_replacement("chat")
    for text in ("cross.1", "cross.0.1", "sideways.1.1", "cross.a.b"):
        with pytest.raises(ConfigError, match=r"as in cross\.3\.1"):
            parse_head(text)
    assert parse_head("cross.3.1") == ("cross", 2, 0)
