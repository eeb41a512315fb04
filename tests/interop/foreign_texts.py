"""Models of `transformers` built at random that read other tokenizers than sentencepiece: BART, mBART, GPT-2, BERT and ViT."""

import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece
import torch

from interop.foreign import SIZES, randomised
from tasks.bundles import SPLIT

CODES = ("en_XX", "fr_XX", "de_DE")


def sentences() -> list[str]:
    return [text for pair in SPLIT.train[:1000] for text in (pair.french, pair.english)]


@cache
def byte_bpe(marks: tuple[str, ...], prefix_space: bool = False) -> str:
    """The tokenizer.json of byte-level BPE learned from pocket sentences."""
    from tokenizers import ByteLevelBPETokenizer

    tokenizer = ByteLevelBPETokenizer(add_prefix_space=prefix_space)
    tokenizer.train_from_iterator(
        sentences(), vocab_size=420, min_frequency=1, special_tokens=list(marks), show_progress=False
    )
    return str(tokenizer.to_str())


@cache
def word_pieces(lowercase: bool = True) -> str:
    """The tokenizer.json of WordPiece learned from pocket sentences."""
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(lowercase=lowercase)
    tokenizer.train_from_iterator(sentences(), vocab_size=300, min_frequency=1, show_progress=False)
    return str(tokenizer.to_str())


def write_byte_bpe(path: Path, marks: tuple[str, ...], form: str, **config: Any) -> dict[str, int]:
    """Write the files of a byte-level tokenizer: vocab.json and merges.txt, or tokenizer.json. Returns the ids."""
    values = json.loads(byte_bpe(marks))
    ids: dict[str, int] = values["model"]["vocab"]
    if form == "files":
        (path / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
        merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in values["model"]["merges"]]
        (path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    else:
        (path / "tokenizer.json").write_text(byte_bpe(marks), encoding="utf-8")
    (path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return ids


def bart_directory(path: Path, form: str = "files", **settings: Any) -> tuple[Any, Any]:
    """A BART model; returns the network and its tokenizer of `transformers`."""
    import transformers

    path.mkdir()
    marks = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    ids = write_byte_bpe(path, marks, form, tokenizer_class="BartTokenizer", unk_token="<unk>", eos_token="</s>")
    forced = settings.pop("forced_bos_token_id", None)
    config = transformers.BartConfig(vocab_size=len(ids), **{**SIZES, "forced_eos_token_id": None, **settings})
    torch.manual_seed(3)
    network = randomised(transformers.BartForConditionalGeneration(config), 6.0, 2, growth=4.0)
    network.generation_config.max_length = None
    network.generation_config.forced_bos_token_id = forced
    network.save_pretrained(path)
    return network, transformers.BartTokenizer.from_pretrained(path)


@cache
def mbart_spm() -> bytes:
    """A sentencepiece model with mBART's first three pieces."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences()),
        model_writer=model,
        model_type="unigram",
        vocab_size=200,
        normalization_rule_name="nmt_nfkc",
        hard_vocab_limit=False,
        minloglevel=3,
    )
    return model.getvalue()


def mbart_directory(path: Path, kind: str, **settings: Any) -> tuple[Any, list[str]]:
    """An mBART (25) or mBART-50 model; returns the network and the pieces in the order of their ids."""
    import transformers
    from transformers.models.mbart.tokenization_mbart import FAIRSEQ_LANGUAGE_CODES as CODES_25
    from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES as CODES_50

    path.mkdir()
    (path / "sentencepiece.bpe.model").write_bytes(mbart_spm())
    processor = sentencepiece.SentencePieceProcessor(model_proto=mbart_spm())
    own = processor.id_to_piece(list(range(processor.get_piece_size())))
    codes = CODES_50 if kind == "50" else CODES_25
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *own[3:], *codes, "<mask>"]
    (path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "MBart50Tokenizer" if kind == "50" else "MBartTokenizer", "src_lang": "fr_XX"})
    )
    target = pieces.index("en_XX")
    values = {**SIZES, "forced_eos_token_id": None, **settings}
    torch.manual_seed(3)
    network = randomised(
        transformers.MBartForConditionalGeneration(transformers.MBartConfig(vocab_size=len(pieces), **values)),
        6.0,
        2,
        growth=3.0,
    )
    network.generation_config.max_length = None
    network.generation_config.decoder_start_token_id = 2 if kind == "50" else target
    network.generation_config.forced_bos_token_id = target if kind == "50" else None
    network.save_pretrained(path)
    return network, pieces


def gpt2_directory(path: Path, form: str = "files", **settings: Any) -> tuple[Any, Any]:
    """A GPT-2 model; returns the network and its tokenizer of `transformers`."""
    import transformers

    path.mkdir()
    ids = write_byte_bpe(path, ("<|endoftext|>",), form, tokenizer_class="GPT2Tokenizer")
    sizes = {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64, "bos_token_id": 0, "eos_token_id": 0}
    torch.manual_seed(3)
    config = transformers.GPT2Config(vocab_size=len(ids), **{**sizes, **settings})
    network = randomised(transformers.GPT2LMHeadModel(config), 0.0, 0, growth=3.0)
    network.generation_config.max_length = None
    network.save_pretrained(path)
    return network, transformers.GPT2Tokenizer.from_pretrained(path)


def bert_directory(
    path: Path,
    form: str = "files",
    head: str = "SequenceClassification",
    lowercase: bool = True,
    growth: float = 3.0,
    **settings: Any,
) -> tuple[Any, Any]:
    """A BERT model; returns the network and its tokenizer of `transformers`."""
    import transformers

    path.mkdir()
    ids = json.loads(word_pieces(lowercase))["model"]["vocab"]
    if form == "files":
        (path / "vocab.txt").write_text("".join(f"{piece}\n" for piece in sorted(ids, key=ids.get)), encoding="utf-8")
    else:
        (path / "tokenizer.json").write_text(word_pieces(lowercase), encoding="utf-8")
    (path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": lowercase}), encoding="utf-8"
    )
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 48,
        "max_position_embeddings": 64,
    }
    names = {0: "bad", 1: "good", 2: "neither"}
    torch.manual_seed(3)
    config = transformers.BertConfig(
        vocab_size=len(ids), id2label=names, label2id={v: k for k, v in names.items()}, **{**sizes, **settings}
    )
    made = getattr(transformers, f"Bert{'For' if head != 'Model' else ''}{head}")(config)
    network = randomised(made, 0.0, 0, growth=growth)
    network.save_pretrained(path)
    return network, transformers.BertTokenizer.from_pretrained(path)


def vit_directory(path: Path, head: str = "ForImageClassification", **settings: Any) -> Any:
    """A Vision Transformer with its picture processor; returns the network."""
    import transformers

    path.mkdir()
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 48,
        "image_size": 32,
        "patch_size": 8,
    }
    names = {0: "cat", 1: "dog", 2: "bird"}
    torch.manual_seed(3)
    config = transformers.ViTConfig(id2label=names, label2id={v: k for k, v in names.items()}, **{**sizes, **settings})
    network = randomised(getattr(transformers, f"ViT{head}")(config), 0.0, 0, growth=3.0)
    network.save_pretrained(path)
    form = {
        "size": {"height": config.image_size, "width": config.image_size},
        "image_mean": [0.4, 0.5, 0.6],
        "image_std": [0.2, 0.3, 0.4],
    }
    (path / "preprocessor_config.json").write_text(
        json.dumps({**form, "do_resize": True, "do_rescale": True, "do_normalize": True, "resample": 2})
    )
    return network
