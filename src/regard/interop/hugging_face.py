"""Writes a translator as a directory of Hugging Face's `transformers`: post-norm as Marian, pre-norm as Pegasus, its pre-norm sibling.

Both have sinusoidal positions in halves, as regard has them, and start from pad. Pad is never generated: its output bias is -1e9.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.bundle.bundle import read_weights
from regard.bundle.ctranslate2 import POSITIONS, sinusoids
from regard.bundle.opened import OpenBundle
from regard.bundle.tensors import write_tensors
from regard.bundle.weights import WEIGHTS
from regard.errors import BundleError
from regard.files import disk_errors, to_json
from regard.interop.names import ACTIVATIONS, stack_names
from regard.interop.sentencepiece import spm_of, write_spm_files
from regard.interop.tokenizer_json import tokenizer_json
from regard.models.config import TransformerConfig
from regard.text.vocabulary import END, PAD, UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from torch import Tensor

EPSILON = 1e-5
"""The epsilon of the norms of Marian and Pegasus."""
NEVER = -1e9
"""The output bias of a token that is never generated."""


def check_hugging_face(bundle: OpenBundle) -> None:
    """Refuse a network or tokenizer that neither Marian nor Pegasus has, with the setting to train with."""
    model, tokenizers = bundle.config.model, bundle.tokenizers
    why = _obstacle(model)
    if why is None and model.norm == "pre" and not (model.tie and tokenizers.joint):
        why = (
            "Pegasus, the pre-norm model, has one embedding for all; "
            "train with text.joint = true and model.tie = true, or with model.norm = 'post'"
        )
    if why is None and not tokenizers.joint and spm_of(tokenizers.source) is None:
        why = f"two tokenizers of text.kind {tokenizers.source.kind!r} have no form there; train with text.kind = 'bpe'"
    if why is None and tokenizers.source.kind == "sentencepiece":
        why = "it was imported, with the tokenizer of another program; export what you import from there"
    if why is None and tokenizers.source.kind == "word":
        why = "it has no tokenizer of words that spells others in bytes; train with text.kind = 'bpe'"
    if why is not None:
        raise BundleError(f"{bundle.directory}: cannot be exported to Hugging Face: {why}")


def _obstacle(model: Any) -> str | None:
    """Why neither Marian nor Pegasus is such a network; None: one of them is."""
    if not isinstance(model, TransformerConfig):
        return f"it has no translator of model.kind {getattr(model, 'kind', None)!r}; train with model.kind = 'transformer'"
    if model.copies:
        return "Marian and Pegasus have no copy mechanism; train with model.copy = false"
    if model.positions != "sinusoidal":
        return f"Marian and Pegasus have no {model.positions} positions; train with model.positions = 'sinusoidal'"
    other = next((name for side in model.mixers for name in side if name != "attention"), None)
    if other is not None:
        return f"Marian and Pegasus have no model.mixer {other!r}; train with model.mixer = 'attention'"
    if model.score != "scaled_dot":
        return f"Marian and Pegasus have no model.score {model.score!r}; train with model.score = 'scaled_dot'"
    if model.norm_epsilon != EPSILON:
        return f"Marian and Pegasus have no model.norm_epsilon {model.norm_epsilon}; train with {EPSILON}"
    if model.norm_kind != "layer":
        return f"Marian and Pegasus have no model.norm_kind {model.norm_kind!r}; train with model.norm_kind = 'layer'"
    if not model.source_end:
        return "Marian and Pegasus read the end mark of a source; train with model.source_end = true"
    if model.embedding_norm:
        return "Marian and Pegasus have no norm after the embeddings; train with model.embedding_norm = false"
    if model.activation not in ACTIVATIONS:
        return f"Marian and Pegasus have no model.activation {model.activation!r}; train with model.activation = 'silu'"
    return None


def write_hugging_face(bundle: OpenBundle, directory: Path) -> None:
    """Write config, weights and tokenizer into an existing directory."""
    sizes = (len(bundle.tokenizers.source.vocabulary), len(bundle.tokenizers.target.vocabulary))
    rows = max(sizes)  # pad is the last id on both sides: a smaller vocabulary gets rows that are never used
    write_tensors(directory / WEIGHTS, _tensors(bundle, rows))
    with disk_errors(directory):
        config, generation = _config(bundle, rows), _generation(rows)
        (directory / "config.json").write_text(to_json(config | generation), encoding="utf-8")
        (directory / "generation_config.json").write_text(to_json(generation), encoding="utf-8")
        _write_tokenizer(bundle, directory, rows)


def _config(bundle: OpenBundle, rows: int) -> dict[str, Any]:
    model: TransformerConfig = bundle.config.model
    encoder, decoder = model.depth
    pre = model.norm == "pre"
    shared = bundle.tokenizers.joint and model.tie
    own = {} if pre else {"decoder_vocab_size": rows, "share_encoder_decoder_embeddings": shared}
    return {
        "architectures": ["PegasusForConditionalGeneration" if pre else "MarianMTModel"],
        "model_type": "pegasus" if pre else "marian",
        "vocab_size": rows,
        "d_model": model.width,
        "encoder_layers": encoder,
        "decoder_layers": decoder,
        "encoder_attention_heads": model.heads,
        "decoder_attention_heads": model.heads,
        "encoder_ffn_dim": model.feed_forward,
        "decoder_ffn_dim": model.feed_forward,
        "activation_function": ACTIVATIONS[model.activation],
        "dropout": model.dropout,
        "activation_dropout": model.dropout,
        "attention_dropout": 0.0,
        "max_position_embeddings": POSITIONS,
        "scale_embedding": model.scale_embedding,
        "is_encoder_decoder": True,
        "tie_word_embeddings": model.tie,
        "use_cache": True,
        "dtype": "float32",
        **own,
    }


def _generation(rows: int) -> dict[str, Any]:
    """The marks of generation. The longest output is the caller's: `max_new_tokens`."""
    return {
        "bos_token_id": None,
        "eos_token_id": Vocabulary.EOS,
        "pad_token_id": rows - 1,
        "decoder_start_token_id": rows - 1,
        "forced_eos_token_id": None,
        "max_length": 512,
        "num_beams": 1,
    }


