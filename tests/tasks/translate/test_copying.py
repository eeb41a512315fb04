"""A translator that copies: searches agree with its scores, ensembles, explanations, and what is refused in one line."""

from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.bundle.config import AlignmentConfig
from regard.errors import BundleError, ConfigError, RegardError, SearchError
from regard.explain.copying import gates
from regard.explain.explain import explain
from regard.interop.export import export_model
from regard.interop.quantize import quantize_model
from regard.ops.probe import Probe
from regard.search.scoring import score
from regard.tasks.caption.settings import CaptionSettings
from regard.tasks.generate.settings import GenerateSettings
from regard.tasks.load import load_translator, open_given
from regard.tasks.pretrain.settings import PretrainSettings
from regard.tasks.translate.ensemble import load_ensemble
from regard.tasks.translate.pairs import Pairs
from regard.tasks.translate.settings import TranslateSettings
from regard.tasks.translate.shortlist import make_shortlist
from regard.tasks.translate.translator import Translator
from tasks.bundles import random_bundle

TEXTS = ["le chat dort", "rouge", "je suis étudiant"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_bundle(tmp_path_factory.mktemp("copying") / "b", copy=True)


@pytest.fixture(scope="module")
def model(place: Path) -> Translator:
    return load_translator(place)


@pytest.mark.parametrize(
    "options",
    [{"beam": 1}, {"beam": 12}, {"beam": 4, "nbest": 3}, {"sample": True, "seed": 3}, {"phrases": [["cat"], [], []]}],
    ids=lambda options: "-".join(options),
)
def test_every_search_agrees_with_the_scores_of_its_outputs(model: Translator, options: dict[str, Any]) -> None:
    for one in model.translate(TEXTS, max_length=8, **options):
        ids = [model.tokenizers.target.vocabulary.id_of(piece) for piece in one.tokens]
        [forced] = model._runner.score([model.tokenizers.source.encode(one.source)], [ids])
        assert one.logprob == pytest.approx(sum(forced if one.finished else forced[:-1]), abs=1e-3)


def test_an_ensemble_with_networks_that_do_not_copy(place: Path, tmp_path: Path) -> None:
    """The mean of probabilities, by steps and by teacher forcing, whatever shares the batch."""
    plain = random_bundle(tmp_path / "plain")
    recurrent = random_bundle(tmp_path / "recurrent", kind="recurrent", copy=True)
    both = load_ensemble([place, plain, recurrent])
    sources = [both.tokenizers.source.encode(text) for text in TEXTS]
    targets = [[7, 9], [3], []]
    members = [load_translator(path)._runner.score(sources, targets) for path in (place, plain, recurrent)]
    found = both._runner.score(sources, targets)
    for row, own in enumerate(found):
        each = torch.tensor([member[row] for member in members])
        torch.testing.assert_close(torch.tensor(own), each.exp().mean(dim=0).log(), rtol=1e-4, atol=1e-5)
    network: Any = both.network.eval()  # type: ignore[attr-defined]
    stepped = score(network, torch.tensor([[*sources[0], 0]]), [targets[0]])
    assert stepped[0].token_logprobs == pytest.approx(found[0], abs=1e-4)


def test_a_zip_file_of_it_says_the_same(model: Translator, place: Path, tmp_path: Path) -> None:
    export_model(open_given(place), tmp_path / "b.zip", "zip")
    again = regard.load(tmp_path / "b.zip")
    assert [one.text for one in again.translate(TEXTS)] == [one.text for one in model.translate(TEXTS)]


def test_an_explanation_has_its_states_and_the_gate_of_each_token(model: Translator) -> None:
    explanation = explain(model, TEXTS[0], target="the cat", parts=["structure"])
    shown = gates(model, explanation)
    assert len(shown) == len(explanation.target.tokens)
    probe = Probe("decoder.copy.hidden", "decoder.copy.gate")
    ids = [model.tokenizers.target.vocabulary.id_of(piece) for piece in explanation.target.tokens[:-1]]
    model.forced([model.tokenizers.source.encode(TEXTS[0])], [ids], probe)
    assert shown == pytest.approx(probe["decoder.copy.gate"][0, :, 0].sigmoid().tolist())
    assert explanation.structure is not None
    states = explanation.structure.decoder
    assert states.layers[-1] == "output"
    norms = torch.linalg.vector_norm(probe["decoder.copy.hidden"][0], dim=-1)
    assert states.norms.values[-1].tolist() == pytest.approx(norms.tolist(), rel=1e-4)


def test_the_evidence_of_zeroing_is_of_hidden_states_alone(model: Translator) -> None:
    """Beside them a row has the ids of pieces, which no edit changes: the cosine would be near 1."""
    source, target = model.tokenizers.source.encode(TEXTS[0]), [7, 9]
    assert model._runner.states([source], [target]).shape == (1, 3, 32)
    assert model._runner.forced([source], [target]).shape == (1, 3, 32 + 1 + 2 * (len(source) + 1))


def test_the_evidence_of_copying_is_the_weights_of_the_copy_head(model: Translator, tmp_path: Path) -> None:
    ids = model.tokenizers.source.encode(TEXTS[0]), [7, 9]
    probe = Probe("decoder.copy.weights")
    model.forced([ids[0]], [ids[1]], probe)
    [found] = model.evidence(Pairs([ids[0]], [ids[1]]), "copy")
    torch.testing.assert_close(found[0, 0], probe["decoder.copy.weights"][0])
    plain = load_translator(random_bundle(tmp_path / "plain"))
    with pytest.raises(SearchError, match=r"'copy': this model does not copy \(model\.copy = false\)"):
        plain.align(TEXTS[:1], ["the cat"], settings=AlignmentConfig(method="copy"))


def refused(group: Any, values: dict[str, Any], *words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        group.parse(values)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_settings_that_do_not_go_with_it() -> None:
    copy = {"copy": True}
    separate = {"model": copy, "text": {"joint": False}}
    refused(TranslateSettings, separate, "text.joint false", "model.copy = true", "set text.joint = true")
    blind = {"model": {**copy, "kind": "recurrent", "attention": False}, "text": {"joint": True}}
    refused(TranslateSettings, blind, "model.copy = true", "model.attention = true")
    twice = {"model": copy, "text": {"joint": True}, "train": {"consistency": 5}}
    refused(TranslateSettings, twice, "train.consistency 5", "leave one of them out")
    refused(GenerateSettings, {"task": "generate", "model": copy}, "unknown key 'model.copy'")
    refused(CaptionSettings, {"task": "caption", "model": copy}, "model.copy = true", "picture")
    text = {"task": "pretrain", "objective": {"kind": "denoise"}, "data": {"text": "a.txt"}}
    denoising = {**text, "model": {**copy, "kind": "transformer"}}
    assert PretrainSettings.parse(denoising).model.copies
    refused(PretrainSettings, {**denoising, "train": {"consistency": 1}}, "train.consistency 1")


def test_a_bundle_of_two_vocabularies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this network copies pieces"):
        random_bundle(tmp_path / "b", joint=False, copy=True)


def test_other_programs_and_the_shortlist_are_refused(model: Translator, place: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"it has no copy mechanism, model\.copy = true; use torch"):
        load_translator(place, engine="ct2")
    with pytest.raises(SearchError, match="copies pieces of the source"):
        model.translate(TEXTS, shortlist=True)
    with pytest.raises(ConfigError, match="it has no use for a shortlist"):
        make_shortlist(open_given(place), TEXTS, TEXTS)
    for to, name in (("hf", "h"), ("ct2", "c"), ("onnx", "o"), ("argos", "a.argosmodel")):
        with pytest.raises(BundleError, match="copy mechanism") as caught:
            export_model(open_given(place), tmp_path / name, to)
        assert "\n" not in str(caught.value)
        assert not (tmp_path / name).exists()
    with pytest.raises(RegardError, match="copy mechanism"):
        quantize_model(place, tmp_path / "q", (TEXTS, TEXTS))
