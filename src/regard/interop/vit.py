"""Imports Hugging Face's Vision Transformer: patches, learned positions, a class token, pre-norm blocks.

A network without labels becomes a classifier that is still to be trained.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.bundle.pictures import PictureFormat
from regard.errors import BundleError, ConfigError
from regard.interop.foreign_config import ForeignConfig
from regard.interop.foreign_weights import ForeignWeights
from regard.interop.imported import ImportedModel, ImportOptions, expected_shapes, parsed
from regard.interop.labels import Labels, check_one_label, new_head, new_labels, stored_labels
from regard.interop.names import foreign_activation
from regard.tasks.classify_images.settings import ClassifyImagesBundle

if TYPE_CHECKING:
    from torch import Tensor

_PREFIX = "vit."
_OTHER_HEADS = ("pooler.dense.weight", "pooler.dense.bias", "embeddings.mask_token")
_BILINEAR = 2
"""Pillow's number of the filter that pictures are resized with, here and in regard."""


def import_vit(directory: Path, config: ForeignConfig, options: ImportOptions) -> ImportedModel:
    """The classifier of pictures in a directory of ViT, or a new one with the labels of the options."""
    from regard.data.images import label_order

    weights = ForeignWeights(directory)
    prefix = _PREFIX if f"{_PREFIX}embeddings.cls_token" in weights else ""
    width, trained = config.need("hidden_size", int), "classifier.weight" in weights
    if trained:
        outputs = weights.shape("classifier.weight")[0]
        weights.require("classifier.weight", (outputs, width))
        if options.labels:
            raise BundleError(f"{config.path}: it has labels of its own; leave --labels out")
        check_one_label(config, outputs)
        labels = stored_labels(config, outputs, label_order)
    else:
        labels = new_labels(config, options.labels, "an encoder without a head", "--images FOLDER", label_order)
    form = _pictures(directory, config)
    values = {"model": _settings(config), "labels": labels.names, "pictures": form.model_dump()}
    bundle = parsed(ClassifyImagesBundle, values, config.path)
    tensors = _tensors(weights, bundle, prefix, config, labels, trained=trained)
    weights.refuse_unused(_OTHER_HEADS)
    note = f"its labels {', '.join(labels.names)} are not trained yet: regard train --task classify --images FOLDER --start OUT"
    return ImportedModel(bundle, tensors, None, () if trained else (note,))


def _settings(config: ForeignConfig) -> dict[str, Any]:
    """The settings of our network. Refused is what it does not have."""
    return {
        "tokenizer": "patches",
        "patch": config.get("patch_size", int, 16),
        "layers": config.need("num_hidden_layers", int),
        "width": config.need("hidden_size", int),
        "heads": config.need("num_attention_heads", int),
        "feed_forward": config.need("intermediate_size", int),
        "dropout": config.get("hidden_dropout_prob", float, 0.0),
        "norm_epsilon": config.get("layer_norm_eps", float, 1e-12),
        "pooling": "class",
        "positions": "learned",
        "activation": foreign_activation(config, "hidden_act", "gelu"),
    }


def _pictures(directory: Path, config: ForeignConfig) -> PictureFormat:
    """The form of the pictures: the size of the config, the normalisation of the picture processor."""
    side = config.get("image_size", int, 224)
    processor = ForeignConfig.read_optional(directory / "preprocessor_config.json")
    processor.expect("do_normalize", True, True)
    processor.expect("do_rescale", True, True)
    processor.expect("do_center_crop", False, False, None)
    processor.expect("resample", _BILINEAR, _BILINEAR)
    size = processor.raw("size")
    sizes = [size] if not isinstance(size, dict) else [size.get("height"), size.get("width")]
    if size is not None and any(value != side for value in sizes):
        raise processor.refused("size", f"config.json has image_size {side}; save both again")
    channels = config.get("num_channels", int, 3)
    values: dict[str, Any] = {"height": side, "width": side, "channels": channels, "fit": "stretch"}
    for name, key in (("mean", "image_mean"), ("deviation", "image_std")):
        given = processor.raw(key)
        values[name] = [0.5] * min(channels, 3) if given is None else given
    return _parsed_form(values, processor)


