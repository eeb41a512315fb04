"""Attacked directories of GPT-2, BERT and ViT: one line of error each, bounded memory, nothing written."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import regard
from interop.foreign_texts import bert_directory, gpt2_directory, vit_directory
from regard.errors import RegardError

pytest.importorskip("transformers")

Attack = Callable[[Path], None]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("sound")
    gpt2_directory(home / "gpt2")
    bert_directory(home / "bert")
    vit_directory(home / "vit")
    return home


def values(file: str, **changed: Any) -> Attack:
    def attack(path: Path) -> None:
        stored = json.loads((path / file).read_text(encoding="utf-8"))
        (path / file).write_text(json.dumps({**stored, **changed}), encoding="utf-8")

    return attack


def config(**changed: Any) -> Attack:
    return values("config.json", **changed)


def tensor(name: str, *shape: int) -> Attack:
    def attack(path: Path) -> None:
        stored = load_file(path / "model.safetensors")
        save_file({**stored, name: torch.zeros(shape)}, path / "model.safetensors")

    return attack


def written(file: str, content: str) -> Attack:
    return lambda path: (path / file).write_text(content, encoding="utf-8") and None


def million_merges(path: Path) -> None:
    (path / "merges.txt").write_text("t h\n" * 1_000_000, encoding="utf-8")


ATTACKS: dict[str, tuple[str, Attack, str]] = {
    "a million merges": ("gpt2", million_merges, r"1,000,000 merges for a vocabulary of \d+ pieces"),
    "a merge of no piece": ("gpt2", written("merges.txt", "zz qq\n"), "merge 1, 'zz qq': no piece 'zz'"),
    "a merge of three": ("gpt2", written("merges.txt", "t h e\n"), "merge 1, 't h e': not two pieces and a space"),
    "two pieces of one id": ("gpt2", values("vocab.json", zz=5), "two pieces have the same id"),
    "an id beyond the rows": ("gpt2", values("vocab.json", zz=10**9), "has the id 1000000000"),
    "an id of text": ("gpt2", values("vocab.json", zz="5"), "not a JSON object of pieces and their ids"),
    "added words": ("gpt2", written("added_tokens.json", '{"new": -4}'), "'new' has the id -4"),
    "a switch of text": ("gpt2", written("tokenizer_config.json", '{"add_prefix_space": "x"}'), "expected true or false"),
    "a huge vocabulary": ("gpt2", config(vocab_size=1 << 30), r"wte.weight is \[\d+, 32\], config.json asks for"),
    "a huge width": ("gpt2", config(n_embd=1 << 29), "wte.weight is"),
    "a huge inner width": ("gpt2", config(n_inner=1 << 30), "feed_forward"),
    "many layers": ("gpt2", config(n_layer=1 << 30), "layers"),
    "many positions": ("gpt2", config(n_positions=60_000), r"wpe.weight is \[64, 32\], config.json asks for"),
    "heads that do not divide": ("gpt2", config(n_head=5), "does not divide"),
    "cross-attention": ("gpt2", config(add_cross_attention=True), "add_cross_attention = True"),
    "a wrong shape": ("gpt2", tensor("transformer.h.0.attn.c_attn.weight", 3, 3), r"c_attn.weight is \[3, 3\]"),
    "a tensor too many": ("gpt2", tensor("transformer.h.9.x", 3), "unknown tensor 'transformer.h.9.x'"),
    "an end mark outside": ("gpt2", values("generation_config.json", eos_token_id=10**6), "eos_token_id = 1000000"),
    "a word twice": ("bert", lambda path: written("vocab.txt", "[UNK]\na\na\n")(path), "the piece 'a' is there twice"),
    "no unknown word": ("bert", written("vocab.txt", "[CLS]\n[SEP]\n"), r"no piece '\[UNK\]' for unknown words"),
    "no class token": ("bert", written("vocab.txt", "[UNK]\n[SEP]\n"), r"its vocabulary has no piece '\[CLS\]'"),
    "not text": ("bert", lambda path: (path / "vocab.txt").write_bytes(b"\xff\xfe\n") and None, "not UTF-8 text"),
    "a tokenizer without rules": (
        "bert",
        written("tokenizer_config.json", '{"do_basic_tokenize": false}'),
        "do_basic_tokenize = false: such tokenizers are not read",
    ),
    "labels of numbers": ("bert", config(id2label={"0": 1}), "id2label"),
    "labels that are missing": ("bert", config(id2label={"0": "a", "1": "b"}), "expected names for the outputs"),
    "a number, not a label": ("bert", tensor("classifier.weight", 1, 32), "1 output: a number is predicted"),
    "several labels of a text": ("bert", config(problem_type="multi_label_classification"), "problem_type = "),
    "a tagger": ("bert", config(architectures=["BertForTokenClassification"]), "a label for each word"),
    "other positions": ("bert", config(position_embedding_type="relative_key"), "position_embedding_type"),
    "a decoder": ("bert", config(is_decoder=True), "is_decoder = True"),
    "a huge picture": ("vit", config(image_size=1 << 20), "image_size 1048576"),
    "a picture of another size": (
        "vit",
        values("preprocessor_config.json", size={"height": 8, "width": 9}),
        "config.json has image_size 32",
    ),
    "a cropped picture": ("vit", values("preprocessor_config.json", do_center_crop=True), "do_center_crop = True"),
    "a deviation of zero": ("vit", values("preprocessor_config.json", image_std=[0, 1, 1]), "must be above 0"),
    "four channels": ("vit", config(num_channels=4), "channels"),
    "small patches": ("vit", config(patch_size=1), r"projection.weight is|tokens|front"),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attacked_directory_is_refused_in_one_line(name: str, sound: Path, tmp_path: Path) -> None:
    kind, attack, reason = ATTACKS[name]
    directory = tmp_path / "hf"
    directory.mkdir()
    for file in (sound / kind).iterdir():
        (directory / file.name).write_bytes(file.read_bytes())
    attack(directory)
    measured = "huge" in name or "many" in name
    if measured:  # tracing is slow
        tracemalloc.start()
    try:
        with pytest.raises(RegardError, match=reason) as caught:
            regard.import_model(directory, tmp_path / "out")
        assert not measured or tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} <= {"hf", "cache"}, "nothing was written"


def test_labels_of_a_model_that_has_its_own_are_refused(sound: Path, tmp_path: Path) -> None:
    for kind in ("bert", "vit"):
        with pytest.raises(RegardError, match="it has labels of its own; leave --labels out"):
            regard.import_model(sound / kind, tmp_path / "out", labels=["a", "b"])
