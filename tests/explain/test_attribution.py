"""Attribution keeps its axioms, and says what an intervention by hand says."""

import numpy as np
import pytest
import torch

from explain.models import KINDS, trained_model
from regard.explain.attribution import integrated_gradients, occlusion
from regard.ops.probe import Probe

TEXT, TARGET = "la pomme est rouge", "the apple is red"


@pytest.mark.parametrize("kind", KINDS)
def test_integrated_gradients_are_complete(kind: str) -> None:
    """Over the whole source they sum to log p(y|x) - log p(y|nothing) (Sundararajan et al. 2017, proposition 1)."""
    model = trained_model(kind)
    source, target = model.tokenizers.source.encode(TEXT), model.tokenizers.target.encode(TARGET)
    # with no positions added to embeddings, the first norm makes most of the path happen near zero: it needs more points
    found, gap = integrated_gradients(model, source, target, points=512 if kind == "transformer" else 128)
    [score] = model.score([TEXT], [TARGET])
    hidden = model.forced([source], [target], Probe(edits={"encoder.words": torch.zeros_like}))
    nothing = torch.log_softmax(model.network.project(hidden), dim=-1)[0].gather(1, torch.tensor([*target, 0])[:, None])
    expected = torch.tensor(score.token_logprobs) - nothing[:, 0].detach()
    worst = float((found.sum(dim=1) - expected).abs().max() / expected.abs().max())
    assert worst < (
        1e-5 if KINDS[kind].get("kind") == "recurrent" else 0.05
    )  # ReLU and norms bend the path, tanh does not
    torch.testing.assert_close(expected - found.sum(dim=1), gap)
    assert expected.abs().max() > 1.0  # the source has something to say
    _, coarse = integrated_gradients(model, source, target, points=2)
    assert gap.abs().max() < coarse.abs().max()


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_occlusion_is_what_is_lost_without_the_word(kind: str) -> None:
    model = trained_model(kind)
    source, target = model.tokenizers.source.encode(TEXT), model.tokenizers.target.encode(TARGET)
    words = [[0], [1, 2]]
    found = occlusion(model, source, target, words)
    [score] = model.score([TEXT], [TARGET])
    for number, tokens in enumerate(words):

        def without(embeddings: torch.Tensor, tokens: list[int] = tokens) -> torch.Tensor:
            changed = embeddings.clone()
            changed[:, tokens] = 0.0
            return changed

        hidden = model.forced([source], [target], Probe(edits={"encoder.words": without}))[0]
        left = torch.log_softmax(model.network.project(hidden), dim=-1).gather(1, torch.tensor([*target, 0])[:, None])
        torch.testing.assert_close(found[:, number], torch.tensor(score.token_logprobs) - left[:, 0])


def test_the_record_is_of_words() -> None:
    model = trained_model()
    seen = model.explain(TEXT, target=TARGET, parts=("attribution",)).attribution
    assert seen is not None
    assert seen.occlusion.values.shape == seen.gradients.values.shape == (len(seen.gap.values), 4)
    source, target = model.tokenizers.source.encode(TEXT), model.tokenizers.target.encode(TARGET)
    tokens, _ = integrated_gradients(model, source, target, points=32)
    whole = seen.gradients.values.sum(axis=1) + seen.end_mark.values
    np.testing.assert_allclose(whole, tokens.sum(dim=1), atol=1e-5)
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
