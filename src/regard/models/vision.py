"""The Vision Transformer: front of patches, blocks, pooling, one logit for each label.

The blocks are those of every Transformer here: patches are its words. `weights_from_timm` reads the layout of the library timm.

Shapes: B batch, C channels, H height, W width, S tokens of a picture, D width, L labels.
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.layers.dropout import Dropout
from regard.layers.pooling import POOLINGS, AttentionPooling
from regard.layers.roles import Role
from regard.models.blocks import encoder_blocks, last_norm, patch_front
from regard.models.config import VisionConfig
from regard.models.network import ClassifierNetwork, output_weights
from regard.ops.probe import Probe, within


class VisionTransformer(ClassifierNetwork):
    """A classifier of pictures. Its vector of a picture ends in a 1, so that the last column of `output` is the bias of the labels."""

    roles: ClassVar[dict[str, Role]] = {"output": "table"}

    def __init__(self, config: VisionConfig, height: int, width: int, channels: int, labels: int) -> None:
        super().__init__()
        config.check_size(height, width)
        self.target_pad = labels
        self.front = patch_front(
            config,
            height,
            width,
            channels,
            positions=config.positions,
            class_token=config.pooling == "class",
        )
        stack = config.stack(self.front.tokens)
        self.encoder = encoder_blocks(stack, None)
        self.norm_place = config.norm_place
        self.encoder_norm = last_norm(stack)
        self.pooling = config.pooling
        self.attention_pooling = AttentionPooling(config.width) if config.pooling == "attention" else None
        self.dropout = Dropout(config.dropout)
        self.output = output_weights(labels, config.width + 1)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin without a bias of the labels."""
        with torch.no_grad():
            self.output[:, -1] = 0.0

    def hidden(
        self,
        source: Float[Tensor, "B C H W"],
        target_in: Int[Tensor, "B T"] | Float[Tensor, "B *_"],
        probe: Probe | None = None,
    ) -> Float[Tensor, "B _ D"]:
        """The vector of each picture, [B, 1, D + 1]."""
        x, real = self.front(source, within(probe, "encoder"))
        for number, block in enumerate(self.encoder):
            x = block(x, probe=within(probe, f"encoder.{number}"))
        if self.norm_place == "tokens":
            x = self.encoder_norm(x)
        if self.attention_pooling is not None:
            pooled: Tensor = self.attention_pooling(x, real, within(probe, "pooling"))
        else:
            pooled = POOLINGS[self.pooling](x, real)
        if self.norm_place == "pooled":
            pooled = self.encoder_norm(pooled)
        if probe is not None:
            pooled = probe.see("pooled", pooled)
        return F.pad(self.dropout(pooled), (0, 1), value=1.0)[:, None]

    def forward(self, source: Float[Tensor, "B C H W"], probe: Probe | None = None) -> Float[Tensor, "B L"]:
        """The logits of the labels. A name of the probe that fits nothing is a `ConfigError`."""
        hidden = self.hidden(source, source[:, :0, 0, 0], probe)
        if probe is not None:
            probe.require_matches()
        return self.project(hidden)[:, 0]

    def output_table(self) -> Float[Tensor, "L D"]:
        """The weights of the labels, [L, D + 1]. The last column is their bias."""
        return self.output


def weights_from_timm(state: Mapping[str, Tensor], config: VisionConfig) -> dict[str, Tensor]:
    """The weights of a Vision Transformer of the library timm, under our names.

    A `ValueError` names a tensor that is missing or has no place. `config` must have tokenizer patches, learned
    positions, pre-norm layer norms with epsilon 1e-6, and class or mean pooling.
    """
    left = dict(state)

    def take(name: str) -> Tensor:
        if name not in left:
            raise ValueError(f"no tensor {name!r} in the state dict of timm; is it a plain VisionTransformer?")
        return left.pop(name)

    table = take("pos_embed")[0]
    patches = take("patch_embed.proj.weight")
    weights = {
        "front.tokenizer.linear.weight": patches.flatten(1),
        "front.tokenizer.linear.bias": take("patch_embed.proj.bias"),
    }
    if config.pooling == "class":
        weights["front.class_token"] = take("cls_token")[0, 0]
    weights["front.table"] = table
    for number in range(config.layers):
        theirs, ours = f"blocks.{number}", f"encoder.{number}"
        for kind in ("weight", "bias"):
            for part, value in zip(("query", "key", "value"), take(f"{theirs}.attn.qkv.{kind}").chunk(3), strict=True):
                weights[f"{ours}.mixer.{part}.{kind}"] = value
            weights[f"{ours}.mixer.output.{kind}"] = take(f"{theirs}.attn.proj.{kind}")
            weights[f"{ours}.around_mixer.norm.{kind}"] = take(f"{theirs}.norm1.{kind}")
            weights[f"{ours}.around_feed_forward.norm.{kind}"] = take(f"{theirs}.norm2.{kind}")
            weights[f"{ours}.feed_forward.up.{kind}"] = take(f"{theirs}.mlp.fc1.{kind}")
            weights[f"{ours}.feed_forward.down.{kind}"] = take(f"{theirs}.mlp.fc2.{kind}")
    last = "norm" if config.norm_place == "tokens" else "fc_norm"
    weights |= {f"encoder_norm.{kind}": take(f"{last}.{kind}") for kind in ("weight", "bias")}
    weights["output"] = torch.cat([take("head.weight"), take("head.bias")[:, None]], dim=1)
    if left:
        raise ValueError(f"{sorted(left)[0]!r} of timm has no place in this network ({len(left)} tensors)")
    return weights
