"""Converts a bundle into a CTranslate2 model directory, in float32 or int8, and caches it. bfloat16 is made of float32 when it is loaded.

The converted vocabulary has no pad, so that pad gets no probability. The decoder starts from a zero embedding, which equals the embedding
of our pad. An imported model may start from another vector: then pad is in the vocabulary, and its output bias is -1e9.
Any program that uses CTranslate2 can read the directory.

Shapes: V pieces without pad, D width, P positions.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, assert_never

from regard.activity import activity
from regard.bundle.config import AlignmentConfig, BundleSettings
from regard.bundle.ct2_alignment import AttendedHeads, attended_heads, put_first
from regard.bundle.int8 import quantised
from regard.bundle.manifest import verify_manifest, write_manifest
from regard.bundle.opened import OpenBundle
from regard.bundle.precision import Precision
from regard.bundle.quantised import as_scales, is_quantised
from regard.bundle.shortlist import has_shortlist, read_shortlist
from regard.bundle.weights import numpy_weights, stored_arrays
from regard.cache import locked, locked_entry, mark_used, new_entry, prune, remove_stale
from regard.errors import BundleError, EngineError
from regard.files import cache_directory, disk_errors, remove_whole
from regard.models.config import ModelConfig, TransformerConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Tensors = Mapping[str, NDArray[np.float32]]

POSITIONS = 4096  # rows of the table of sinusoids, which CTranslate2 needs to be finite
_LAYOUT = 5  # version of the conversion; raise it to invalidate the cache
_NEVER = -1e9  # the output bias of a piece that is never generated
_LONGEST_DISTANCE = 128  # of `layers.positions.RelativeBias`


def obstacle(model: ModelConfig) -> str | None:
    """The reason why CTranslate2 cannot run such a network; None: it can."""
    if not isinstance(model, TransformerConfig):
        return f"it has no networks of model.kind {getattr(model, 'kind', None)!r}"
    other = next((name for side in model.mixers for name in side if name != "attention"), None)
    if other is not None:
        return f"it has no model.mixer {other!r}, only attention"
    if model.norm_kind not in ("layer", "rms"):
        return f"it has no model.norm_kind {model.norm_kind!r}, only layer and rms"
    if model.score != "scaled_dot":
        return f"it has no model.score {model.score!r}, only scaled_dot"
    if model.copies:
        return "it has no copy mechanism, model.copy = true"
    if find_spec("ctranslate2") is None:
        return "the package ctranslate2 is not installed (pip install ctranslate2)"
    return None


def reach(config: BundleSettings) -> int:
    """The longest sequence that a converted model has positions for, end mark included."""
    return config.reach or POSITIONS


def shown_heads(bundle: OpenBundle) -> AttendedHeads:
    """The heads whose attention the converted model shows: those by which the bundle aligns, or else the first of the last layer."""
    model = bundle.config.model
    assert isinstance(model, TransformerConfig)  # `obstacle` refuses all others
    chosen = attended_heads(getattr(bundle.config, "alignment", None) or AlignmentConfig(), model)
    return AttendedHeads(model.depth[1] - 1, (0,)) if isinstance(chosen, str) else chosen


def converted(
    bundle: OpenBundle, precision: Precision, lock: ExitStack | None = None, shown: AttendedHeads | None = None
) -> Path:
    """The directory of the converted bundle in the cache; converts it if it is missing or damaged.

    With `lock`, nobody prunes it until that is closed. shown: the heads whose attention it shows, by default `shown_heads`.
    """
    import ctranslate2

    home = cache_directory() / "ctranslate2"
    stored: Literal["float32", "int8"] = "int8" if precision == "int8" else "float32"
    name = f"{bundle.files.identity[:32]}-{stored}-{ctranslate2.__version__}-{_LAYOUT}"
    if shown is not None and shown != shown_heads(bundle):
        name += f"-{shown.layer}-{'.'.join(map(str, shown.heads))}"
    path = home / name
    with locked_entry(path, "waiting for another process that converts the model for CTranslate2"):
        if not _is_sound(path):
            remove_whole(path)
            remove_stale(home)
            with (
                activity("converting the model for CTranslate2"),
                ExitStack() as writing,
                new_entry(path, writing) as staging,
            ):
                convert(bundle, stored, staging, shown)
                write_manifest(staging)
            prune(home, keep=path)
        mark_used(path)
        if lock is not None:
            lock.enter_context(locked(path, shared=True))
    return path


def convert(
    bundle: OpenBundle, precision: Literal["float32", "int8"], directory: Path, shown: AttendedHeads | None = None
) -> None:
    """Write the model's files into an existing directory. A quantised bundle has int8 alone, whatever the precision.

    shown: the heads whose attention it shows, by default `shown_heads`.
    """
    model, why = bundle.config.model, obstacle(bundle.config.model)
    if why is not None:
        raise EngineError(f"{bundle.directory}: cannot be converted for CTranslate2: {why}; use the torch engine")
    assert isinstance(model, TransformerConfig)  # `obstacle` refuses all others
    shown = shown or shown_heads(bundle)
    spec = _spec(model, shown)
    has_start_vector = _fill(spec, numpy_weights(bundle), bundle, model, shown)
    source, target = bundle.tokenizers.source.vocabulary, bundle.tokenizers.target.vocabulary
    pieces = target.pieces if has_start_vector else target.pieces[:-1]
    spec.register_source_vocabulary(list(pieces if bundle.tokenizers.joint else source.pieces[:-1]))
    spec.register_target_vocabulary(list(pieces))
    config = spec.config
    config.unk_token, config.bos_token, config.eos_token = target.marks.unknown, target.marks.end, target.marks.end
    config.decoder_start_token = target.marks.pad if has_start_vector else target.marks.end
    config.add_source_eos, config.layer_norm_epsilon = model.source_end, model.norm_epsilon
    if is_quantised(bundle.files):
        _restore_whole_numbers(spec, bundle, model, shown)
    elif precision == "int8":
        for layer in _products(spec):
            layer.weight, layer.weight_scale = quantised(layer.weight)
    spec.validate()
    spec.optimize()
    with disk_errors(directory):
        spec.save(str(directory))
        if has_shortlist(bundle) and mappable(bundle):
            (directory / "vmap.txt").write_text(_vocabulary_map(bundle), encoding="utf-8")


def _restore_whole_numbers(spec: Any, bundle: OpenBundle, model: TransformerConfig, shown: AttendedHeads) -> None:
    """Make the whole numbers and scales that a quantised bundle stores of the weights that they stand for."""
    import numpy as np

    scales = _spec(model, shown)  # filled in the same way: what is joined and cut of the weights is so of their scales
    _fill(scales, as_scales(stored_arrays(bundle)), bundle, model, shown)
    for layer, scale in zip(_products(spec), _products(scales), strict=True):
        own = np.where(scale.weight == 0.0, 1.0, scale.weight).astype(np.float32)
        layer.weight, layer.weight_scale = np.rint(layer.weight * own).astype(np.int8), own[:, 0]


def mappable(bundle: OpenBundle) -> bool:
    """Whether the file of CTranslate2's vocabulary map can hold the bundle's pieces: spaces and tabs separate them there."""
    pieces = {*bundle.tokenizers.source.vocabulary.pieces, *bundle.tokenizers.target.vocabulary.pieces}
    return not any(piece != "".join(piece.split()) for piece in pieces)


def _vocabulary_map(bundle: OpenBundle) -> str:
    """The shortlist as CTranslate2 reads it: source piece, tab, candidates. The line of no source piece has those of every sentence."""
    shortlist = read_shortlist(bundle)
    sources, targets = bundle.tokenizers.source.vocabulary.pieces, bundle.tokenizers.target.vocabulary.pieces
    rows = [("", shortlist.always), *zip(sources, shortlist.pieces, strict=True)]
    return "".join(f"{piece}\t{' '.join(targets[place] for place in own)}\n" for piece, own in rows if own)


def _is_sound(path: Path) -> bool:
    """Whether a conversion is there and undamaged. A `ResourceError` passes: it may be sound."""
    try:
        verify_manifest(path, ("model.bin", "config.json"))
    except BundleError:
        return False
    return True


def _spec(model: TransformerConfig, shown: AttendedHeads) -> Any:
    """CTranslate2's specification of the network, without weights."""
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.transformer_spec import TransformerDecoderSpec, TransformerEncoderSpec

    activation, gated = _activation(model.activation)
    options: dict[str, Any] = {
        "pre_norm": model.norm == "pre",
        "activation": activation,
        "ffn_glu": gated,
        "relative_attention_bias": model.positions == "relative",
        "rotary_dim": 0 if model.positions == "rotary" else None,  # all of a head
        "rotary_interleave": False,
        "rms_norm": model.norm_kind == "rms",
        "layernorm_embedding": model.embedding_norm,
    }
    encoder = TransformerEncoderSpec(model.depth[0], model.heads, **options)
    decoder = TransformerDecoderSpec(
        model.depth[1], model.heads, alignment_layer=shown.layer, alignment_heads=len(shown.heads), **options
    )
    if model.positions == "rotary":
        del encoder.position_encodings  # not used, but validation expects a table
    for part in (encoder, decoder):
        part.scale_embeddings = model.scale_embedding
    return TransformerSpec(encoder, decoder)


