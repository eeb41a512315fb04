"""Exports, each opened by the program that it is for: CTranslate2, and regard itself from a zip file."""

import json
import os
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import ctranslate2
import pytest
import sentencepiece
from typer.testing import CliRunner

import regard
from regard.cli.main import app
from regard.errors import BundleError, ConfigError, DiskError
from regard.files import STAGING_MARK
from regard.interop.card import _PURPOSES, CardFacts, model_card
from regard.tasks.bundles import bundle_classes
from regard.tasks.load import open_given
from regard.text.build import TokenizerPair
from regard.text.marked import MarkedTokenizer, MarksRecord
from tasks.bundles import TEXTS, random_bundle


def ct2_pieces(directory: Path, tokenizer: Path, texts: list[str], beam: int) -> list[list[str]]:
    """Translations by CTranslate2 and sentencepiece alone."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer))
    translator = ctranslate2.Translator(str(directory), inter_threads=1, intra_threads=1)
    pieces = processor.encode(texts, out_type=str)
    answers = translator.translate_batch(
        pieces, beam_size=beam, length_penalty=0, max_decoding_length=100, min_decoding_length=0
    )
    return [answer.hypotheses[0][:99] for answer in answers]


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_ct2_directory_gives_the_same_outputs(norm: str, beam: int, tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b", norm=norm, positions="sinusoidal", joint=norm == "pre", ending=4.0)
    regard.export(path, tmp_path / "ct2", to="ct2")
    texts = [f"  {text}  {text} " for text in TEXTS[:6]]  # spaces are collapsed by both
    found = ct2_pieces(tmp_path / "ct2", tmp_path / "ct2" / "source.spm", texts, beam)
    expected = regard.load(path, engine="torch").translate(texts, beam=beam, alpha=0.0, max_length=99)
    assert found == [list(one.tokens) for one in expected]
    target = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "ct2" / "target.spm"))
    [row] = regard.load(path).tokenizers.target.encode_batch(["the house"])
    assert target.decode_ids(row) == "the house"


def test_int8_is_smaller_and_only_for_ctranslate2(pre_norm: Path, tmp_path: Path) -> None:
    regard.export(pre_norm, tmp_path / "float32", to="ct2")
    regard.export(pre_norm, tmp_path / "int8", to="ct2", precision="int8")
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("float32", "int8")]
    assert sizes[1] < sizes[0]
    with pytest.raises(ConfigError, match="--to zip has only float32"):
        regard.export(pre_norm, tmp_path / "m.zip", to="zip", precision="int8")
    with pytest.raises(ConfigError, match="precision = 'int4'"):
        regard.export(pre_norm, tmp_path / "m", to="ct2", precision="int4")


def test_an_argos_package_has_the_parts_that_argos_loads(pre_norm: Path, tmp_path: Path) -> None:
    """As `argostranslate.package.Package` and `apply_packaged_translation` of version 1.11 read it."""
    regard.export(pre_norm, tmp_path / "fr_en.argosmodel", to="argos")
    with zipfile.ZipFile(tmp_path / "fr_en.argosmodel") as archive:
        archive.extractall(tmp_path / "packages")
    [package] = (tmp_path / "packages").iterdir()
    metadata = json.loads((package / "metadata.json").read_text(encoding="utf-8"))
    assert (metadata["from_code"], metadata["from_name"], metadata["to_code"]) == ("fr", "French", "en")
    found = ct2_pieces(package / "model", package / "sentencepiece.model", TEXTS[:5], 1)
    expected = regard.load(pre_norm, engine="torch").translate(TEXTS[:5], beam=1, max_length=99)
    assert found == [list(one.tokens) for one in expected]


ARGOS = """
import sys
from pathlib import Path
from argostranslate import package, translate

class Whole:  # the splitter of sentences is downloaded on first use
    def __init__(self, package): pass
    def split_sentences(self, text): return [text]

translate.MiniSBDSentencizer = Whole
package.install_from_path(Path(sys.argv[1]))
for text in sys.argv[2:]:
    print(translate.translate(text, "fr", "en"))
