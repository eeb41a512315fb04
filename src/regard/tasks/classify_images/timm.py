"""A bundle from the weights of a Vision Transformer of the library timm, to classify with or to train further (`--start`).

The settings come from the shapes of the tensors. timm itself is not needed: a state dict is names and tensors.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

from regard.bundle.bundle import save_bundle
from regard.bundle.pictures import PictureFormat
from regard.errors import ConfigError
from regard.models.config import VisionConfig
from regard.models.vision import weights_from_timm
from regard.tasks.classify_images.settings import ClassifyImagesBundle


def import_timm(
    state: Mapping[str, Tensor],
    out: str | Path,
    *,
    labels: Sequence[str],
    heads: int,
    height: int,
    width: int,
    mean: Sequence[float] = (0.5, 0.5, 0.5),
    deviation: Sequence[float] = (0.5, 0.5, 0.5),
) -> Path:
    """Write the bundle of a state dict to `out` and return its path.

    heads, height, width: of the network and its pictures, which the tensors do not tell. mean, deviation: what the pixels were
    normalised by, black 0 and white 1.
    """
    try:
        config = timm_config(state, heads)
        weights = weights_from_timm(state, config)
    except (KeyError, ValueError) as error:
        raise ConfigError(f"not the state dict of a plain VisionTransformer of timm: {error}") from None
    channels = state["patch_embed.proj.weight"].shape[1]
    if len(labels) != len(weights["output"]):
        raise ConfigError(
            f"{len(labels)} labels for a network with {len(weights['output'])} outputs; name each of them"
        )
    if config.tokens(height, width) != len(weights["front.table"]):
        raise ConfigError(
            f"pictures of {width} x {height} have {config.tokens(height, width)} tokens, and the network has positions for "
            f"{len(weights['front.table'])}; give the height and width that it was made for"
        )
    form = PictureFormat(
        height=height,
        width=width,
        channels=3 if channels == 3 else 1,
        mean=tuple(mean[:channels]),
        deviation=tuple(deviation[:channels]),
    )
    numbered = all(label.isdecimal() for label in labels)
    bundle = ClassifyImagesBundle(
        model=config, labels=tuple(labels), label_names=() if numbered else tuple(labels), pictures=form
    )
    save_bundle(Path(out), {name: value.contiguous() for name, value in weights.items()}, bundle, None)
    return Path(out)


def timm_config(state: Mapping[str, Tensor], heads: int) -> VisionConfig:
    """The settings of the network that a state dict of timm is of."""
    patches = state["patch_embed.proj.weight"]
    return VisionConfig(
        tokenizer="patches",
        patch=patches.shape[2],
        width=patches.shape[0],
        heads=heads,
        layers=len({name.split(".")[1] for name in state if name.startswith("blocks.")}),
        feed_forward=len(state["blocks.0.mlp.fc1.weight"]),
        pooling="class" if "cls_token" in state else "mean",
        norm_place="pooled" if "fc_norm.weight" in state else "tokens",
        norm_epsilon=1e-6,
        dropout=0.0,
    )
