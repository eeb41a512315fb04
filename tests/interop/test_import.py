"""Imported models beside the programs that they come from: the same tokens, logits and texts, on both engines."""

from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch

import regard
from interop.foreign import marian_directory, t5_directory, t5_spm
from tasks.bundles import TEXTS

transformers = pytest.importorskip("transformers")

MODELS: dict[str, dict[str, Any]] = {
    "marian": {"activation_function": "swish", "scale_embedding": True},
    "marian, end mark not 0": {"activation_function": "relu", "scale_embedding": True, "end": 7},
    "marian, no scale, padding may be generated": {"activation_function": "gelu", "bar_pad": False},
    "marian, two vocabularies": {"activation_function": "gelu", "scale_embedding": True, "separate": True},
    "marian, two vocabularies, untied": {"activation_function": "relu", "separate": True, "tie_word_embeddings": False},
    "marian, untied output": {"activation_function": "gelu_new", "scale_embedding": True, "tie_word_embeddings": False},
    "pegasus": {"kind": "pegasus", "activation_function": "relu", "scale_embedding": True},
    "pegasus, deep decoder": {
        "kind": "pegasus",
        "activation_function": "gelu",
        "decoder_layers": 4,
        "end": 3,
        "bar_pad": False,
    },
}


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
@pytest.mark.parametrize("name", MODELS)
def test_an_imported_model_gives_the_same_logits_and_texts(name: str, tmp_path: Path) -> None:
    network = marian_directory(tmp_path / "hf", **MODELS[name])
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "hf")
    regard.import_model(tmp_path / "hf", tmp_path / "b", src_lang="fr", tgt_lang="en")
    model = regard.load(tmp_path / "b", engine="torch")
    fast = regard.load(tmp_path / "b", engine="ct2")
    texts = [*TEXTS[:9], "ﬁn ½ Ünïcode ☃ 中"]
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    source, target = model.tokenizers.source.vocabulary, model.tokenizers.target.vocabulary
    for row, ids in zip(batch.input_ids.tolist(), model.tokenizers.source.encode_batch(texts), strict=True):
        assert [source.piece(index) for index in [*ids, 0]] == _source_pieces(tokenizer, row)
    _assert_same_logits(model, network, tokenizer, batch.input_ids[:1])
    for beam in (1, 4):
        options: dict[str, Any] = {} if beam == 1 else {"length_penalty": 0.0, "num_beams": beam}
        generated = network.generate(**batch, do_sample=False, max_new_tokens=60, **options)
        finished = 0
        for engine in (model, fast):
            answers = engine.translate(texts, beam=beam, alpha=0.0, max_length=59)
            for ids, answer in zip(generated.tolist(), answers, strict=True):
                if answer.finished:
                    finished += 1
                    text = tokenizer.decode(ids, skip_special_tokens=True)
                    assert answer.text == " ".join(text.split())
        assert finished >= 8
    assert target.marks.end == "</s>"


def _source_pieces(tokenizer: Any, ids: list[int]) -> list[str]:
    """The pieces of a source, without padding. Marian's tokenizer itself shows ids as pieces of the target."""
    names = {index: piece for piece, index in tokenizer.encoder.items()}
    return [names[index] for index in ids if index != tokenizer.pad_token_id]


def _assert_same_logits(model: Any, network: Any, tokenizer: Any, source: torch.Tensor) -> None:
    """Logits of random target tokens agree, in the order of our ids."""
    ours, theirs = model.tokenizers.target.vocabulary, tokenizer.get_vocab()
    if tokenizer.separate_vocabs:
        theirs = tokenizer.target_encoder
    to_theirs = torch.tensor([theirs.get(piece, network.config.pad_token_id) for piece in ours.pieces])
    from_theirs = {index: place for place, index in enumerate(to_theirs.tolist()[:-1])}
    target = torch.randint(0, ours.pad, (1, 9), generator=torch.Generator().manual_seed(4))
    source_ids = {piece: index for index, piece in enumerate(model.tokenizers.source.vocabulary.pieces)}
    own_source = torch.tensor([[source_ids[piece] for piece in _source_pieces(tokenizer, source[0].tolist())]])
    source = source[source != tokenizer.pad_token_id][None]
    start = torch.tensor([[network.config.decoder_start_token_id]])
    with torch.inference_mode():
        expected = network(input_ids=source, decoder_input_ids=torch.cat([start, to_theirs[target]], 1)).logits
        found = model.network(own_source, torch.cat([torch.tensor([[ours.pad]]), target], 1))
    assert len(from_theirs) == ours.pad
    torch.testing.assert_close(found, expected[..., to_theirs[: ours.pad]], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    "settings",
    [{}, {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}, {"feed_forward_proj": "gated-silu"}],
    ids=["t5", "t5 1.1", "gated, tied"],
)
def test_an_imported_t5_gives_the_same_logits_and_outputs(settings: dict[str, Any], tmp_path: Path) -> None:
    network = t5_directory(tmp_path / "hf", **settings)
    regard.import_model(tmp_path / "hf", tmp_path / "b")
    model, fast = (regard.load(tmp_path / "b", engine=engine) for engine in ("torch", "ct2"))
    processor = sentencepiece.SentencePieceProcessor(model_proto=t5_spm())
    rows = network.config.vocab_size
    names = [*processor.id_to_piece(list(range(processor.get_piece_size())))]
    names += [f"<extra_id_{number}>" for number in reversed(range(100))]
    names += [f"<unused_{number}>" for number in range(len(names), rows)]
    vocabulary = model.tokenizers.target.vocabulary
    assert set(vocabulary.pieces[:-1]) == set(names)
    order = torch.tensor([names.index(piece) for piece in vocabulary.pieces[:-1]])  # our ids -> theirs
    for text in TEXTS[:6]:
        theirs = torch.tensor([[*processor.encode(text), 1]])
        ours = torch.tensor([[*model.tokenizers.source.encode(text), 0]])
        assert order[ours].tolist() == theirs.tolist()
        target = torch.randint(0, vocabulary.pad, (1, 40), generator=torch.Generator().manual_seed(4))
        with torch.inference_mode():
            start = torch.zeros(1, 1, dtype=torch.long)
            expected = network(input_ids=theirs, decoder_input_ids=torch.cat([start, order[target]], 1)).logits[
                ..., order
            ]
            found = model.network(ours, torch.cat([start + vocabulary.pad, target], 1))
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
        for beam in (1, 3):
            options: dict[str, Any] = {} if beam == 1 else {"length_penalty": 0.0, "num_beams": beam}
            generated = network.generate(theirs, do_sample=False, max_new_tokens=20, **options)[0].tolist()
            for engine in (model, fast):
                [answer] = engine.translate([text], beam=beam, alpha=0.0, max_length=20)
                assert [*answer.tokens, "</s>"][:20] == [names[index] for index in generated[1:]]
