"""Directories of GPT-2 and BERT whose tokenizer, config or weights were attacked. A BERT may have WordPiece, or pieces with scores."""

import json
from pathlib import Path
from random import Random

import numpy as np
from safetensors.numpy import save_file

from hostile import draw
from hostile.verbs import Command
from regard.text.byte_bpe import SIGNS

WIDTH, LAYERS = 8, 1
ATTACKS = (
    "json",
    "json",
    "bytes",
    "bytes",
    "place",
    "merges",
    "million",
    "duplicate",
    "index",
    "sizes",
    "added",
    "scores",
)


def gpt2(directory: Path) -> None:
    """A sound GPT-2 of 8 units."""
    directory.mkdir()
    merges = ["t h", "th e", "Ġ the", "c a", "ca t"]
    pieces = [*SIGNS, *(merge.replace(" ", "") for merge in merges), "<|endoftext|>"]
    _json(directory / "vocab.json", {piece: index for index, piece in enumerate(pieces)})
    (directory / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    _json(directory / "tokenizer_config.json", {"add_prefix_space": False})
    config = {"model_type": "gpt2", "vocab_size": len(pieces), "n_embd": WIDTH, "n_layer": LAYERS, "n_head": 2}
    _json(directory / "config.json", {**config, "n_positions": 16, "eos_token_id": len(pieces) - 1})
    own = {"wte": (len(pieces), WIDTH), "wpe": (16, WIDTH)}
    tensors = {f"transformer.{name}.weight": _drawn(shape) for name, shape in own.items()}
    maps = {"attn.c_attn": (WIDTH, 3 * WIDTH), "attn.c_proj": (WIDTH, WIDTH), "mlp.c_fc": (WIDTH, 4 * WIDTH)}
    maps |= {"mlp.c_proj": (4 * WIDTH, WIDTH)}
    for name, shape in maps.items():
        tensors |= {f"transformer.h.0.{name}.weight": _drawn(shape), f"transformer.h.0.{name}.bias": _drawn(shape[1:])}
    for name in ("h.0.ln_1", "h.0.ln_2", "ln_f"):
        tensors |= {f"transformer.{name}.{kind}": _drawn((WIDTH,)) for kind in ("weight", "bias")}
    save_file(tensors, directory / "model.safetensors")


def bert(directory: Path) -> None:
    """A sound BERT with two labels, whose tokenizer is a tokenizer.json."""
    directory.mkdir()
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "le", "chat", "##s", "dort"]
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "vocab": {p: i for i, p in enumerate(pieces)},
    }
    file = {"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": model}
    _json(directory / "tokenizer.json", file)
    _write_bert(directory, pieces)


def unigram(directory: Path) -> None:
    """A sound BERT whose tokenizer.json has pieces with scores, as those of sentencepiece models."""
    directory.mkdir()
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581", "\u2581le", "\u2581chat", "s", "\u2581dort"]
    scored = [[piece, -float(number)] for number, piece in enumerate(pieces)]
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    file = {
        "added_tokens": [{"id": 2, "content": "[CLS]", "special": True}],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "Precompiled", "precompiled_charsmap": ""}, spaces],
        },
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"},
        "model": {"type": "Unigram", "unk_id": 1, "vocab": scored},
    }
    _json(directory / "tokenizer.json", file)
    _write_bert(directory, pieces)


