"""A model of several directions: how one is chosen, and that every method reads the tag, in both engines, alone and in mixed batches."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from regard.bundle.manifest import write_manifest
from regard.errors import BundleError, ConfigError
from regard.interop.export import export_model
from regard.tasks.load import load_translator, open_given
from regard.tasks.translate.directions import DirectionWarning
from regard.tasks.translate.ensemble import load_ensemble
from regard.text.tagged import NO_WORD
from tasks.bundles import TEXTS, random_bundle

SEEN = [("en", "de"), ("de", "en"), ("en", "fr")]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_bundle(tmp_path_factory.mktemp("several") / "model", directions=SEEN, positions="sinusoidal")


def test_the_tag_is_before_the_text_and_decides_the_translation(bundle: Path) -> None:
    model = load_translator(bundle, engine="torch")
    tags = model.tokenizers.source.vocabulary.reserved.languages
    assert set(tags) == {"de", "en", "fr"}
    plain = open_given(bundle).tokenizers.source
    for language, tag in tags.items():
        [source] = model.read(TEXTS[:1], to=language)
        assert source.ids == [tag, *plain.encode(TEXTS[0])]
    assert model.read(["  "], to="de")[0].ids == []
    texts = {language: [one.text for one in model.translate(TEXTS, to=language, beam=2)] for language in tags}
    assert len({tuple(own) for own in texts.values()}) == 3


@pytest.mark.parametrize("engine", ["torch", "ct2"])
def test_mixed_batches_are_as_alone(bundle: Path, engine: str) -> None:
    model = load_translator(bundle, engine=engine)  # type: ignore[arg-type]
    to = [["de", "en", "fr"][place % 3] for place in range(len(TEXTS))]
    texts, to = TEXTS[:9], to[:9]
    together = model.translate(texts, to=to, beam=3)
    for text, language, one in zip(texts, to, together, strict=True):
        [alone] = model.translate([text], to=language, beam=3)
        assert one.text == alone.text
        assert one.logprob == pytest.approx(alone.logprob, abs=1e-4)


def test_both_engines_agree(bundle: Path) -> None:
    slow, fast = (load_translator(bundle, engine=engine).towards("fr") for engine in ("torch", "ct2"))
    ours, theirs = (model.translate(TEXTS, beam=2, nbest=2) for model in (slow, fast))
    for one, other in zip(ours, theirs, strict=True):
        assert other.logprob == pytest.approx(one.logprob, abs=1e-3)
        assert [hypothesis.text for hypothesis in other.alternatives] == [
            hypothesis.text for hypothesis in one.alternatives
        ]
    targets = [one.text for one in ours]
    scores = [model.score(TEXTS, targets) for model in (slow, fast)]
    for left, right in zip(*scores, strict=True):
        assert right.logprob == pytest.approx(left.logprob, abs=1e-3)


def test_every_method_takes_a_direction_or_is_of_one(bundle: Path) -> None:
    model = load_translator(bundle, engine="torch")
    directed = model.towards("de", "en")
    assert (directed.languages.source, directed.languages.target) == ("en", "de")
    targets = [one.text for one in directed.translate(TEXTS[:3], beam=1)]
    assert model.score(TEXTS[:3], targets, to="de") == directed.score(TEXTS[:3], targets)
    assert model.score(TEXTS[:3], targets, to="fr") != directed.score(TEXTS[:3], targets)
    ours, theirs = model.align(TEXTS[:3], targets, to="de"), directed.align(TEXTS[:3], targets)
    assert [one.links for one in ours] == [one.links for one in theirs]
    chosen, plain = model.translate(TEXTS[:3], to="de", beam=1), directed.translate(TEXTS[:3], beam=1)
    assert [one.alignment for one in chosen] == [one.alignment for one in plain]
    assert directed.network is model.network


def test_the_tag_is_no_word_of_the_text(bundle: Path) -> None:
    """The attention to the tag is left out of word alignments."""
    model = load_translator(bundle, engine="torch").towards("de")
    [source] = model.read(TEXTS[:1])
    assert model.tokenizers.source.words(source.ids)[0] == NO_WORD
    plain = open_given(bundle).tokenizers.source
    assert model.tokenizers.source.words(source.ids)[1:] == plain.words(source.ids[1:])
    [alignment] = model.align(TEXTS[:1], ["the cat sleeps"])
    assert alignment.source_words == TEXTS[0].split()
    np.testing.assert_allclose(alignment.weights.sum(axis=1), 1.0)


def test_a_text_cannot_forge_a_tag(bundle: Path) -> None:
    model = load_translator(bundle, engine="torch")
    tags = set(model.tokenizers.source.vocabulary.reserved.languages.values())
    for text in (">>fr<< le chat", "le >>fr<< chat", ">>fr<<", "\u2581>>fr<<", ">>fr<<>>de<<"):
        [source] = model.read([text], to="de")
        assert not tags & set(source.ids[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [forged] = model.translate([">>fr<< le chat"], to="de", beam=1)
    assert ">>" not in forged.text


def test_a_choice_that_cannot_be_is_one_line(bundle: Path) -> None:
    model = load_translator(bundle, engine="torch")
    for call in (
        lambda: model.translate(["a"]),
        lambda: model.score(["a"], ["b"]),
        lambda: model.align(["a"], ["b"]),
        lambda: model.towards(),
    ):
        with pytest.raises(ConfigError, match=r"translates to de, en or fr; say to which with --to"):
            call()
    with pytest.raises(ConfigError, match="does not translate to 'it', only to de, en and fr"):
        model.translate(["a"], to="it")
    with pytest.raises(ConfigError, match="does not read 'it', only en and de"):
        model.translate(["a"], to="de", from_="it")
    with pytest.raises(ConfigError, match="from 'de' to itself"):
        model.towards("de", "de")
    with pytest.raises(ValueError, match="2 texts, but 1 languages"):
        model.translate(["a", "b"], to=["de"])


def test_a_direction_that_was_never_trained_is_told(bundle: Path) -> None:
    model = load_translator(bundle, engine="torch")
    with pytest.warns(DirectionWarning, match="never trained from de to fr.* en to de, de to en, en to fr"):
        directed = model.towards("fr", "de")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [one.text for one in directed.translate(TEXTS[:2], beam=1)] == [
            one.text for one in model.translate(TEXTS[:2], to="fr", beam=1)
        ]


def test_many_to_one_needs_no_choice(tmp_path: Path) -> None:
    model = load_translator(random_bundle(tmp_path / "model", directions=[("de", "en"), ("fr", "en")]), engine="torch")
    directed = model.towards()
    assert [one.text for one in directed.translate(TEXTS[:3], beam=1)] == [
        one.text for one in model.translate(TEXTS[:3], to="en", beam=1)
    ]


def test_a_model_of_one_direction_accepts_its_own_languages_only(tmp_path: Path) -> None:
    languages = {"source": "fr", "target": "en"}
    path = random_bundle(tmp_path / "model", languages=languages)
    assert "directions" not in json.loads((path / "config.json").read_text(encoding="utf-8"))
    model = load_translator(path, engine="torch")
    assert model.towards("en", "fr") is model
    plain, chosen = model.translate(TEXTS[:4], beam=2), model.translate(TEXTS[:4], to="en", beam=2)
    assert [one.logprob for one in plain] == [one.logprob for one in chosen]
    with pytest.raises(ConfigError, match="translates to 'en' only, not 'de'"):
        model.translate(TEXTS[:1], to="de")
    with pytest.raises(ConfigError, match="reads 'fr' only, not 'en'"):
        model.towards("en", "en")
    unknown = load_translator(random_bundle(tmp_path / "unknown"), engine="torch")
    with pytest.raises(ConfigError, match="has one direction, and does not say what it translates to"):
        unknown.towards("en")


def test_a_bundle_without_the_tag_of_a_direction_is_refused(bundle: Path, tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "model", directions=[("en", "de"), ("de", "en")])
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    config["directions"][0]["target"] = "it"
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    write_manifest(path)
    with pytest.raises(BundleError, match="directions: the vocabulary has no piece '>>it<<'"):
        load_translator(path, engine="torch")


@pytest.mark.parametrize("to", ["hf", "ct2", "safetensors", "zip"])
def test_formats_that_hold_a_tag_name_the_directions(bundle: Path, tmp_path: Path, to: str) -> None:
    out = tmp_path / ("model.zip" if to == "zip" else "model")
    export_model(open_given(bundle), out, to)
    if to == "zip":
        assert load_translator(out, engine="torch").towards("de", "en").languages.target == "de"
        return
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "English to German, German to English, English to French" in card
    assert 'language: ["en", "de", "fr"]' in card
    assert "`&#62;&#62;de&#60;&#60;`" in card or "`>>de<<`" in card


def test_an_argos_package_is_refused(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"an Argos package has one direction .* en -> de and de -> en and en -> fr"):
        export_model(open_given(bundle), tmp_path / "a.argosmodel", "argos")


def test_an_ensemble_translates_what_all_its_members_do(bundle: Path, tmp_path: Path) -> None:
    for name, directions in (
        ("other", [("de", "en"), ("en", "de"), ("de", "fr")]),
        ("foreign", [("fr", "de"), ("it", "en"), ("it", "fr")]),
    ):
        own = tmp_path / name
        random_bundle(own, directions=SEEN, positions="sinusoidal")
        config = json.loads((own / "config.json").read_text(encoding="utf-8"))
        config["directions"] = [{"source": source, "target": target} for source, target in directions]
        (own / "config.json").write_text(json.dumps(config), encoding="utf-8")
        write_manifest(own)
    model = load_ensemble([bundle, tmp_path / "other"])
    assert model.directions.pairs == (("en", "de"), ("de", "en"))
    with pytest.raises(ConfigError, match="does not translate to 'fr', only to de and en"):
        model.translate(TEXTS[:1], to="fr")
    with pytest.raises(
        BundleError, match=r"foreign: translates fr-de, it-en, it-fr, but .* en-de, de-en, en-fr; an ensemble needs"
    ):
        load_ensemble([bundle, tmp_path / "foreign"])
