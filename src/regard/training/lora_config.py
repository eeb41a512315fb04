"""The settings of LoRA: which weights get a low-rank addition, and of which rank. No torch."""

from typing import Annotated

from pydantic import Field

from regard.settings import OneOrMore, Settings

MAPS = {
    "linear": "every linear map but embeddings and output",
    "attention": "self-attention, or the mixer in its place",
    "cross_attention": "attention to the source",
    "queries": "the maps to queries, of both attentions",
    "keys": "the maps to keys, of both attentions",
    "values": "the maps to values, of both attentions",
    "attention_output": "the maps behind the heads, of both attentions",
    "feed_forward": "the feed-forward networks",
    "recurrent": "the cells of recurrent layers",
    "embeddings": "the tables of token vectors",
    "output": "the map from hidden states to tokens or labels",
}
"""Name in `train.lora.modules` -> the weights that it stands for."""

WHOLE = {
    "norms": "gains and biases of norms",
    "biases": "biases of linear maps",
    "embeddings": "the tables of token vectors",
    "output": "the map from hidden states to tokens or labels, with its bias",
}
"""Name in `train.lora.whole` -> the weights that it stands for."""


class LoraConfig(Settings):
    """LoRA: a map W is trained as W + (alpha / rank) B A, with A and B alone to learn (Hu et al. 2021). It needs train.start."""

    rank: int = Field(default=8, ge=1, le=4096)
    """The rows of A and columns of B."""
    alpha: float = Field(default=16.0, gt=0)
    """The weight of the addition: it is multiplied by alpha / rank."""
    modules: Annotated[str | tuple[str, ...], OneOrMore(MAPS)] = ("linear",)
    """The maps that are adapted; linear: all but embeddings and output. docs/lora.md lists the names."""
    whole: Annotated[str | tuple[str, ...], OneOrMore(WHOLE)] = ()
    """What is trained in full beside them: norms, biases, embeddings, output."""
    merge: bool = True
    """Whether bundles hold the sum, as any other; false: only A and B, a small adapter bundle that needs its base."""

    @property
    def module_names(self) -> tuple[str, ...]:
        """`modules` as a list."""
        return (self.modules,) if isinstance(self.modules, str) else self.modules

    @property
    def whole_names(self) -> tuple[str, ...]:
        """`whole` as a list."""
        return (self.whole,) if isinstance(self.whole, str) else self.whole
