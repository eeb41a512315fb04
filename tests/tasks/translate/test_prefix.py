"""The prefix language model as a translator: every search agrees with the scores of its own outputs, and words align."""

from typing import Any

import numpy as np
import pytest
import torch

from regard.bundle.config import AlignmentConfig
from regard.models.prefix import PrefixTransformer
from regard.ops.probe import Probe
from regard.tasks.load import load_translator
from regard.tasks.translate.pairs import Pairs
from regard.tasks.translate.translator import Translator
from tasks.bundles import random_bundle

TEXTS = ["le chat dort", "rouge", "je suis étudiant"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    translator = load_translator(random_bundle(tmp_path_factory.mktemp("prefix") / "b", kind="prefix"))
    assert isinstance(translator.network, PrefixTransformer)
    return translator


@pytest.mark.parametrize(
    "options",
    [
        {"beam": 1},
        {"beam": 4, "nbest": 3, "coverage": 0.2},
        {"beam": 12},
        {"beam": 4, "groups": 2},
        {"sample": True, "seed": 3},
        {"exact": True, "node_limit": 50},
        {"prefixes": ["the", "", "a"]},
        {"phrases": [["cat"], [], ["I am"]]},
    ],
    ids=lambda options: "-".join(options),
)
def test_every_search_agrees_with_the_scores_of_its_outputs(model: Translator, options: dict[str, Any]) -> None:
    found = model.translate(TEXTS, max_length=8, **options)
    for one in found:
        ids = [model.tokenizers.target.vocabulary.id_of(piece) for piece in one.tokens]
        [forced] = model._runner.score([model.tokenizers.source.encode(one.source)], [ids])
        tokens = forced if one.finished else forced[:-1]
        assert one.logprob == pytest.approx(sum(tokens), abs=1e-3)


def test_the_evidence_for_links_is_the_part_of_the_source(model: Translator) -> None:
    """The weights of the columns of the source, and these times |v W_O| of the values there."""
    pairs = Pairs([model.tokenizers.source.encode(TEXTS[0])], [model.tokenizers.target.encode("the cat")])
    probe = Probe("decoder.1.*")
    model.forced(pairs.sources, pairs.targets, probe)
    weights, values = probe["decoder.1.cross.weights"][0], probe["decoder.1.cross.values"][0]
    [attention] = model.evidence(pairs, "attention")
    torch.testing.assert_close(attention[1], weights)
    assert ((attention.sum(dim=-1) > 0.0) & (attention.sum(dim=-1) < 1.0)).all()  # the rest is for the past
    [norms] = model.evidence(pairs, "norm")
    network: Any = model.network
    output = network.decoder[1].mixer.output.weight.chunk(network.decoder[1].mixer.heads, dim=1)
    for head, projection in enumerate(output):
        torch.testing.assert_close(norms[1, head], weights[head] * (values[head] @ projection.T).norm(dim=-1))


def test_words_align_by_every_method(model: Translator) -> None:
    for how in (AlignmentConfig(method=name) for name in ("attention", "norm", "zeroing")):
        for one in model.align(TEXTS, ["the cat sleeps", "red", "I am a student"], settings=how):
            assert len(one.links) == len(one.target_words)
            np.testing.assert_allclose(one.weights.sum(axis=1), 1.0)
