"""Explains what a Vision Transformer sees in one picture: its attention over the patches, and which of them decide.

- Attention of each head: how much the vector of the picture takes from each patch, through that head alone.
- Rollout: the attention of all layers joined, with the residual connections counted as half (Abnar and Zuidema 2020).
- Occlusion: how much the log-probability of the label falls when a patch gets the median colour of the picture (Zeiler and Fergus
  2014). It asks the network, not its weights: attention says where it looks, occlusion what matters.

Shapes: S tokens, L layers, h heads, r rows and c columns of patches.
"""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.pictures import encoded_png, picture_of_array, read_picture
from regard.errors import ConfigError, RegardError
from regard.explain.arrays import NamedArray
from regard.layers.patches import PatchProjection
from regard.models.vision import VisionTransformer
from regard.ops.probe import Probe
from regard.tasks.classify_images.classifier import PictureClassifier, check_pictures, is_path

OCCLUDED_AT_ONCE = 64
"""Pictures with one blanked patch that are read together."""


@dataclass(frozen=True, eq=False)
class PictureExplanation:
    """The explanation of one picture: its label and the maps behind it. Maps have the axes (row, column) of the patches."""

    picture: str
    """The path, or `array`."""
    png: str
    """The picture as the network reads it: PNG in base64."""
    size: tuple[int, int]
    """(width, height) of that picture in pixels."""
    label: str
    """The label that is explained."""
    predicted: str
    """The most probable label."""
    probabilities: dict[str, float]
    """The probability of every label."""
    heads: NamedArray | None
    """[layer, head, row, column] what each head contributes; a map sums to 1. None: a mixer without attention weights."""
    rollout: NamedArray | None
    """[row, column] the attention of all layers joined; sums to 1."""
    pooling: NamedArray | None
    """[row, column] the weights of attention pooling; None: another pooling."""
    occlusion: NamedArray
    """[row, column] how much the log-probability of the label falls without the patch, in nats; negative: it rises."""


def explain_picture(served: PictureClassifier, picture: Any, *, label: str | None = None) -> PictureExplanation:
    """Explain the label of one picture: a path of a PNG or JPEG file, or an array. label: another one than the most probable."""
    check_pictures([picture])
    network = served.network
    if not isinstance(network, VisionTransformer):
        raise RegardError(f"a network of type {type(network).__name__} cannot be explained; a Vision Transformer can")
    if label is not None and label not in served.labels:
        raise ConfigError(f"label {label!r}: the model knows {', '.join(served.labels)}")
    pixels = read_picture(picture) if is_path(picture) else picture_of_array(np.asarray(picture), "array")
    fitted = served.fit(pixels)
    rows, columns = network.front.grid
    with served.evaluating():
        device = next(network.parameters()).device
        source = served.tensor(fitted[None]).to(device)
        probe = Probe(optional=["encoder.*.self.weights", "pooling.weights"])
        log_p = network(source, probe).double().log_softmax(dim=-1)[0]
        place = int(log_p.argmax()) if label is None else served.labels.index(label)
        occlusion = log_p[place] - _occluded(network, source, place)
    attention = [probe[name][0] for name in probe if name.startswith("encoder.")]  # [h, S, S] of each layer
    pooled = probe["pooling.weights"][0] if "pooling.weights" in list(probe) else None
    whole = len(attention) == len(network.encoder)
    readers = _readers(network, pooled)
    extra = network.front.extra
    heads = [(readers @ weights)[:, extra:] for weights in attention]  # [h, r c]
    rollout = rolled_out(attention, readers)[extra:] if whole else None
    return PictureExplanation(
        picture=str(picture) if isinstance(picture, str | Path) else "array",
        png=base64.b64encode(encoded_png(fitted)).decode("ascii"),
        size=(served.pictures.width, served.pictures.height),
        label=served.labels[place],
        predicted=served.labels[int(log_p.argmax())],
        probabilities=dict(zip(served.labels, log_p.exp().tolist(), strict=True)),
        heads=_maps(torch.stack([_shares(layer) for layer in heads]), rows, columns, "layer", "head")
        if whole
        else None,
        rollout=None if rollout is None else _maps(_shares(rollout), rows, columns),
        pooling=None if pooled is None else _maps(pooled, rows, columns),
        occlusion=_maps(occlusion, rows, columns),
    )


def rolled_out(attention: list[Tensor], readers: Tensor) -> Tensor:
    """[S] readers times the product over the layers, the last first, of (A + I) / 2, with A the mean of the heads [h, S, S]."""
    result = readers
    for weights in reversed(attention):
        result = (result @ weights.mean(dim=0) + result) / 2
    return result


def _readers(network: VisionTransformer, pooled: Tensor | None) -> Tensor:
    """[S] how much the vector of the picture takes from each token after the last block; sums to 1."""
    tokens = network.front.tokens
    device = next(network.parameters()).device
    if pooled is not None:
        return pooled
    if network.front.extra:
        return torch.nn.functional.one_hot(torch.tensor(0, device=device), tokens).float()
    return torch.full((tokens,), 1 / tokens, device=device)  # of max pooling too, where it differs from unit to unit


def _shares(values: Tensor) -> Tensor:
    """Values that sum to 1 over the last axis: without what goes to a class token."""
    return values / values.sum(dim=-1, keepdim=True).clamp_min(1e-12)


def _maps(values: Tensor, rows: int, columns: int, *axes: str) -> NamedArray:
    return NamedArray.of(values.reshape(*values.shape[:-1], rows, columns), *axes, "row", "column")


def _occluded(network: VisionTransformer, source: Tensor, place: int) -> Tensor:
    """[r c] the log-probability of a label when each patch in turn has the median colour of the picture, often its background."""
    rows, columns = network.front.grid
    colour = source[0].flatten(1).median(dim=1).values[:, None, None]
    height, width = source.shape[2:]
    tokenizer = network.front.tokenizer
    if isinstance(tokenizer, PatchProjection):  # which leaves out an incomplete patch at the right and below
        height, width = rows * tokenizer.patch, columns * tokenizer.patch
    results = []
    cells = [(row, column) for row in range(rows) for column in range(columns)]
    for first in range(0, len(cells), OCCLUDED_AT_ONCE):
        several = cells[first : first + OCCLUDED_AT_ONCE]
        blanked = source.repeat(len(several), 1, 1, 1)
        for picture, (row, column) in zip(blanked, several, strict=True):
            top, left = row * height // rows, column * width // columns
            picture[:, top : (row + 1) * height // rows, left : (column + 1) * width // columns] = colour
        results.append(network(blanked).double().log_softmax(dim=-1)[:, place])
    return torch.cat(results)