"""


@pytest.mark.slow
def test_argos_translate_installs_and_runs_a_package(pre_norm: Path, tmp_path: Path) -> None:
    """With the Python of an environment that has argostranslate 1.11: ARGOS_PYTHON names it."""
    python = os.environ.get("ARGOS_PYTHON")
    if python is None:
        pytest.skip("set ARGOS_PYTHON to the Python of an environment with argostranslate")
    regard.export(pre_norm, tmp_path / "fr_en.argosmodel", to="argos")
    homes = {
        "ARGOS_PACKAGES_DIR": "packages",
        "XDG_DATA_HOME": "data",
        "XDG_CACHE_HOME": "c",
        "XDG_CONFIG_HOME": "config",
    }
    environment = {**os.environ, **{name: str(tmp_path / folder) for name, folder in homes.items()}}
    command = [python, "-c", ARGOS, str(tmp_path / "fr_en.argosmodel"), *TEXTS[:3]]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    with zipfile.ZipFile(tmp_path / "fr_en.argosmodel") as archive:
        archive.extractall(tmp_path / "unpacked")
    folder = tmp_path / "unpacked" / "fr_en"
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    translator = ctranslate2.Translator(str(folder / "model"), compute_type="auto")  # as Argos opens it
    rows = processor.encode(TEXTS[:3], out_type=str)
    outputs = translator.translate_batch(rows, beam_size=4, num_hypotheses=1, length_penalty=0.2, replace_unknowns=True)
    expected = [processor.decode_pieces(output.hypotheses[0]) for output in outputs]
    assert answer.stdout.split() == "\n".join(expected).replace("_", " ").split()


def test_an_argos_package_needs_languages_and_one_sentencepiece_model(tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b", positions="sinusoidal")
    with pytest.raises(ConfigError, match=r"give --src-lang CODE"):
        regard.export(path, tmp_path / "m.argosmodel", to="argos")
    with pytest.raises(ConfigError, match=r"ends in \.argosmodel; write .*m\.argosmodel"):
        regard.export(path, tmp_path / "m", to="argos")
    two = random_bundle(tmp_path / "two", positions="sinusoidal", joint=False)
    with pytest.raises(BundleError, match=r"train with text\.joint = true"):
        regard.export(two, tmp_path / "m.argosmodel", to="argos", src_lang="fr", tgt_lang="en")
    assert not (tmp_path / "m.argosmodel").exists()


def test_a_zip_file_is_a_model_for_every_verb(pre_norm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "model.zip"
    regard.export(pre_norm, packed, to="zip")
    again = tmp_path / "again.zip"
    regard.export(pre_norm, again, to="zip")
    assert packed.read_bytes() == again.read_bytes(), "the same model gives the same bytes"
    expected = [one.text for one in regard.load(pre_norm).translate(TEXTS[:4])]
    assert [one.text for one in regard.load(packed).translate(TEXTS[:4])] == expected
    runner = CliRunner()
    answer = runner.invoke(app, ["translate", str(packed)], input="".join(f"{text}\n" for text in TEXTS[:4]))
    assert answer.stdout.splitlines() == expected
    assert "problems: -" in runner.invoke(app, ["info", str(packed)]).stdout
    (tmp_path / "a.fr").write_text(f"{TEXTS[0]}\n", encoding="utf-8")
    changed = runner.invoke(
        app, ["shortlist", str(packed), "--src", str(tmp_path / "a.fr"), "--tgt", str(tmp_path / "a.fr")]
    )
    assert isinstance(changed.exception, BundleError)
    assert "a zip file is not changed" in str(changed.exception)


def test_a_damaged_copy_in_the_cache_is_unpacked_again(pre_norm: Path, tmp_path: Path) -> None:
    from regard.bundle.archive import archives, unpacked

    regard.export(pre_norm, tmp_path / "model.zip", to="zip")
    directory = unpacked(tmp_path / "model.zip")
    assert directory.parent == archives()
    (directory / "config.json").write_text("{}", encoding="utf-8")
    assert unpacked(tmp_path / "model.zip") == directory
    assert json.loads((directory / "config.json").read_text(encoding="utf-8"))["task"] == "translate"


def test_safetensors_is_the_bundle_without_its_training(pre_norm: Path, tmp_path: Path) -> None:
    regard.export(pre_norm, tmp_path / "plain", to="safetensors")
    (tmp_path / "plain" / "README.md").write_text("edited", encoding="utf-8")  # a card may be edited
    texts = TEXTS[:3]
    plain, expected = regard.load(tmp_path / "plain").translate(texts), regard.load(pre_norm).translate(texts)
    assert [one.text for one in plain] == [one.text for one in expected]


def test_what_is_there_is_not_replaced_and_a_failure_leaves_nothing(pre_norm: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    with pytest.raises(DiskError, match="it is there already"):
        regard.export(pre_norm, tmp_path / "taken", to="ct2")
    with pytest.raises(ConfigError, match="--to onyx: not one of hf, ct2"):
        regard.export(pre_norm, tmp_path / "out", to="onyx")
    recurrent = random_bundle(tmp_path / "recurrent", kind="recurrent")
    with pytest.raises(BundleError, match=r"no networks of model\.kind 'recurrent'"):
        regard.export(recurrent, tmp_path / "out", to="ct2")
    assert {path.name for path in tmp_path.iterdir()} == {"taken", "recurrent"}
    assert not list(tmp_path.rglob(f"*{STAGING_MARK}*"))


def test_the_model_card_is_one_of_the_hub(pre_norm: Path, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    regard.export(pre_norm, tmp_path / "m", to="safetensors", licence="apache-2.0", src_lang="fr")
    card = hub.ModelCard.load(tmp_path / "m" / "README.md")
    assert card.data.language == ["fr", "en"]
    assert card.data.license == "apache-2.0"
    assert card.data.pipeline_tag == "translation"
    assert card.data.library_name == "regard"


def test_every_task_has_a_true_card(pre_norm: Path) -> None:
    assert set(_PURPOSES) == set(bundle_classes())
    bundle = open_given(pre_norm)
    config = bundle.config.model_copy(update={"task": "classify_images"})
    card = model_card(replace(bundle, config=config), "regard", CardFacts())
    assert 'pipeline_tag: "image-classification"' in card
    assert "A model to classify pictures" in card
    assert "| training pictures |" in card
    assert "text" not in card


def test_a_card_that_was_edited_goes_with_a_copy(pre_norm: Path, tmp_path: Path) -> None:
    regard.export(pre_norm, tmp_path / "m", to="safetensors")
    (tmp_path / "m" / "README.md").write_text("Mine: **ünïcode**\n", encoding="utf-8")
    regard.export(tmp_path / "m", tmp_path / "copy", to="safetensors")
    regard.export(tmp_path / "m", tmp_path / "licensed", to="safetensors", licence="mit")
    regard.export(tmp_path / "m", tmp_path / "ct2", to="ct2")
    texts = [(tmp_path / name / "README.md").read_text(encoding="utf-8") for name in ("copy", "licensed", "ct2")]
    assert texts[0] == "Mine: **ünïcode**\n"
    assert 'license: "mit"' in texts[1]
    assert 'library_name: "ctranslate2"' in texts[2]


@pytest.mark.parametrize("to", ["hf", "ct2", "onnx", "argos"])
def test_a_task_that_a_format_has_no_place_for_is_refused_in_its_name(
    to: str, pre_norm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = open_given(pre_norm)
    config = bundle.config.model_copy(update={"task": "caption"})
    monkeypatch.setattr("regard.interop.export.open_given", lambda path: replace(bundle, config=config))
    out = tmp_path / f"m{'.argosmodel' if to == 'argos' else ''}"
    with pytest.raises(BundleError, match=rf"its task is to caption, and --to {to} is for models that translate"):
        regard.export(pre_norm, out, to=to)
    with pytest.raises(BundleError, match="--to onnx is for models that translate or generate or classify"):
        regard.export(pre_norm, tmp_path / "n", to="onnx")


def test_texts_with_marks_around_them_are_refused(
    pre_norm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = open_given(pre_norm)
    tokenizer = bundle.tokenizers.source
    piece = tokenizer.vocabulary.pieces[300]
    tokenizers = TokenizerPair(MarkedTokenizer(tokenizer, MarksRecord(begin=(piece,))), tokenizer, joint=True)
    monkeypatch.setattr("regard.interop.export.open_given", lambda path: replace(bundle, codecs=tokenizers))
    for to, name in (("ct2", "m"), ("onnx", "m"), ("argos", "m.argosmodel")):
        with pytest.raises(BundleError, match="texts have marks around them"):
            regard.export(pre_norm, tmp_path / name, to=to)
