"""`tokenizer.json` as import reads it: what regard exported comes back as it was, and sentencepiece's unigram as `tokenizers` reads it."""

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch

import regard
from interop.foreign import t5_directory
from interop.foreign_texts import mbart_spm
from regard.errors import RegardError
from regard.interop.foreign_tokenizers import read_tokenizer
from regard.interop.tokenizer_json import exported_normalizers
from regard.interop.vocabularies import arranged
from regard.text.vocabulary import BYTE_PIECES, END, PAD, UNKNOWN
from tasks.bundles import TEXTS, random_bundle

tokenizers = pytest.importorskip("tokenizers")
pytest.importorskip("transformers")

SIGNS = [*"abcdeillmnorstu      .,!?'-0123456789ABC", *"éèüßñçø½ﬁΩжя中文かな한🙂☃\u0301\u00a0\u200d\t", "the ", "chat "]


def texts(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices(SIGNS, k=draw.randrange(40))) for _ in range(count)]


@pytest.mark.parametrize(
    "form",
    [
        {"text": "bpe"},
        {"text": "unigram"},
        {"text": "char"},
        {"text": "bpe", "norm": "post"},
        *({"text": kind, "reserved": True} for kind in ("bpe", "unigram", "char")),
    ],
    ids=str,
)
def test_what_regard_exports_comes_back_with_the_same_texts(form: dict[str, Any], tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b", positions="sinusoidal", ending=4.0, **form)
    regard.export(path, tmp_path / "hf", to="hf")
    regard.import_model(tmp_path / "hf", tmp_path / "again")
    old, new = (regard.load(place, engine="torch") for place in (path, tmp_path / "again"))
    ours, theirs = old.tokenizers.source, new.tokenizers.source
    assert (theirs.kind, theirs.form, theirs.lowercase) == (ours.kind, ours.form, ours.lowercase)
    assert theirs.vocabulary == ours.vocabulary
    assert theirs.vocabulary.reserved == ours.vocabulary.reserved
    for text in (*texts(2000, 3), "</s> <0x41> <unk>", "a <mask> >>en<<", "\x00a\ufeffb"):
        assert theirs.encode(text) == ours.encode(text)
        assert theirs.decode(ours.encode(text)) == ours.decode(ours.encode(text))
    for name, value in old.network.state_dict().items():
        assert torch.equal(new.network.state_dict()[name], value), name
    for beam in (1, 4):
        expected = old.translate(TEXTS, beam=beam)
        assert [answer.text for answer in new.translate(TEXTS, beam=beam)] == [answer.text for answer in expected]


def unigram_file(path: Path, model: bytes) -> Any:
    """The tokenizer.json of a sentencepiece model, as `transformers` converts it; returns the tokenizer of the library."""
    from sentencepiece import sentencepiece_model_pb2 as messages

    proto = messages.ModelProto()
    proto.ParseFromString(model)
    unigram = tokenizers.models.Unigram(
        [(piece.piece, piece.score) for piece in proto.pieces], proto.trainer_spec.unk_id, False
    )
    tokenizer = tokenizers.Tokenizer(unigram)
    tokenizer.normalizer = tokenizers.normalizers.Sequence(
        [
            tokenizers.normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap),
            tokenizers.normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [tokenizers.pre_tokenizers.WhitespaceSplit(), tokenizers.pre_tokenizers.Metaspace("▁", prepend_scheme="always")]
    )
    tokenizer.add_special_tokens(["<s>", "</s>"])
    tokenizer.save(str(path))
    return tokenizer


def test_a_unigram_file_equals_the_library_on_ten_thousand_texts(tmp_path: Path) -> None:
    theirs = unigram_file(tmp_path / "tokenizer.json", mbart_spm())
    size = theirs.get_vocab_size() + 2
    foreign = read_tokenizer(tmp_path, "t5", size)
    order = arranged(
        "here", foreign.pieces, end=2, unknown=foreign.unknown, start=2, barred=None, silent=foreign.silent
    )
    ours = foreign.segmenter.tokenizer(order.record)
    names = [theirs.id_to_token(index) for index in range(theirs.get_vocab_size())]
    processor = sentencepiece.SentencePieceProcessor(model_proto=mbart_spm())
    compared = 0
    for text in texts(10_000, 5):
        found = [ours.vocabulary.piece(index) for index in ours.encode(text)]
        assert found == [names[index] for index in processor.encode(text)], "as sentencepiece itself"
        if "\u0301" not in text and "\u200d" not in text:  # which the library maps together with the character before
            compared += 1
            assert found == [names[index] for index in theirs.encode(text, add_special_tokens=False).ids]
    assert compared > 4000


def test_a_t5_with_tokenizer_json_alone_is_that_with_its_sentencepiece_model(tmp_path: Path) -> None:
    t5_directory(tmp_path / "hf")
    regard.import_model(tmp_path / "hf", tmp_path / "one")
    tokenizer = unigram_file(tmp_path / "hf" / "tokenizer.json", (tmp_path / "hf" / "spiece.model").read_bytes())
    (tmp_path / "hf" / "spiece.model").unlink()
    regard.import_model(tmp_path / "hf", tmp_path / "two")
    one, two = (regard.load(tmp_path / name, engine="torch") for name in ("one", "two"))
    assert tokenizer.get_vocab_size() < len(two.tokenizers.source.vocabulary)
    plain = [text for text in texts(500, 8) if "\u0301" not in text]
    assert two.tokenizers.source.encode_batch(plain) == one.tokenizers.source.encode_batch(plain)
    assert [a.text for a in two.translate(TEXTS)] == [a.text for a in one.translate(TEXTS)]


def changed(path: Path, change: Any) -> None:
    values = json.loads(path.read_text(encoding="utf-8"))
    change(values)
    path.write_text(json.dumps(values), encoding="utf-8")


REFUSED: dict[str, tuple[Any, str]] = {
    "words": (lambda v: v["model"].update(type="WordLevel"), "model.type = 'WordLevel': such tokenizers are not read"),
    "no model": (lambda v: v.update(model=3), "not a tokenizer: no object `model`"),
    "other normalizer": (lambda v: v["normalizer"].update(normalizers=[{"type": "NFD"}]), "normalizer = "),
    "code in a map": (
        lambda v: v["normalizer"]["normalizers"][0].update(precompiled_charsmap=base64.b64encode(b"\0\4\0\0" + b"\xff" * 1025).decode()),
        "precompiled_charsmap: a map of characters of",
    ),
    "no base64": (lambda v: v["normalizer"]["normalizers"][0].update(precompiled_charsmap="%%"), "precompiled_charsmap"),
    "other spaces": (lambda v: v["pre_tokenizer"]["pretokenizers"][1].update(prepend_scheme="never"), "prepend_scheme = 'never'"),
    "no pre-tokenizer": (lambda v: v.update(pre_tokenizer=7), "pre_tokenizer = 7"),
    "a piece twice": (lambda v: v["model"]["vocab"].append(v["model"]["vocab"][9]), "a piece is there twice"),
    "a score of text": (lambda v: v["model"]["vocab"].append(["x", "y"]), "not a list of pieces and scores"),
    "unknown outside": (lambda v: v["model"].update(unk_id=10**6), "model.unk_id = 1000000"),
    "a word added": (lambda v: v["added_tokens"][0].update(special=False), "added_tokens.special"),
    "two ids": (lambda v: v["added_tokens"][0].update(id=99), "has two ids"),
    "an id outside": (lambda v: v["added_tokens"].append({"id": 10**6, "content": "far", "special": True}), "has the id 1000000"),
    "bytes": (lambda v: v["model"].update(byte_fallback=True), "byte_fallback = True"),
    "a number of normalizers": (lambda v: v["normalizer"].update(normalizers=5), "normalizer = "),
    "null normalizers": (lambda v: v["normalizer"].update(normalizers=None), "normalizer = "),
    "a huge score": (lambda v: v["model"]["vocab"].append(["xyzzy", -1e300]), "'xyzzy' has the score -1e\\+300"),
    "a long score": (lambda v: v["model"]["vocab"].append(["xyzzy", 10**90]), "'xyzzy' has the score"),
    "no score": (lambda v: v["model"]["vocab"].append(["xyzzy", float("nan")]), "'xyzzy' has the score nan"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_not_read_is_named_with_its_reason(name: str, tmp_path: Path) -> None:
    unigram_file(tmp_path / "tokenizer.json", mbart_spm())
    change, reason = REFUSED[name]
    changed(tmp_path / "tokenizer.json", change)
    with pytest.raises(RegardError, match=reason) as caught:
        read_tokenizer(tmp_path, "t5", 300)
    assert "\n" not in str(caught.value)


def exported_file(path: Path, **model: Any) -> None:
    """A file with the normalizer of what regard exports."""
    normalizer = exported_normalizers("nfc", False, True)
    path.write_text(json.dumps({"normalizer": normalizer, "pre_tokenizer": None, "model": model}), encoding="utf-8")


def test_an_exported_file_without_its_pieces_is_refused(tmp_path: Path) -> None:
    exported_file(tmp_path / "tokenizer.json", type="BPE", vocab={}, merges=[])
    with pytest.raises(RegardError, match="its pieces are not in the order of regard; export the model again"):
        read_tokenizer(tmp_path, "t5", 0)


def test_an_exported_file_without_the_scores_of_its_pieces_is_refused(tmp_path: Path) -> None:
    pieces = [END, UNKNOWN, *BYTE_PIECES, "a", "b"]
    added = [{"id": len(pieces), "content": PAD, "special": True}]
    exported_file(tmp_path / "tokenizer.json", type="Unigram", unk_id=1, vocab=[[piece, -1.0] for piece in pieces])
    changed(tmp_path / "tokenizer.json", lambda values: values.update(added_tokens=added))
    with pytest.raises(RegardError, match="its pieces are not in the order of regard; export the model again"):
        read_tokenizer(tmp_path, "t5", len(pieces) + 1)


def test_a_vocabulary_without_an_unknown_mark_has_a_piece_in_its_place() -> None:
    made = arranged("config.json", ["a", "b", "<end>"], end=2, unknown=None, start=2, barred=None, silent=["<end>"])
    assert made.record.pieces == ("<end>", "a", "b", "<pad>")


def test_a_sentencepiece_model_of_other_pieces_is_read_by_sentencepiece() -> None:
    from regard.interop.sentencepiece_model import sentencepiece_model

    model = sentencepiece_model(
        ["</s>", "<unk>", "▁", "a", "b", "▁a", "ab"],
        [0.0, 0.0, -4.0, -3.0, -3.0, -1.0, -2.0],
        "bpe",
        unknown=1,
        controls=[0],
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    assert processor.encode("ab ba", out_type=str) == ["▁a", "b", "▁", "b", "a"]
    assert processor.encode("x") == [2, 1]