def _activation(name: str) -> tuple[Any, bool]:
    """(CTranslate2's activation, whether it is gated)."""
    from ctranslate2.specs import Activation

    table = {
        "relu": (Activation.RELU, False),
        "gelu": (Activation.GELU, False),
        "gelu_tanh": (Activation.GELUTanh, False),
        "silu": (Activation.SWISH, False),
        "swiglu": (Activation.SWISH, True),
        "geglu": (Activation.GELUTanh, True),
    }
    return table[name]


def _fill(spec: Any, tensors: "Tensors", bundle: OpenBundle, model: TransformerConfig, shown: AttendedHeads) -> bool:
    """Set the weights. Returns whether the decoder starts from the vector of pad, because that is not zero."""
    import numpy as np

    joint = bundle.config.vocabulary.joint
    target = tensors["target.embedding.weight"]
    source = target if joint and model.tie else tensors["source.embedding.weight"]
    output = target[:-1] if model.tie else tensors["output"]
    bias = tensors["output_bias"] if model.output_bias else None
    has_start_vector = bool(target[-1].any())
    if has_start_vector:
        output = np.concatenate([output, np.zeros_like(output[:1])])
        bias = np.append(np.zeros(len(target) - 1, np.float32) if bias is None else bias, np.float32(_NEVER))
    spec.encoder.embeddings[0].weight = source if has_start_vector and joint else source[:-1]
    spec.decoder.embeddings.weight = target if has_start_vector else target[:-1]
    spec.decoder.projection.weight = output
    if bias is not None:
        spec.decoder.projection.bias = bias
    spec.decoder.start_from_zero_embedding = not has_start_vector
    for front, stack, part in (("source", "encoder", spec.encoder), ("target", "decoder", spec.decoder)):
        _positions(part, tensors, front, stack, model)
    for name, part in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        if model.norm == "pre":
            _norm(part.layer_norm, tensors, f"{name}_norm")
        if model.embedding_norm:
            _norm(part.layernorm_embedding, tensors, f"{'source' if name == 'encoder' else 'target'}.norm")
        for number, layer in enumerate(part.layer):
            _block(layer, tensors, f"{name}.{number}", has_cross=name == "decoder")
    put_first(spec.decoder.layer[shown.layer].attention, shown.heads, model.heads)
    return has_start_vector