def _parsed_form(values: dict[str, Any], processor: ForeignConfig) -> PictureFormat:
    """The form of pictures; a `BundleError` names a value that regard does not have."""
    try:
        return PictureFormat.parse(values, f"{processor.path}, as a form of pictures")
    except ConfigError as error:
        raise BundleError(str(error)) from None


def _names(depth: int, prefix: str, *, biased: bool) -> Iterator[tuple[str, str]]:
    """(their name, our name) of each tensor of the blocks. biased: queries, keys and values have a bias."""
    for number in range(depth):
        theirs, ours = f"{prefix}encoder.layer.{number}", f"encoder.{number}"
        for kind in ("weight", "bias"):
            if biased or kind == "weight":
                for part in ("query", "key", "value"):
                    yield f"{theirs}.attention.attention.{part}.{kind}", f"{ours}.mixer.{part}.{kind}"
            yield f"{theirs}.attention.output.dense.{kind}", f"{ours}.mixer.output.{kind}"
            yield f"{theirs}.layernorm_before.{kind}", f"{ours}.around_mixer.norm.{kind}"
            yield f"{theirs}.layernorm_after.{kind}", f"{ours}.around_feed_forward.norm.{kind}"
            yield f"{theirs}.intermediate.dense.{kind}", f"{ours}.feed_forward.up.{kind}"
            yield f"{theirs}.output.dense.{kind}", f"{ours}.feed_forward.down.{kind}"
    for kind in ("weight", "bias"):
        yield f"{prefix}layernorm.{kind}", f"encoder_norm.{kind}"


def _tensors(
    weights: ForeignWeights,
    bundle: ClassifyImagesBundle,
    prefix: str,
    config: ForeignConfig,
    labels: Labels,
    *,
    trained: bool,
) -> "dict[str, Tensor]":
    """The tensors under our names. All shapes are compared before the first is read."""
    import torch

    model: Any = bundle.model
    expected, width, outputs = expected_shapes(bundle), model.width, len(labels.names)
    biased = config.get("qkv_bias", bool, True)
    names = {ours: theirs for theirs, ours in _names(model.layers, prefix, biased=biased)}
    embeddings = f"{prefix}embeddings"
    patches = (width, bundle.pictures.channels, model.patch, model.patch)
    tokens = (1, *expected["front.table"])
    for name, shape in (
        *((theirs, expected[ours]) for ours, theirs in names.items()),
        (f"{embeddings}.patch_embeddings.projection.weight", patches),
        (f"{embeddings}.position_embeddings", tokens),
    ):
        weights.require(name, shape)
    tensors = {ours: weights.read(theirs, expected[ours]) for ours, theirs in names.items()}
    tensors["front.tokenizer.linear.weight"] = weights.read(
        f"{embeddings}.patch_embeddings.projection.weight", patches
    ).flatten(1)
    tensors["front.tokenizer.linear.bias"] = weights.read(f"{embeddings}.patch_embeddings.projection.bias", (width,))
    tensors["front.table"] = weights.read(f"{embeddings}.position_embeddings", tokens)[0]
    tensors["front.class_token"] = weights.read(f"{embeddings}.cls_token", (1, 1, width))[0, 0]
    for name, shape in expected.items():
        if name not in tensors and name.endswith(".bias"):
            tensors[name] = torch.zeros(shape)
    if trained:
        head = weights.read("classifier.weight", (outputs, width))[[*labels.order]]
        bias = weights.read("classifier.bias", (outputs,))[[*labels.order]]
    else:
        head, bias = new_head(outputs, width), torch.zeros(outputs)
    tensors["output"] = torch.cat([head, bias[:, None]], dim=1)
    return tensors
