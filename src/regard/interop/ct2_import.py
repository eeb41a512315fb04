"""Imports CTranslate2 directories and Argos packages: encoder-decoder Transformers in any of CTranslate2's precisions.

Positions that are stored become learned positions, unless they are regard's own sinusoids. Without a stored table CTranslate2 makes one,
which is made here in the same way.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.bundle.config import Languages
from regard.bundle.ctranslate2 import POSITIONS, sinusoids
from regard.bundle.manifest import reading
from regard.errors import BundleError
from regard.foreign import parse_json, read_bytes
from regard.interop.ct2_file import Ct2File
from regard.interop.foreign_config import ForeignConfig
from regard.interop.imported import ImportedModel, bundle_config, expected_shapes
from regard.interop.vocabularies import arranged
from regard.models.config import TransformerConfig
from regard.text.build import MODEL_BYTES, TokenizerPair
from regard.text.imported import ImportedSentencePiece

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ACTIVATIONS = {0: "relu", 1: "gelu_tanh", 2: "silu", 3: "gelu"}
_GATED = {1: "geglu", 2: "swiglu"}
_HARMLESS = (
    *("alignment_heads", "alignment_layer", "embeddings_merge", "alibi_use_positive_positions"),
    *("num_heads", "pre_norm", "activation", "scale_embeddings", "start_from_zero_embedding", "scale_alibi"),
    *("alibi", "multi_query_attention", "relative_attention_max_distance"),
)
_ABSENT = ("alibi", "multi_query_attention", "rotary_dim", "sliding_window", "num_heads_kv", "parallel_residual")
"""Variables whose networks regard does not have, where they are not zero."""


def import_ctranslate2(directory: Path, spm: tuple[Path, Path], languages: Languages) -> ImportedModel:
    """The translator in a directory of CTranslate2. spm: the sentencepiece models of the source and the target."""
    import torch

    file, config = Ct2File(directory), ForeignConfig.read(directory / "config.json")
    vocabularies = [_vocabulary(directory, side) for side in ("source", "target")]
    names = ["encoder/embeddings_0/weight", "decoder/embeddings/weight", "decoder/projection/weight"]
    if names[0] not in file:
        names[0] = "encoder/embeddings/weight"
    width = file.size(names[1], -1)
    for name, pieces in zip(names, (*vocabularies, vocabularies[1]), strict=True):
        if file.shape(name) != (len(pieces), width):
            raise BundleError(
                f"{file.path}: {name} is {list(file.shape(name))}, the vocabulary has {len(pieces)} pieces"
            )
    arrangements = [_arranged(config, pieces) for pieces in vocabularies]
    tied = file.variable(names[2]) == file.variable(names[1])
    models = [_spm(path) for path in spm]
    one_table = file.variable(names[0]) == file.variable(names[1]) and tied
    joint = one_table and arrangements[0] == arrangements[1] and models[0] == models[1]
    tables = [_positions(file, side, width) for side in ("encoder", "decoder")]
    settings = {**_settings(file, config, tables), "tie": tied}
    sizes = (len(vocabularies[0]) + 1, len(vocabularies[1]) + 1)
    bundle = bundle_config(config.path, settings, sizes, joint, languages)
    model, expected = bundle.model, expected_shapes(bundle)
    assert isinstance(model, TransformerConfig)
    arrays: dict[str, NDArray[np.float32]] = {}
    for name, where, rows in _sources(model):
        whole = file.read(where, (rows[1], *expected[name][1:])) if where in file else None
        if whole is None and not name.endswith(".bias"):
            file.shape(where)  # says what is missing
        arrays[name] = _zeros(expected[name]) if whole is None else whole[rows[0] : rows[0] + expected[name][0]]
    vectors = [file.read(name, file.shape(name)) for name in names]
    tensors = {name: torch.from_numpy(values.copy()) for name, values in arrays.items()}
    starts_from_zero = bool(file.number("decoder/start_from_zero_embedding", 0))
    for place, side in enumerate(("source", "target")):
        if f"{side}.embedding.weight" in expected:
            table = arrangements[place].embeddings(torch.from_numpy(vectors[place]))
            if starts_from_zero:
                table[-1] = 0.0
            tensors[f"{side}.embedding.weight"] = table
        if model.positions == "learned":
            tensors[f"{side}.positions.table"] = torch.from_numpy(tables[place].copy())
    if not tied:
        tensors["output"] = arrangements[1].outputs(torch.from_numpy(vectors[2]))
    if model.output_bias:
        bias = torch.from_numpy(file.read("decoder/projection/bias", (len(vocabularies[1]),)))
        tensors["output_bias"] = arrangements[1].outputs(bias)
    file.refuse_unused(_HARMLESS)
    one = ImportedSentencePiece(models[0], arrangements[0].record)
    other = one if joint else ImportedSentencePiece(models[1], arrangements[1].record)
    return ImportedModel(bundle, tensors, TokenizerPair(one, other, joint=joint))


def _settings(file: Ct2File, config: ForeignConfig, tables: "list[NDArray[np.float32]]") -> dict[str, Any]:
    """The settings of our network. Refused is what it does not have."""
    config.expect("add_source_bos", False, False)
    for side in ("encoder", "decoder"):
        other = next((name for name in _ABSENT if file.number(f"{side}/{name}", 0) not in (0, -1)), None)
        if other is not None or f"{side}/layer_0/self_attention/rotary_dim" in file:
            raise BundleError(f"{file.path}: {other or 'rotary_dim'} belongs to a network that cannot be imported")
    if "encoder/layer_0/self_attention/relative_attention_bias" in file:
        raise BundleError(
            f"{file.path}: relative positions cannot be imported from CTranslate2; import the model it was made of"
        )
    activation, gated = file.number("encoder/activation", 0), "encoder/layer_0/ffn/linear_0_noact/weight" in file
    names = _GATED if gated else _ACTIVATIONS
    if activation not in names:
        raise BundleError(f"{file.path}: activation {activation} is not one of {', '.join(map(str, names))}")
    layers = [
        next(n for n in range(1 << 10) if f"{side}/layer_{n}/ffn/linear_0/weight" not in file)
        for side in ("encoder", "decoder")
    ]
    ours = all(table.shape[0] == POSITIONS and (table == sinusoids(*table.shape)).all() for table in tables)
    return {
        "layers": layers[0],
        "decoder_layers": layers[1],
        "width": file.size("decoder/embeddings/weight", -1),
        "heads": file.number("encoder/num_heads", 8),
        "feed_forward": file.size("encoder/layer_0/ffn/linear_0/weight", 0),
        "norm": "pre" if file.number("encoder/pre_norm", 1) else "post",
        "norm_kind": "layer" if "encoder/layer_0/ffn/layer_norm/beta" in file else "rms",
        "norm_epsilon": config.get("layer_norm_epsilon", float, 1e-5),
        "embedding_norm": "encoder/layernorm_embedding/gamma" in file,
        "scale_embedding": bool(file.number("encoder/scale_embeddings", 1)),
        "positions": "sinusoidal" if ours else "learned",
        "max_positions": min(len(table) for table in tables),
        "activation": names[activation],
        "output_bias": "decoder/projection/bias" in file,
        "source_end": config.get("add_source_eos", bool, False),
    }


def _sources(model: TransformerConfig) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """(our name, their variable, (our first row there, all its rows)) of each tensor of the blocks and norms."""
    width, inner = model.width, model.feed_forward
    gated = model.activation in ("swiglu", "geglu")
    for side, depth in zip(("encoder", "decoder"), model.depth, strict=True):
        norms = [(f"{side}_norm", f"{side}/layer_norm")] if model.norm == "pre" else []
        if model.embedding_norm:
            norms.append((f"{'source' if side == 'encoder' else 'target'}.norm", f"{side}/layernorm_embedding"))
        for number in range(depth):
            ours, theirs = f"{side}.{number}", f"{side}/layer_{number}"
            linear = [
                (f"{ours}.mixer.{part}", f"{theirs}/self_attention/linear_0", place * width, 3 * width)
                for place, part in enumerate(("query", "key", "value"))
            ]
            linear.append((f"{ours}.mixer.output", f"{theirs}/self_attention/linear_1", 0, width))
            norms.append((f"{ours}.around_mixer.norm", f"{theirs}/self_attention/layer_norm"))
            if side == "decoder":
                cross = f"{theirs}/attention"
                linear += [
                    (f"{ours}.cross.query", f"{cross}/linear_0", 0, width),
                    (f"{ours}.cross.key", f"{cross}/linear_1", 0, 2 * width),
                    (f"{ours}.cross.value", f"{cross}/linear_1", width, 2 * width),
                    (f"{ours}.cross.output", f"{cross}/linear_2", 0, width),
                ]
                norms.append((f"{ours}.around_cross.norm", f"{cross}/layer_norm"))
            linear.append((f"{ours}.feed_forward.{'gate' if gated else 'up'}", f"{theirs}/ffn/linear_0", 0, inner))
            if gated:
                linear.append((f"{ours}.feed_forward.up", f"{theirs}/ffn/linear_0_noact", 0, inner))
            linear.append((f"{ours}.feed_forward.down", f"{theirs}/ffn/linear_1", 0, width))
            norms.append((f"{ours}.around_feed_forward.norm", f"{theirs}/ffn/layer_norm"))
            for name, where, first, rows in linear:
                yield f"{name}.weight", f"{where}/weight", (first, rows)
                yield f"{name}.bias", f"{where}/bias", (first, rows)
        for name, where in norms:
            yield f"{name}.weight", f"{where}/gamma", (0, width)
            if model.norm_kind == "layer":
                yield f"{name}.bias", f"{where}/beta", (0, width)


def _positions(file: Ct2File, side: str, width: int) -> "NDArray[np.float32]":
    """[P, D]: the stored table, or the one that CTranslate2 makes: positions from 1, in halves."""
    import numpy as np

    name = f"{side}/position_encodings/encodings"
    if name in file:
        return file.read(name, (file.size(name, 0), width))
    step = np.log(10000.0) / (width // 2 - 1)
    angles = np.arange(1, POSITIONS + 1)[:, None] * np.exp(-step * np.arange(width // 2))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


def _zeros(shape: tuple[int, ...]) -> "NDArray[np.float32]":
    import numpy as np

    return np.zeros(shape, np.float32)


def _arranged(config: ForeignConfig, pieces: list[str]) -> Any:
    """The arrangement of a vocabulary, by the marks of the config."""
    places = {}
    for key, default in (("eos_token", "</s>"), ("unk_token", "<unk>"), ("decoder_start_token", "<s>")):
        mark = config.get(key, str, default)
        if mark not in pieces:
            raise config.refused(key, "no such piece in the vocabulary")
        places[key] = pieces.index(mark)
    return arranged(
        str(config.path),
        pieces,
        end=places["eos_token"],
        unknown=places["unk_token"],
        start=places["decoder_start_token"],
        barred=None,
        silent=[piece for piece in ("</s>", "<unk>", "<s>", "<blank>", "<pad>") if piece in pieces],
    )


def _vocabulary(directory: Path, side: str) -> list[str]:
    """The pieces of one side, from JSON or a line for each."""
    for name in (
        f"{side}_vocabulary.json",
        "shared_vocabulary.json",
        f"{side}_vocabulary.txt",
        "shared_vocabulary.txt",
    ):
        path = directory / name
        if not path.exists():
            continue
        with reading(path):
            text = read_bytes(path, MODEL_BYTES, root=directory).decode("utf-8", "replace")
        pieces = (
            parse_json(text, path, limit=MODEL_BYTES) if path.suffix == ".json" else text.removesuffix("\n").split("\n")
        )
        if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
            raise BundleError(f"{path}: not a list of pieces; copy it again")
        return pieces
    raise BundleError(f"{directory}: no {side}_vocabulary.json and no shared_vocabulary.json; copy it again")


def _spm(path: Path) -> bytes:
    with reading(path):
        return read_bytes(path, MODEL_BYTES, root=path.parent)