def _write_bert(directory: Path, pieces: list[str]) -> None:
    """The config and the weights of a BERT of 8 units."""
    sizes = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 12}
    labels = {"id2label": {"0": "a", "1": "b"}, "max_position_embeddings": 16}
    _json(directory / "config.json", {"model_type": "bert", "vocab_size": len(pieces), **sizes, **labels})
    layer = "encoder.layer.0"
    maps = {f"{layer}.attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
    maps |= {f"{layer}.attention.output.dense": (WIDTH, WIDTH), "pooler.dense": (WIDTH, WIDTH)}
    maps |= {f"{layer}.intermediate.dense": (12, WIDTH), f"{layer}.output.dense": (WIDTH, 12)}
    tensors = {"classifier.weight": _drawn((2, WIDTH)), "classifier.bias": _drawn((2,))}
    for name, shape in maps.items():
        tensors |= {f"bert.{name}.weight": _drawn(shape), f"bert.{name}.bias": _drawn(shape[:1])}
    for name in ("embeddings.LayerNorm", f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"):
        tensors |= {f"bert.{name}.{kind}": _drawn((WIDTH,)) for kind in ("weight", "bias")}
    for name, rows in (("word", len(pieces)), ("position", 16), ("token_type", 2)):
        tensors[f"bert.embeddings.{name}_embeddings.weight"] = _drawn((rows, WIDTH))
    save_file(tensors, directory / "model.safetensors")


def directory(rng: Random, directory: Path) -> Command:
    """The import of such a directory after an attack."""
    model = directory / "foreign"
    rng.choice([gpt2, bert, unigram])(model)
    path, attack = rng.choice(sorted(model.iterdir())), rng.choice(ATTACKS)
    if attack == "json" and path.suffix == ".json":
        draw.write_text(path, draw.json_text(rng, json.loads(path.read_text(encoding="utf-8"))))
    elif attack == "place":
        draw.replace_file(rng, path)
    elif attack in ("merges", "million"):
        count = 1_000_000 if attack == "million" else rng.randrange(50)
        lines = [
            rng.choice(["t h", "x", "a b c", "", "zz zz", " ", draw.text(rng)[:20].replace("\n", "")])
            for _ in range(min(count, 50))
        ]
        (model / "vocab.json").write_text(json.dumps({"t": 0, "h": 1, "th": 2}), encoding="utf-8")
        draw.write_text(model / "merges.txt", "\n".join(lines * (count // max(1, len(lines)))))
    elif attack == "duplicate":
        ids = {f"p{number}": rng.randrange(20) for number in range(20)}
        (model / "merges.txt").write_text("", encoding="utf-8")
        draw.write_text(model / "vocab.json", json.dumps(ids))
    elif attack == "index":
        (model / "model.safetensors").rename(model / "part.safetensors")
        name = rng.choice(["part.safetensors", "../outside/secret.txt", "/etc/passwd", "part.bin", draw.text(rng)[:50]])
        draw.write_text(
            model / "model.safetensors.index.json",
            draw.json_text(rng, {"weight_map": {"transformer.wte.weight": name}}),
        )
    elif attack == "sizes":
        values = json.loads((model / "config.json").read_text(encoding="utf-8"))
        numbers = [key for key, value in values.items() if isinstance(value, int)]
        values[rng.choice(numbers)] = rng.choice([0, -1, 1 << 20, (1 << 31) - 1, 1 << 40, 10**300, 0.5, None])
        _json(model / "config.json", values)
    elif attack == "scores" and (model / "tokenizer.json").exists():
        values = json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))
        score = rng.choice([-1e300, 10**90, 10**400, float("nan"), float("inf"), True, None, "-1", -3.5e38, 3.3e38])
        if values["model"]["type"] == "Unigram":
            rng.choice(values["model"]["vocab"])[1] = score
        values["normalizer"]["normalizers"] = rng.choice([5, None, [], {}, "x", [5], [None]])
        _json(model / "tokenizer.json", values)
    elif attack == "added":
        _json(model / "added_tokens.json", {draw.text(rng)[:30]: rng.choice([0, 5, 10**9, -3])})
        (model / "modeling_evil.py").write_text("open('../outside/secret.txt', 'w')\n", encoding="utf-8")
    else:
        draw.damage_bytes(rng, path)
    return Command(("import", "foreign", "out", *(["--labels", draw.text(rng)[:40]] if rng.random() < 0.1 else [])))


def _json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def _drawn(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)