def _positions(spec: Any, tensors: "Tensors", front: str, stack: str, model: TransformerConfig) -> None:
    import numpy as np

    if model.positions == "sinusoidal":
        spec.position_encodings.encodings = sinusoids(POSITIONS, model.width)
    elif model.positions == "learned":
        spec.position_encodings.encodings = tensors[f"{front}.positions.table"]
    elif model.positions == "relative":
        for layer in spec.layer:
            layer.self_attention.relative_attention_bias = tensors[f"{stack}_bias.table"]
            layer.self_attention.relative_attention_max_distance = np.int32(_LONGEST_DISTANCE)
    elif model.positions != "rotary":
        assert_never(model.positions)


def _block(spec: Any, tensors: "Tensors", name: str, *, has_cross: bool) -> None:
    own = spec.self_attention
    _linear(own.linear[0], tensors, *(f"{name}.mixer.{part}" for part in ("query", "key", "value")))
    _linear(own.linear[1], tensors, f"{name}.mixer.output")
    _norm(own.layer_norm, tensors, f"{name}.around_mixer.norm")
    if has_cross:
        _linear(spec.attention.linear[0], tensors, f"{name}.cross.query")
        _linear(spec.attention.linear[1], tensors, f"{name}.cross.key", f"{name}.cross.value")
        _linear(spec.attention.linear[2], tensors, f"{name}.cross.output")
        _norm(spec.attention.layer_norm, tensors, f"{name}.around_cross.norm")
    gated = hasattr(spec.ffn, "linear_0_noact")
    _linear(spec.ffn.linear_0, tensors, f"{name}.feed_forward.{'gate' if gated else 'up'}")
    if gated:
        _linear(spec.ffn.linear_0_noact, tensors, f"{name}.feed_forward.up")
    _linear(spec.ffn.linear_1, tensors, f"{name}.feed_forward.down")
    _norm(spec.ffn.layer_norm, tensors, f"{name}.around_feed_forward.norm")


def _linear(spec: Any, tensors: "Tensors", *names: str) -> None:
    """Fill one linear layer, or several of the same input, concatenated."""
    import numpy as np

    spec.weight = np.concatenate([tensors[f"{name}.weight"] for name in names])
    spec.bias = np.concatenate([tensors[f"{name}.bias"] for name in names])


def _products(spec: Any) -> Iterator[Any]:
    """The layers whose weights may have 8 bits: embeddings and products."""
    yield from (spec.encoder.embeddings[0], spec.decoder.embeddings, spec.decoder.projection)
    for part in (spec.encoder, spec.decoder):
        for layer in part.layer:
            yield from layer.self_attention.linear
            if part is spec.decoder:
                yield from layer.attention.linear
            yield from (layer.ffn.linear_0, layer.ffn.linear_1)
            if hasattr(layer.ffn, "linear_0_noact"):
                yield layer.ffn.linear_0_noact


def _norm(spec: Any, tensors: "Tensors", name: str) -> None:
    spec.gamma = tensors[f"{name}.weight"]
    if hasattr(spec, "beta"):  # RMS norm has no bias
        spec.beta = tensors[f"{name}.bias"]


def sinusoids(positions: int, width: int) -> "NDArray[np.float32]":
    """[P, D]: the table of `ops.positions.sinusoidal`, without torch."""
    import numpy as np

    frequencies = 10000.0 ** (-2.0 * np.arange(width // 2) / width)
    angles = np.arange(positions)[:, None] * frequencies
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
