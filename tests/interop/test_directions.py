"""Exports of a model of several directions translate as it does, where the tag is put before the source as the model card says."""

from pathlib import Path

import pytest
import torch

from regard.interop.export import export_model
from regard.tasks.load import load_translator, open_given
from tasks.bundles import TEXTS, random_bundle

SEEN = [("en", "de"), ("de", "en")]
LONGEST = 12


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("several") / "model"
    return random_bundle(path, directions=SEEN, positions="sinusoidal", ending=3.0)


def test_ctranslate2_reads_the_tag(bundle: Path, tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    export_model(open_given(bundle), tmp_path / "model", "ct2")
    tokenizer = open_given(bundle).tokenizers.source
    ours = load_translator(bundle, engine="torch").translate(TEXTS[:6], to="en", beam=1, max_length=LONGEST)
    sources = [[">>en<<", *(tokenizer.vocabulary.piece(one) for one in tokenizer.encode(text))] for text in TEXTS[:6]]
    found = ctranslate2.Translator(str(tmp_path / "model"), device="cpu").translate_batch(
        sources, beam_size=1, max_decoding_length=LONGEST
    )
    assert [one.hypotheses[0] for one in found] == [one.tokens for one in ours]


def test_transformers_reads_the_tag(bundle: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    export_model(open_given(bundle), tmp_path / "model", "hf")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    tag = tokenizer.convert_tokens_to_ids(">>en<<")
    ours = load_translator(bundle, engine="torch").translate(TEXTS[:6], to="en", beam=1, max_length=LONGEST)
    for text, one in zip(TEXTS[:6], ours, strict=True):
        ids = torch.tensor([[tag, *tokenizer(text)["input_ids"]]])
        output = model.generate(input_ids=ids, max_new_tokens=LONGEST, num_beams=1, do_sample=False)[0].tolist()[1:]
        pieces = tokenizer.convert_ids_to_tokens([own for own in output if own != tokenizer.eos_token_id])
        assert pieces == one.tokens
        assert tag not in tokenizer(f">>en<< {text}")["input_ids"]
