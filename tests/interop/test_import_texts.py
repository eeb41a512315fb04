"""Imported BART, mBART, GPT-2, BERT and ViT beside `transformers`: the same tokens, logits, texts and labels."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

import regard
from interop.foreign_texts import (
    bart_directory,
    bert_directory,
    gpt2_directory,
    mbart_directory,
    mbart_spm,
    vit_directory,
)
from regard.errors import RegardError
from tasks.bundles import TEXTS

transformers = pytest.importorskip("transformers")

STRANGE = ["ﬁn ½ Ünïcode ☃ 中", "don't  stop\u00a0now", "e\u0301 🙂👩\u200d👧"]

BARTS: dict[str, dict[str, Any]] = {
    "bart": {"forced_bos_token_id": 0},
    "bart, tokenizer.json": {"forced_bos_token_id": 0, "form": "json"},
    "bart, nothing forced": {"activation_function": "relu"},
    "bart, untied, scaled": {"tie_word_embeddings": False, "scale_embedding": True, "forced_bos_token_id": 0},
    "bart, deep decoder": {"encoder_layers": 1, "decoder_layers": 4, "activation_function": "gelu_new"},
}


@pytest.mark.parametrize("name", BARTS)
def test_an_imported_bart_gives_the_same_logits_and_texts(name: str, tmp_path: Path) -> None:
    network, tokenizer = bart_directory(tmp_path / "hf", **BARTS[name])
    regard.import_model(tmp_path / "hf", tmp_path / "b")
    model = regard.load(tmp_path / "b", engine="torch")
    texts = [*TEXTS[:8], *STRANGE]
    ours = model.tokenizers.source
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    names = tokenizer.convert_ids_to_tokens(list(range(network.config.vocab_size)))
    order = torch.tensor([names.index(piece) for piece in ours.vocabulary.pieces[:-1]])  # our ids -> theirs
    for row, ids in zip(batch.input_ids.tolist(), ours.encode_batch(texts), strict=True):
        assert order[[*ids, 0]].tolist() == [index for index in row if index != 1]
    assert_logits(model, network, order, batch.input_ids[:1, : int(batch.attention_mask[0].sum())], 2)
    forced = "forced_bos_token_id" in BARTS[name]
    engines = [model] if forced else [model, regard.load(tmp_path / "b", engine="ct2")]
    if forced:
        with pytest.raises(RegardError, match="its outputs begin with a mark that is forced"):
            regard.load(tmp_path / "b", engine="ct2")
    for beam in (1, 4):
        options: dict[str, Any] = {} if beam == 1 else {"length_penalty": 0.0, "num_beams": beam}
        generated = network.generate(**batch, do_sample=False, max_new_tokens=40, **options).tolist()
        for engine in engines:
            finished = 0
            for ids, answer in zip(
                generated, engine.translate(texts, beam=beam, alpha=0.0, max_length=39), strict=True
            ):
                if answer.finished:
                    finished += 1
                    text = tokenizer.decode(ids, skip_special_tokens=True)
                    assert answer.text == " ".join(text.split())
                    assert [*answer.tokens, "</s>"] == [names[index] for index in ids[1:] if index != 1]
            assert finished >= 5
    again = [ours.decode(ids) for ids in ours.encode_batch(texts)]
    assert again == [ours.normalise(text) for text in texts]
    scored = model.score(texts[:2], ["the cat", "a dog"])
    assert all(result.logprob < 0 for result in scored)


def assert_logits(model: Any, network: Any, order: torch.Tensor, theirs: torch.Tensor, start: int) -> None:
    back = {index: place for place, index in enumerate(order.tolist())}
    source = torch.tensor([[back[index] for index in theirs[0].tolist()]])
    pad = model.tokenizers.target.vocabulary.pad
    target = torch.randint(0, pad, (1, 20), generator=torch.Generator().manual_seed(4))
    with torch.inference_mode():
        fed = torch.cat([torch.tensor([[start]]), order[target]], 1)
        expected = network(input_ids=theirs, decoder_input_ids=fed).logits[..., order]
        found = model.network(source, torch.cat([torch.tensor([[pad]]), target], 1))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", ["50", "25"])
def test_an_imported_mbart_translates_between_its_languages(kind: str, tmp_path: Path) -> None:
    network, pieces = mbart_directory(tmp_path / "hf", kind, encoder_layers=2, decoder_layers=3)
    regard.import_model(tmp_path / "hf", tmp_path / "b", src_lang="fr", tgt_lang="en")
    model = regard.load(tmp_path / "b")
    processor = sentencepiece.SentencePieceProcessor(model_proto=mbart_spm())
    source, target = pieces.index("fr_XX"), pieces.index("en_XX")
    own = model.tokenizers.source.vocabulary.pieces
    names = [*own[:-1]]
    order = torch.tensor([pieces.index(piece) for piece in names])
    goal = torch.tensor([pieces.index(piece) for piece in model.tokenizers.target.vocabulary.pieces[:-1]])
    for text in TEXTS[:5]:
        ids = [pieces.index(piece) if piece in pieces else 3 for piece in processor.encode(text, out_type=str)]
        row = [source, *ids, 2] if kind == "50" else [*ids, 2, source]
        assert order[[*model.tokenizers.source.encode(text), 0]].tolist() == row
        theirs = torch.tensor([row])
        back = torch.tensor([[order.tolist().index(index) for index in row]])
        pad = len(goal)
        said = torch.randint(0, pad, (1, 12), generator=torch.Generator().manual_seed(4))
        start = 2 if kind == "50" else target
        with torch.inference_mode():
            fed = torch.cat([torch.tensor([[start]]), goal[said]], 1)
            expected = network(input_ids=theirs, decoder_input_ids=fed).logits[..., goal]
            found = model.network(back, torch.cat([torch.tensor([[pad]]), said], 1))
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
        for beam in (1, 3):
            options: dict[str, Any] = {} if beam == 1 else {"length_penalty": 0.0, "num_beams": beam}
            generated = network.generate(theirs, do_sample=False, max_new_tokens=25, **options)[0].tolist()
            [answer] = model.translate([text], beam=beam, alpha=0.0, max_length=25)
            assert [*answer.tokens, "</s>"][:25] == [pieces[index] for index in generated[1:]]


def test_a_language_that_mbart_does_not_have_is_refused(tmp_path: Path) -> None:
    mbart_directory(tmp_path / "hf", "50")
    with pytest.raises(RegardError, match=r"'xx' is no language of this model; give --tgt-lang CODE, one of ar_AR"):
        regard.import_model(tmp_path / "hf", tmp_path / "b", src_lang="fr", tgt_lang="xx")
    with pytest.raises(RegardError, match="'klingon' is no language of this model; give --src-lang CODE"):
        regard.import_model(tmp_path / "hf", tmp_path / "b", src_lang="klingon")


GPTS: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "gpt2, tokenizer.json": {"form": "json"},
    "gpt2, untied, other scales": {
        "tie_word_embeddings": False,
        "scale_attn_by_inverse_layer_idx": True,
        "scale_attn_weights": False,
        "activation_function": "relu",
        "n_inner": 40,
        "layer_norm_epsilon": 1e-3,
    },
}


@pytest.mark.parametrize("name", GPTS)
def test_an_imported_gpt2_gives_the_same_logits_scores_and_texts(name: str, tmp_path: Path) -> None:
    network, tokenizer = gpt2_directory(tmp_path / "hf", **GPTS[name])
    regard.import_model(tmp_path / "hf", tmp_path / "b")
    model = regard.load(tmp_path / "b")
    names = tokenizer.convert_ids_to_tokens(list(range(network.config.vocab_size)))
    order = torch.tensor([names.index(piece) for piece in model.tokenizer.vocabulary.pieces[:-1]])
    texts = ["the cat", " two\n\nlines \n  of text", "", *STRANGE]
    for text in texts:
        ids = model.encode(text)
        assert order[ids].tolist() == tokenizer(text).input_ids
        assert model.text(ids) == text
        fed = torch.tensor([[0, *order[ids].tolist()]], dtype=torch.long)
        with torch.inference_mode():
            expected = network(fed).logits
            found = model.network(fed[:, :0], torch.tensor([[model.network.start_token, *ids]]))
        torch.testing.assert_close(found, expected[..., order], atol=1e-4, rtol=1e-4)
        [scored] = model.score([text])
        logprobs = expected.log_softmax(-1)[0, :-1].gather(1, fed[0, 1:, None])
        assert scored.logprob == pytest.approx(float(logprobs.double().sum()), abs=1e-3)
        for beam in (1, 3):
            options: dict[str, Any] = {} if beam == 1 else {"length_penalty": 0.0, "num_beams": beam}
            said = network.generate(fed, do_sample=False, max_new_tokens=20, pad_token_id=0, **options)[0].tolist()
            [answer] = model.generate([text], beam=beam, alpha=0.0, max_length=20, sample=False)
            assert [*answer.tokens, "<|endoftext|>"][:20] == [names[index] for index in said[fed.shape[1] :]]
            if answer.finished or len(said) == fed.shape[1] + 20:
                whole = tokenizer.decode(said, skip_special_tokens=True, clean_up_tokenization_spaces=False)
                assert text + answer.text == whole or "\ufffd" in whole
    assert model.explain("the cat sleeps").target.tokens


BERTS: dict[str, dict[str, Any]] = {
    "bert": {},
    "bert, tokenizer.json": {"form": "json"},
    "bert, cased": {"lowercase": False, "hidden_act": "relu", "type_vocab_size": 1},
}


@pytest.mark.parametrize("name", BERTS)
def test_an_imported_bert_gives_the_same_probabilities(name: str, tmp_path: Path) -> None:
    network, tokenizer = bert_directory(tmp_path / "hf", **BERTS[name])
    regard.import_model(tmp_path / "hf", tmp_path / "b")
    model = regard.load(tmp_path / "b")
    assert model.labels == ("bad", "good", "neither")
    names = tokenizer.convert_ids_to_tokens(list(range(network.config.vocab_size)))
    texts = [*TEXTS[:6], *STRANGE, ""]
    for text, answer in zip(texts, model.classify(texts), strict=True):
        ids = tokenizer(text, truncation=True, max_length=64, return_tensors="pt")
        pieces = model.tokenizer.vocabulary.pieces
        assert [pieces[index] for index in model.tokenizer.encode(text)] == [names[i] for i in ids.input_ids[0][1:-1]]
        with torch.inference_mode():
            expected = network(**ids).logits[0].double().softmax(-1)
        assert list(answer.probabilities.values()) == pytest.approx(expected.tolist(), abs=1e-5)
    long = "the cat " * 100
    with torch.inference_mode():
        cut = network(**tokenizer(long, truncation=True, max_length=64, return_tensors="pt")).logits[0].softmax(-1)
    [answer] = model.classify([long])
    assert answer.truncated
    assert list(answer.probabilities.values()) == pytest.approx(cut.tolist(), abs=1e-5)
    assert model.explain("the cat sleeps").target.text in model.labels


@pytest.mark.parametrize("head", ["MaskedLM", "Model"])
def test_a_bert_without_labels_says_what_it_is_good_for(head: str, tmp_path: Path) -> None:
    network, tokenizer = bert_directory(tmp_path / "hf", head=head)
    reason = "predicts masked words" if head == "MaskedLM" else "an encoder without a head"
    with pytest.raises(RegardError, match=rf"{reason}.*--labels good,bad.*--start OUT"):
        regard.import_model(tmp_path / "hf", tmp_path / "b")
    regard.import_model(tmp_path / "hf", tmp_path / "b", labels=["no", "yes"])
    model = regard.load(tmp_path / "b")
    own = network.bert if head == "MaskedLM" else network
    ids = tokenizer("the cat sleeps", return_tensors="pt")
    with torch.inference_mode():
        outputs = own(**ids)
        expected = outputs.last_hidden_state[0, 0] if head == "MaskedLM" else outputs.pooler_output[0]
        found = model.network.hidden(torch.tensor([[*model.tokenizer.encode("the cat sleeps"), 0]]), torch.zeros(1, 0))
    torch.testing.assert_close(found[0, 0], expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    "settings", [{}, {"qkv_bias": False, "hidden_act": "gelu_new", "image_size": 24, "num_hidden_layers": 1}]
)
def test_an_imported_vit_gives_the_same_probabilities(settings: dict[str, Any], tmp_path: Path) -> None:
    network = vit_directory(tmp_path / "hf", **settings)
    regard.import_model(tmp_path / "hf", tmp_path / "b")
    model = regard.load(tmp_path / "b")
    assert model.labels == ("bird", "cat", "dog"), "sorted, as those of data"
    draw = np.random.default_rng(1)
    side = network.config.image_size
    pictures = [
        draw.integers(0, 256, (side, side, 3), dtype=np.uint8),
        draw.integers(0, 256, (50, 41, 3), dtype=np.uint8),
    ]
    mean, deviation = np.array([0.4, 0.5, 0.6]), np.array([0.2, 0.3, 0.4])
    for picture, answer in zip(pictures, model.classify(pictures), strict=True):
        resized = np.asarray(Image.fromarray(picture).resize((side, side), Image.Resampling.BILINEAR))
        pixels = torch.tensor(((resized / 255.0 - mean) / deviation).transpose(2, 0, 1)[None], dtype=torch.float32)
        with torch.inference_mode():
            expected = network(pixel_values=pixels).logits[0].double().softmax(-1)[[2, 0, 1]]
        assert list(answer.probabilities.values()) == pytest.approx(expected.tolist(), abs=1e-5)


def test_a_vit_without_labels_becomes_a_classifier_to_train(tmp_path: Path) -> None:
    vit_directory(tmp_path / "hf", head="Model")
    with pytest.raises(RegardError, match=r"an encoder without a head.*--labels good,bad.*--images FOLDER --start OUT"):
        regard.import_model(tmp_path / "hf", tmp_path / "b")
    regard.import_model(tmp_path / "hf", tmp_path / "b", labels=["light", "dark"])
    assert regard.load(tmp_path / "b").labels == ("dark", "light")


def renamed(path: Path, change: Any) -> None:
    values = load_file(path / "model.safetensors")
    save_file({change(name): value for name, value in values.items()}, path / "model.safetensors")


def test_names_of_older_versions_are_known(tmp_path: Path) -> None:
    """As the first BERT calls its norms, and BART and GPT-2 are saved without a head."""
    bert_directory(tmp_path / "bert")
    bart_directory(tmp_path / "bart")
    gpt2_directory(tmp_path / "gpt2")
    changes: dict[str, Any] = {
        "bert": lambda name: name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ),
        "bart": lambda name: name.removeprefix("model."),
        "gpt2": lambda name: name.removeprefix("transformer."),
    }
    for kind, change in changes.items():
        regard.import_model(tmp_path / kind, tmp_path / f"{kind}-new")
        renamed(tmp_path / kind, change)
        regard.import_model(tmp_path / kind, tmp_path / f"{kind}-old")
        new, old = (load_file(tmp_path / f"{kind}-{age}" / "model.safetensors") for age in ("new", "old"))
        assert new.keys() == old.keys()
        assert all(torch.equal(new[name], old[name]) for name in new)


def test_two_labels_of_one_name_are_told_apart(tmp_path: Path) -> None:
    vit_directory(tmp_path / "hf")
    config = json.loads((tmp_path / "hf" / "config.json").read_text(encoding="utf-8"))
    config["id2label"] = {"0": "crane", "1": "dog", "2": "crane"}
    (tmp_path / "hf" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    regard.import_model(tmp_path / "hf", tmp_path / "b")
    assert regard.load(tmp_path / "b").labels == ("crane (0)", "crane (2)", "dog")
