"""Imports from CTranslate2 and Argos, beside CTranslate2 itself: the same outputs; int8 to 1e-2."""

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
import sentencepiece
import torch
from ctranslate2.specs import Activation, TransformerSpec

import regard
from interop.foreign import t5_spm
from regard.errors import BundleError, RegardError
from tasks.bundles import TEXTS, random_bundle

WIDTH, INNER = 32, 48


def opennmt_directory(path: Path, quantization: str | None = None, **options: Any) -> Path:
    """A Transformer as OpenNMT-py's converter writes it: no end mark on the source, start from `<s>`, CTranslate2's own positions."""
    spec = TransformerSpec.from_config((2, 3), 4, **options)
    draw = np.random.default_rng(3)
    processor = sentencepiece.SentencePieceProcessor(model_proto=t5_spm())
    pieces = [*processor.id_to_piece(list(range(3, processor.get_piece_size()))), "<unk>", "<s>", "</s>"]

    def linear(layer: Any, rows: int, columns: int = WIDTH) -> None:
        layer.weight = draw.normal(size=(rows, columns)).astype(np.float32) * 0.4
        layer.bias = draw.normal(size=rows).astype(np.float32) * 0.2

    def norm(layer: Any) -> None:
        layer.gamma = 1 + draw.normal(size=WIDTH).astype(np.float32) * 0.1
        layer.beta = draw.normal(size=WIDTH).astype(np.float32) * 0.1

    table = draw.normal(size=(len(pieces), WIDTH)).astype(np.float32) * 0.3
    spec.encoder.embeddings[0].weight, spec.decoder.embeddings.weight = table, table + 0.01
    linear(spec.decoder.projection, len(pieces))
    spec.decoder.projection.bias[-1] += 5.0  # outputs end
    for side in (spec.encoder, spec.decoder):
        if options.get("pre_norm", True):
            norm(side.layer_norm)
        for layer in side.layer:
            attentions = [(layer.self_attention, (3, 1))]
            attentions += [(layer.attention, (1, 2, 1))] if hasattr(layer, "attention") else []
            for attention, sizes in attentions:
                norm(attention.layer_norm)
                for part, size in zip(attention.linear, sizes, strict=True):
                    linear(part, size * WIDTH)
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, INNER)
            linear(layer.ffn.linear_1, WIDTH, INNER)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.validate()
    spec.optimize(quantization=quantization)
    path.mkdir(parents=True)
    spec.save(str(path))
    (path / "sentencepiece.model").write_bytes(t5_spm())
    return path


def ct2_outputs(directory: Path, texts: list[str], beam: int, **options: Any) -> list[Any]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=t5_spm())
    translator = ctranslate2.Translator(str(directory), inter_threads=1, intra_threads=1)
    rows = processor.encode(texts, out_type=str)
    return translator.translate_batch(
        rows,
        beam_size=beam,
        length_penalty=0,
        max_decoding_length=60,
        min_decoding_length=0,
        return_scores=True,
        **options,
    )


@pytest.mark.parametrize("options", [{}, {"pre_norm": False, "activation": Activation.SWISH}], ids=["pre", "post"])
def test_a_model_of_opennmt_gives_the_same_outputs(options: dict[str, Any], tmp_path: Path) -> None:
    directory = opennmt_directory(tmp_path / "ct2", **options)
    regard.import_model(directory, tmp_path / "b")
    for engine in ("torch", "ct2"):
        model = regard.load(tmp_path / "b", engine=engine)
        for beam in (1, 4):
            answers = model.translate(TEXTS[:8], beam=beam, alpha=0.0, max_length=59)
            finished = 0
            for answer, expected in zip(answers, ct2_outputs(directory, TEXTS[:8], beam), strict=True):
                if answer.finished:
                    finished += 1
                    assert list(answer.tokens) == expected.hypotheses[0]
                    assert answer.logprob == pytest.approx(expected.scores[0], abs=1e-3)
            assert finished >= 5


@pytest.mark.parametrize("quantization", ["int8", "int16"])
def test_integers_are_dequantised(quantization: str, tmp_path: Path) -> None:
    directory, whole = opennmt_directory(tmp_path / "ct2", quantization), opennmt_directory(tmp_path / "float32")
    regard.import_model(directory, tmp_path / "small")
    regard.import_model(whole, tmp_path / "b")
    ours, expected = (regard.load(tmp_path / name, engine="torch").network.state_dict() for name in ("small", "b"))
    assert ours.keys() == expected.keys()
    for name, tensor in ours.items():
        torch.testing.assert_close(tensor, expected[name], atol=1e-2, rtol=0)


def test_what_regard_exports_comes_back(pre_norm: Path, tmp_path: Path) -> None:
    regard.export(pre_norm, tmp_path / "fr_en.argosmodel", to="argos")
    regard.export(pre_norm, tmp_path / "ct2", to="ct2")
    regard.import_model(tmp_path / "fr_en.argosmodel", tmp_path / "from-argos")
    regard.import_model(tmp_path / "ct2", tmp_path / "from-ct2", src_lang="oc")
    expected = regard.load(pre_norm, engine="torch").translate(TEXTS[:6], beam=3)
    for name, source in (("from-argos", "fr"), ("from-ct2", "oc")):
        for engine in ("torch", "ct2"):
            model = regard.load(tmp_path / name, engine=engine)
            assert [one.tokens for one in model.translate(TEXTS[:6], beam=3)] == [one.tokens for one in expected]
        assert model.languages.source == source


