"""Attribution keeps its axioms, and says what an intervention by hand says."""

import numpy as np
import pytest
import torch

from explain.models import KINDS, trained_model
from regard.explain.attribution import GAP, POINTS, complete_gradients, integrated_gradients, occlusion
from regard.tasks.translate.translator import Translator
from regard.text.vocabulary import Vocabulary

TEXT, TARGET = "la pomme est rouge", "the apple is red"


def logprobs(model: Translator, source: list[int], target: list[int]) -> torch.Tensor:
    """[T], of ids, by a plain pass."""
    with torch.no_grad():
        logits = model.network.project(model.forced([source], [target])[0])
    return torch.log_softmax(logits, dim=-1).gather(1, torch.tensor([*target, 0])[:, None])[:, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_integrated_gradients_are_complete(kind: str) -> None:
    """Over the source they sum to log p(y|x) - log p(y|every word unknown) (Sundararajan et al. 2017, proposition 1)."""
    model = trained_model(kind)
    source, target = model.tokenizers.source.encode(TEXT), model.tokenizers.target.encode(TARGET)
    found, gap = complete_gradients(model, source, target)
    unknown = logprobs(model, [Vocabulary.UNK] * len(source), target)
    expected = logprobs(model, source, target) - unknown
    assert expected.abs().max() > 0.1  # the source has something to say
    assert (found.sum(dim=1) - expected).abs().max() < GAP * expected.abs().max()
    torch.testing.assert_close(expected - found.sum(dim=1), gap)
    assert found[:, -1].abs().max() == 0.0  # the end mark is the same on the whole path
    if KINDS[kind].get("kind") == "recurrent":  # no ReLU and no norm bends the path
        fine = integrated_gradients(model, source, target, 128)
        assert (fine.sum(dim=1) - expected).abs().max() < 1e-4


def test_more_points_are_taken_where_the_gap_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    model = trained_model()
    source, target = model.tokenizers.source.encode(TEXT), model.tokenizers.target.encode(TARGET)
    monkeypatch.setattr("regard.explain.attribution.POINTS", (1, *POINTS))
    found, gap = complete_gradients(model, source, target)
    coarse = integrated_gradients(model, source, target, 1)
    assert (coarse.sum(dim=1) - found.sum(dim=1)).abs().max() > gap.abs().max()


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_occlusion_is_what_is_lost_without_the_word(kind: str) -> None:
    model = trained_model(kind)
    source, target = model.tokenizers.source.encode(TEXT), model.tokenizers.target.encode(TARGET)
    found = occlusion(model, source, target, [[0], [1, 2]])
    whole = logprobs(model, source, target)
    for number, without in enumerate(([Vocabulary.UNK, *source[1:]], [source[0], *[Vocabulary.UNK] * 2, *source[3:]])):
        torch.testing.assert_close(found[:, number], whole - logprobs(model, without, target))


def test_the_record_is_of_words() -> None:
    model = trained_model()
    seen = model.explain(TEXT, target=TARGET, parts=("attribution",)).attribution
    assert seen is not None
    assert seen.occlusion.values.shape == seen.gradients.values.shape == (len(seen.gap.values), 4)
    source, target = model.tokenizers.source.encode(TEXT), model.tokenizers.target.encode(TARGET)
    tokens, _ = complete_gradients(model, source, target)
    np.testing.assert_allclose(seen.gradients.values.sum(axis=1), tokens.sum(dim=1), atol=1e-5)
    names = [(one.one, one.other) for one in seen.agreement]
    assert names == [
        ("attention", "occlusion"),
        ("attention", "integrated gradients"),
        ("occlusion", "integrated gradients"),
    ]
    for one in seen.agreement:
        assert one.kendall is not None
        assert one.spearman is not None
        assert -1.0 <= one.kendall <= 1.0
        assert -1.0 <= one.spearman <= 1.0


def test_without_attention_there_is_still_attribution() -> None:
    seen = trained_model("no attention").explain(TEXT, target=TARGET, parts=("attribution",)).attribution
    assert seen is not None
    assert [(one.one, one.other) for one in seen.agreement] == [("occlusion", "integrated gradients")]


def test_training_goes_on_as_before() -> None:
    """Nothing is left on the network: no gradients, and the mode that it had."""
    model = trained_model()
    for parameter in model.network.parameters():
        parameter.grad = None
    model.explain(TEXT, target=TARGET, parts=("attribution",))
    assert all(parameter.grad is None for parameter in model.network.parameters())
    assert model.network.training is False
