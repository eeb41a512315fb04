"""The encoder of a Transformer that says what stood at each place of a text: a masked language model (Devlin et al. 2019).

Its embedding and blocks have the names of a classifier's and of a translator's encoder, so that they can take over the weights.

Shapes: B batch, S source, D width, V outputs (the vocabulary without pad).
"""

from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.layers.embedding import token_embedding
from regard.layers.roles import Role
from regard.models.blocks import encoder_blocks, last_norm, relative_bias, rotary_positions, run_encoder, token_front
from regard.models.config import MaskedTransformerConfig
from regard.models.network import Learner, output_weights
from regard.ops.probe import Probe, within


class MaskedEncoder(Learner):
    """Front, bidirectional blocks and the projection of every place to the vocabulary."""

    roles: ClassVar[dict[str, Role]] = {"output": "table"}

    def __init__(self, config: MaskedTransformerConfig, vocabulary: int) -> None:
        super().__init__()
        self.source_pad = self.target_pad = vocabulary - 1
        self.source = token_front(config, token_embedding(vocabulary, config.width))
        self.encoder_bias = relative_bias(config, bidirectional=True)
        self.encoder = encoder_blocks(config, rotary_positions(config))
        self.encoder_norm = last_norm(config)
        self.output = None if config.tie else output_weights(self.target_pad, config.width)
        self.output_bias = nn.Parameter(torch.zeros(self.target_pad)) if config.output_bias else None

    def forward(self, source: Int[Tensor, "B S"], probe: Probe | None = None) -> Float[Tensor, "B S V"]:
        """The logits of each place. A name of the probe that fits nothing is a `ConfigError`."""
        hidden = self.hidden(source, source[:, :0], probe)
        if probe is not None:
            probe.require_matches()
        return self.project(hidden)

    def hidden(
        self, source: Int[Tensor, "B S"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Float[Tensor, "B S D"]:
        """The last hidden states, which `project` maps to logits. `target_in` is not read."""
        x, real = self.source(source, within(probe, "encoder"))
        x, _ = run_encoder(self.encoder, x, real, self.encoder_bias, probe)
        normed: Tensor = self.encoder_norm(x)
        return normed

    def output_offsets(self) -> Float[Tensor, " V"] | None:
        """The bias of the outputs; None: they have none."""
        return self.output_bias

    def output_table(self) -> Float[Tensor, "W D"]:
        """The weights of the outputs. If tied to the embedding, the last row is pad, which is no output."""
        return self.source.embedding.weight if self.output is None else self.output