def test_two_vocabularies_come_back(tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b", norm="post", positions="learned", joint=False, tie=False, activation="swiglu")
    regard.export(path, tmp_path / "ct2", to="ct2")
    regard.import_model(tmp_path / "ct2", tmp_path / "back")
    ours, theirs = (regard.load(tmp_path / name, engine="torch").translate(TEXTS[:6]) for name in ("b", "back"))
    assert [one.tokens for one in ours] == [one.tokens for one in theirs]


def with_number(content: bytes, name: str, value: float) -> bytes:
    """The file with one more variable, a single number; it replaces a variable of this name."""
    title = name.encode() + b"\0"
    variable = struct.pack("<H", len(title)) + title + struct.pack("<BBIf", 0, 0, 4, value)
    [count] = struct.unpack("<I", content[26:30])
    assert content[-4:] == bytes(4), "no aliases"
    return content[:26] + struct.pack("<I", count + 1) + content[30:-4] + variable + content[-4:]


def test_one_table_of_two_vocabularies_is_not_joint(pre_norm: Path, tmp_path: Path) -> None:
    """The rows of one table may be other pieces on each side."""
    regard.export(pre_norm, tmp_path / "ct2", to="ct2")
    shared = tmp_path / "ct2" / "shared_vocabulary.json"
    pieces = json.loads(shared.read_text(encoding="utf-8"))
    regard.import_model(tmp_path / "ct2", tmp_path / "joint")
    place = len(pieces) // 2
    swapped = [*pieces[:place], pieces[place + 1], pieces[place], *pieces[place + 2 :]]
    for side, names in (("source", pieces), ("target", swapped)):
        (shared.parent / f"{side}_vocabulary.json").write_text(json.dumps(names), encoding="utf-8")
    shared.unlink()
    regard.import_model(tmp_path / "ct2", tmp_path / "two")
    joint, two = (regard.load(tmp_path / name, engine="torch").tokenizers for name in ("joint", "two"))
    assert joint.joint
    assert not two.joint
    assert two.target.vocabulary.pieces[place] == swapped[place]


def test_hostile_files_are_refused(tmp_path: Path) -> None:
    directory = opennmt_directory(tmp_path / "ct2")
    sound = (directory / "model.bin").read_bytes()
    attacks: list[tuple[bytes, str]] = [
        (sound[:1000], "damaged"),
        (struct.pack("<I", 99) + sound[4:], "version 99"),
        (sound.replace(b"TransformerSpec", b"WhisperSpecific"), "not a TransformerSpec"),
        (sound[:26] + struct.pack("<I", 1 << 31) + sound[30:], "variables"),
        (
            sound.replace(b"decoder/layer_0/ffn/linear_0/weight", b"decoder/layer_0/ffn/linear_0/wait__"),
            "decoder_layers = 0",
        ),
        (b"", "ends too early"),
        (with_number(sound, "decoder/embeddings/weight", 1.0), "decoder/embeddings/weight is one number"),
        (with_number(sound, "encoder/num_heads", float("nan")), "num_heads = nan is not a number"),
        (with_number(sound, "encoder/layer_0/ffn/linear_0/weight_scale", 2.0), "linear_0/weight_scale' belongs to"),
    ]
    for number, (content, reason) in enumerate(attacks):
        (directory / "model.bin").write_bytes(content)
        with pytest.raises(RegardError, match=reason) as caught:
            regard.import_model(directory, tmp_path / f"out{number}")
        assert "\n" not in str(caught.value)
        assert not (tmp_path / f"out{number}").exists()


def test_a_hostile_package_is_refused(pre_norm: Path, tmp_path: Path) -> None:
    package = tmp_path / "m.argosmodel"
    regard.export(pre_norm, package, to="argos")
    with zipfile.ZipFile(package, "a") as archive:
        archive.writestr("../evil.txt", "x")
    with pytest.raises(BundleError, match="leads out of the directory"):
        regard.import_model(package, tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "empty.argosmodel", "w") as archive:
        archive.writestr("readme.txt", "x")
    with pytest.raises(BundleError, match="not an Argos package"):
        regard.import_model(tmp_path / "empty.argosmodel", tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} <= {"m.argosmodel", "empty.argosmodel", "cache"}


def test_a_mark_that_is_not_there(tmp_path: Path) -> None:
    directory = opennmt_directory(tmp_path / "ct2")
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    (directory / "config.json").write_text(json.dumps({**config, "eos_token": "<stop>"}), encoding="utf-8")
    with pytest.raises(BundleError, match="eos_token = '<stop>': no such piece"):
        regard.import_model(directory, tmp_path / "out")
