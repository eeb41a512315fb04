"""Writes a language model as a directory of Hugging Face's `transformers`: with learned positions as GPT-2, with rotary ones as GPT-NeoX.

Both have pre-norm blocks one after the other, as regard has them. Their vocabulary has no padding: the token that a text begins with is the
unknown mark, which no text contains, with the vector of our start token. So the logits are ours, one by one. The output is never tied,
because embeddings are scaled and outputs are not.

Shapes: V outputs, D width, H heads, d head width.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.bundle.bundle import read_weights
from regard.bundle.opened import OpenBundle
from regard.bundle.tensors import write_tensors
from regard.bundle.weights import WEIGHTS
from regard.errors import BundleError
from regard.files import disk_errors, to_json
from regard.interop.names import ACTIVATIONS
from regard.interop.tokenizer_json import tokenizer_json
from regard.models.config import LanguageTransformerConfig
from regard.text.vocabulary import END, UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from torch import Tensor

_TYPES = {"learned": "gpt2", "rotary": "gpt_neox"}
_ROTARY_BASE = 10_000.0


def check_language_model(bundle: OpenBundle) -> None:
    """Refuse a network or tokenizer that neither GPT-2 nor GPT-NeoX has, with the setting to train with."""
    why = _obstacle(bundle.config.model)
    kind = bundle.tokenizers.target.kind
    if why is None and kind not in ("bpe", "unigram", "char"):
        why = f"text.kind {kind!r} has no form in tokenizer.json; train with text.kind = 'bpe'"
    if why is not None:
        raise BundleError(f"{bundle.directory}: cannot be exported to Hugging Face: {why}")


def _obstacle(model: Any) -> str | None:
    """Why neither GPT-2 nor GPT-NeoX is such a network; None: one of them is."""
    if not isinstance(model, LanguageTransformerConfig):
        return f"it has no language model of model.kind {getattr(model, 'kind', None)!r}; train with model.kind = 'transformer'"
    if model.positions not in _TYPES:
        return f"GPT-2 and GPT-NeoX have no {model.positions} positions; train with model.positions = 'rotary'"
    other = next((name for name in model.mixers[1] if name != "attention"), None)
    if other is not None:
        return f"GPT-2 and GPT-NeoX have no model.mixer {other!r}; train with model.mixer = 'attention'"
    expected = {"score": "scaled_dot", "norm": "pre", "norm_kind": "layer", "embedding_norm": False}
    for name, value in expected.items():
        own = getattr(model, name)
        if own != value:
            wanted = f"{value!r}" if isinstance(value, str) else str(value).lower()
            return f"GPT-2 and GPT-NeoX have no model.{name} {own!r}; train with model.{name} = {wanted}"
    if model.activation not in ACTIVATIONS:
        return f"GPT-2 and GPT-NeoX have no model.activation {model.activation!r}; train with model.activation = 'gelu'"
    return None


def write_language_model(bundle: OpenBundle, directory: Path) -> None:
    """Write config, weights and tokenizer into an existing directory."""
    model: LanguageTransformerConfig = bundle.config.model
    tokenizer = bundle.tokenizers.target
    outputs = tokenizer.vocabulary.pad
    write_tensors(directory / WEIGHTS, _tensors(bundle, model, outputs))
    marks = {"bos_token_id": Vocabulary.UNK, "eos_token_id": Vocabulary.EOS, "pad_token_id": Vocabulary.EOS}
    config = {**_config(model, outputs, bundle.config.texts.context), **marks}
    generation = {**marks, "suppress_tokens": [Vocabulary.UNK], "max_length": bundle.config.texts.context}
    names = {"bos_token": UNKNOWN, "eos_token": END, "unk_token": UNKNOWN, "pad_token": END}
    special = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "attention_mask"],
        "model_max_length": bundle.config.texts.context,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,
        "padding_side": "left",
        **names,
    }
    contents = {
        "config.json": config,
        "generation_config.json": generation,
        "tokenizer.json": tokenizer_json(tokenizer, language_model=True),
        "tokenizer_config.json": special,
    }
    with disk_errors(directory):
        for name, content in contents.items():
            (directory / name).write_text(to_json(content), encoding="utf-8")


def _config(model: LanguageTransformerConfig, outputs: int, context: int) -> dict[str, Any]:
    layers = model.depth[1]
    both = {"vocab_size": outputs, "tie_word_embeddings": False, "dtype": "float32", "use_cache": True}
    if model.positions == "learned":
        return {
            "architectures": ["GPT2LMHeadModel"],
            "model_type": "gpt2",
            "n_embd": model.width,
            "n_layer": layers,
            "n_head": model.heads,
            "n_inner": model.feed_forward,
            "n_positions": model.max_positions,
            "activation_function": ACTIVATIONS[model.activation],
            "layer_norm_epsilon": model.norm_epsilon,
            **dict.fromkeys(("resid_pdrop", "embd_pdrop"), model.dropout),
            "attn_pdrop": 0.0,
            **both,
        }
    return {
        "architectures": ["GPTNeoXForCausalLM"],
        "model_type": "gpt_neox",
        "hidden_size": model.width,
        "num_hidden_layers": layers,
        "num_attention_heads": model.heads,
        "intermediate_size": model.feed_forward,
        "max_position_embeddings": context,
        "hidden_act": ACTIVATIONS[model.activation],
        "layer_norm_eps": model.norm_epsilon,
        "rotary_pct": 1.0,  # as versions before 5 read it
        "rotary_emb_base": _ROTARY_BASE,
        "rope_parameters": {"rope_type": "default", "rope_theta": _ROTARY_BASE, "partial_rotary_factor": 1.0},
        "use_parallel_residual": False,
        "attention_bias": True,
        "hidden_dropout": model.dropout,
        "attention_dropout": 0.0,
        **both,
    }


def _tensors(bundle: OpenBundle, model: LanguageTransformerConfig, outputs: int) -> "dict[str, Tensor]":
    ours = read_weights(bundle)
    table = ours["target.embedding.weight"]
    embedding = table[:outputs].clone()
    embedding[Vocabulary.UNK] = table[outputs]  # what every text begins with
    if model.scale_embedding:
        embedding *= model.width**0.5
    output = table[:outputs] if model.tie else ours["output"]
    write = _gpt2 if model.positions == "learned" else _gpt_neox
    return {name: tensor.float() for name, tensor in write(ours, model, embedding, output).items()}


def _gpt2(
    ours: "dict[str, Tensor]", model: LanguageTransformerConfig, embedding: "Tensor", output: "Tensor"
) -> "dict[str, Tensor]":
    """The names of GPT-2, whose matrices are transposed."""
    import torch

    tensors = {
        "transformer.wte.weight": embedding,
        "transformer.wpe.weight": ours["target.positions.table"],
        "lm_head.weight": output,
        **_named(ours, "transformer.ln_f", "decoder_norm"),
    }
    for number in range(model.depth[1]):
        own, theirs = f"decoder.{number}", f"transformer.h.{number}"
        joined = {
            kind: torch.cat([ours[f"{own}.mixer.{part}.{kind}"] for part in ("query", "key", "value")])
            for kind in ("weight", "bias")
        }
        tensors |= {f"{theirs}.attn.c_attn.{kind}": tensor for kind, tensor in joined.items()}
        tensors |= _named(ours, f"{theirs}.attn.c_proj", f"{own}.mixer.output")
        tensors |= _named(ours, f"{theirs}.mlp.c_fc", f"{own}.feed_forward.up")
        tensors |= _named(ours, f"{theirs}.mlp.c_proj", f"{own}.feed_forward.down")
        for name in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"):
            tensors[f"{theirs}.{name}.weight"] = tensors[f"{theirs}.{name}.weight"].T
        tensors |= _named(ours, f"{theirs}.ln_1", f"{own}.around_mixer.norm")
        tensors |= _named(ours, f"{theirs}.ln_2", f"{own}.around_feed_forward.norm")
    return tensors


def _gpt_neox(
    ours: "dict[str, Tensor]", model: LanguageTransformerConfig, embedding: "Tensor", output: "Tensor"
) -> "dict[str, Tensor]":
    """The names of GPT-NeoX, which has query, key and value of a head one after the other: [H, 3, d]."""
    import torch

    tensors = {
        "gpt_neox.embed_in.weight": embedding,
        "embed_out.weight": output,
        **_named(ours, "gpt_neox.final_layer_norm", "decoder_norm"),
    }
    for number in range(model.depth[1]):
        own, theirs = f"decoder.{number}", f"gpt_neox.layers.{number}"
        for kind in ("weight", "bias"):
            parts = [ours[f"{own}.mixer.{part}.{kind}"] for part in ("query", "key", "value")]
            by_head = [part.view(model.heads, -1, *part.shape[1:]) for part in parts]
            tensors[f"{theirs}.attention.query_key_value.{kind}"] = torch.stack(by_head, dim=1).flatten(0, 2)
        tensors |= _named(ours, f"{theirs}.attention.dense", f"{own}.mixer.output")
        tensors |= _named(ours, f"{theirs}.mlp.dense_h_to_4h", f"{own}.feed_forward.up")
        tensors |= _named(ours, f"{theirs}.mlp.dense_4h_to_h", f"{own}.feed_forward.down")
        tensors |= _named(ours, f"{theirs}.input_layernorm", f"{own}.around_mixer.norm")
        tensors |= _named(ours, f"{theirs}.post_attention_layernorm", f"{own}.around_feed_forward.norm")
    return tensors


def _named(ours: "dict[str, Tensor]", theirs: str, own: str) -> "dict[str, Tensor]":
    """The weight and the bias of a module under their name."""
    return {f"{theirs}.{kind}": ours[f"{own}.{kind}"] for kind in ("weight", "bias")}
