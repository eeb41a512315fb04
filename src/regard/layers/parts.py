"""The parts of a network that a weight belongs to, by the modules that own it: attention, feed-forward, norms. No names are matched.

`train.lora.modules` and `train.lora.whole` name these parts.
"""

from collections.abc import Mapping

from torch import nn

from regard.layers.attention import CrossAttention, MultiHeadAttention
from regard.layers.block import Block
from regard.layers.embedding import TokenEmbedding
from regard.layers.feed_forward import FeedForward
from regard.layers.norm import NORMS
from regard.layers.recurrent import Cell, RecurrentStack
from regard.layers.roles import parameter_roles

ATTENTION_MAPS = {"query": "queries", "key": "keys", "value": "values", "output": "attention_output"}
"""The maps of multi-head attention and their parts."""


def weight_parts(network: nn.Module) -> dict[str, frozenset[str]]:
    """The parts of every parameter, by the names and in the order of `network.named_parameters()`."""
    parts: dict[nn.Parameter, set[str]] = {parameter: set() for parameter in network.parameters()}
    for module in network.modules():
        for part, owner in _owned(module):
            for parameter in owner.parameters():
                parts[parameter].add(part)
    roles = parameter_roles(network)
    for name, parameter in network.named_parameters():
        own = parts[parameter]
        if roles[name] == "matrix":
            own.add("linear")
        elif roles[name] == "vector" and name.rpartition(".")[2].startswith("bias") and "norms" not in own:
            own.add("biases")
    for parameter in _outputs(network):
        parts[parameter].add("output")
    return {name: frozenset(parts[parameter]) for name, parameter in network.named_parameters()}


def _owned(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """(part, module whose weights belong to it) for each part that a module declares."""
    if isinstance(module, MultiHeadAttention):
        kind = "cross_attention" if isinstance(module, CrossAttention) else "attention"
        maps = [(part, getattr(module, name)) for name, part in ATTENTION_MAPS.items()]
        return [(kind, module), *maps]
    if isinstance(module, Block):
        return [("attention", module.mixer)] if isinstance(module.mixer, nn.Module) else []
    if isinstance(module, (RecurrentStack, Cell)):
        return [("recurrent", module)]
    if isinstance(module, FeedForward):
        return [("feed_forward", module)]
    if isinstance(module, TokenEmbedding):
        return [("embeddings", module)]
    if isinstance(module, tuple(NORMS.values())):
        return [("norms", module)]
    return []


def _outputs(network: nn.Module) -> list[nn.Parameter]:
    """The weights and the bias that make outputs of hidden states. Where they are tied, those of the embedding."""
    own: Mapping[str, nn.Parameter | None] = dict(network._parameters)
    made = [own.get(name) for name in ("output", "output_bias", "bias")]
    table = getattr(network, "output_table", None)
    if callable(table):
        made.append(table())
    known = {id(parameter) for parameter in network.parameters()}
    return list({id(weight): weight for weight in made if weight is not None and id(weight) in known}.values())