def _tensors(bundle: OpenBundle, rows: int) -> "dict[str, Tensor]":
    import torch

    model: TransformerConfig = bundle.config.model
    ours = read_weights(bundle)
    target = _with_rows(ours["target.embedding.weight"], rows)
    tensors: dict[str, Tensor] = {}
    if bundle.tokenizers.joint and model.tie:
        tensors["model.shared.weight"] = target
    else:
        tensors["model.encoder.embed_tokens.weight"] = _with_rows(ours["source.embedding.weight"], rows)
        tensors["model.decoder.embed_tokens.weight"] = target
    if not model.tie:
        tensors["lm_head.weight"] = _with_rows(
            torch.cat([ours["output"], ours["output"].new_zeros(1, model.width)]), rows
        )
    bias, outputs = torch.zeros(1, rows), len(ours["target.embedding.weight"]) - 1
    if model.output_bias:
        bias[0, :outputs] = ours["output_bias"]
    bias[0, outputs:] = NEVER
    tensors["final_logits_bias"] = bias
    for side, depth in zip(("encoder", "decoder"), model.depth, strict=True):
        if model.norm == "pre":  # Marian makes the table itself; Pegasus reports it as missing
            tensors[f"model.{side}.embed_positions.weight"] = torch.from_numpy(sinusoids(POSITIONS, model.width))
        for theirs, own in stack_names(side, depth, last_norm=model.norm == "pre"):
            for kind in ("weight", "bias"):
                tensors[f"{theirs}.{kind}"] = ours[f"{own}.{kind}"]
    return {name: tensor.float() for name, tensor in tensors.items()}


def _with_rows(table: "Tensor", rows: int) -> "Tensor":
    """The table with so many rows. The last, pad, stays last; the rows between are zero."""
    import torch

    missing = rows - len(table)
    return torch.cat([table[:-1], table.new_zeros(missing, table.shape[1]), table[-1:]]) if missing else table


def _write_tokenizer(bundle: OpenBundle, directory: Path, rows: int) -> None:
    """A tokenizer of the library `tokenizers` for one vocabulary; Marian's own, of sentencepiece, for two."""
    tokenizers = bundle.tokenizers
    special: dict[str, Any] = {"eos_token": END, "unk_token": UNKNOWN, "pad_token": PAD, "model_max_length": POSITIONS}
    if tokenizers.joint:
        special |= {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_input_names": ["input_ids", "attention_mask"],
            "clean_up_tokenization_spaces": False,
            "split_special_tokens": True,  # `</s>` in a text is text
        }
        (directory / "tokenizer.json").write_text(to_json(tokenizer_json(tokenizers.source)), encoding="utf-8")
    else:
        languages = bundle.config.languages
        special |= {
            "tokenizer_class": "MarianTokenizer",
            "separate_vocabs": True,
            "source_lang": languages.source,
            "target_lang": languages.target,
        }
        write_spm_files(tokenizers, directory)
        for name, tokenizer in (("vocab", tokenizers.source), ("target_vocab", tokenizers.target)):
            ids = {piece: index for index, piece in enumerate(tokenizer.vocabulary.pieces[:-1])}
            (directory / f"{name}.json").write_text(to_json({**ids, PAD: rows - 1}), encoding="utf-8")
    (directory / "tokenizer_config.json").write_text(to_json(special), encoding="utf-8")
