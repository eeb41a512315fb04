"""Attention shown by CTranslate2: the same as torch's for any heads of one layer, and so are the links."""

import numpy as np
import pytest

from regard.bundle.config import AlignmentConfig
from regard.bundle.ct2_alignment import attended_heads
from regard.models.config import TransformerConfig
from regard.tasks.load import load_translator
from regard.tasks.translate.translator import Translator
from tasks.bundles import SPLIT, random_bundle

pytest.importorskip("ctranslate2")

SOURCES = [pair.french for pair in SPLIT.test[:9]]
TARGETS = [pair.english for pair in SPLIT.test[:9]]
WAYS = [
    AlignmentConfig(layer=0),
    AlignmentConfig(layer=1, shift=True),
    AlignmentConfig(heads=((1, 2),), shift=True),
    AlignmentConfig(heads=((0, 3), (0, 1)), links="both"),
    AlignmentConfig(layer=1, links="either", least=0.2),
]


@pytest.fixture(scope="module", params=[{}, {"norm": "pre", "positions": "rotary"}])
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Translator, Translator]:
    """A model of two decoder layers in CTranslate2, which knows no torch here, and in torch."""
    path = random_bundle(tmp_path_factory.mktemp("attention") / "model", decoder_layers=2, **request.param)
    return load_translator(path, engine="ct2"), load_translator(path, engine="torch")


@pytest.mark.parametrize("how", WAYS, ids=str)
def test_the_weights_and_links_are_those_of_torch(
    engines: tuple[Translator, Translator], how: AlignmentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast, plain = engines
    monkeypatch.setattr(fast, "evidence", None)  # torch
    blank = [*SOURCES, "", "le chat"], [*TARGETS, "the cat", ""]
    for ours, theirs in zip(fast.align(*blank, settings=how), plain.align(*blank, settings=how), strict=True):
        np.testing.assert_allclose(ours.weights, theirs.weights, atol=2e-6)
        assert ours.links == theirs.links


def test_translations_have_the_links_of_torch(engines: tuple[Translator, Translator]) -> None:
    fast, plain = engines
    for how in WAYS[:3]:
        fast.alignment = plain.alignment = how
        for ours, theirs in zip(fast.translate(SOURCES, beam=3), plain.translate(SOURCES, beam=3), strict=True):
            assert (ours.text, ours.alignment) == (theirs.text, theirs.alignment)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (AlignmentConfig(), "the mean of all layers"),
        (AlignmentConfig(method="norm", layer=0), "the method 'norm'"),
        (AlignmentConfig(method="zeroing", layer=0), "the method 'zeroing'"),
        (AlignmentConfig(heads=((0, 1), (1, 1))), "heads of several layers"),
        (AlignmentConfig(heads=((0, 1), (0, 1))), "a head that counts twice"),
        (AlignmentConfig(heads=((0, 9),)), "a head that the model does not have"),
        (AlignmentConfig(layer=7), "a head that the model does not have"),
    ],
)
def test_what_it_does_not_show(how: AlignmentConfig, why: str) -> None:
    model = TransformerConfig.parse({"kind": "transformer", "layers": 2, "width": 8, "heads": 2, "feed_forward": 8})
    assert attended_heads(how, model) == why


def test_the_order_of_heads_changes_no_translation(
    engines: tuple[Translator, Translator],
) -> None:
    """The conversion that shows other heads computes the same."""
    fast, _ = engines
    engine = fast._searcher.fast._engine
    pairs = fast._reader.pairs(SOURCES, TARGETS)
    rows = pairs.sources, pairs.targets
    _ = dict(engine.attention(*rows, WAYS[2], 512))  # type: ignore[union-attr]
    models = list(engine._attending.values())  # type: ignore[union-attr]
    assert len(models) > 1
    pieces = [[engine._pieces[token] for token in ids] for ids in pairs.sources]  # type: ignore[union-attr]
    outputs = [[answer.hypotheses for answer in model.translator.translate_batch(pieces)] for model in models]
    assert all(output == outputs[0] for output in outputs)
