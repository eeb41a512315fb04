"""The parts of a network by name, and `train.freeze`: the parts that training leaves as they are.

A weight may have several names: a joint vocabulary has one embedding for both languages, and a tied output is the embedding. It is frozen
if a part names it under any of them. Frozen weights have no gradient and no memory in the optimiser. Dropout acts on frozen parts too.
"""

from collections.abc import Iterable, Sequence

from torch import nn

from regard.errors import ConfigError
from regard.layers.norm import NORMS
from regard.training.diagnose import recurrent_layer

EMBEDDING, HEAD, NORM = "embedding", "head", "norm"
WIDER: dict[str, tuple[str, ...]] = {
    EMBEDDING: ("source.embedding", "target.embedding", "embedding", "source.tokenizer", "front.tokenizer"),
    "encoder": ("encoder", "encoder_norm", "encoder_bias", "source.positions", "source.norm", "source.segment"),
    "decoder": ("decoder", "decoder_norm", "decoder_bias", "target.positions", "target.norm", "target.segment"),
    HEAD: ("output", "output_bias", "pooler"),
}
"""Part -> the modules and weights that it is. Any other module may be named by its own path, such as encoder.0.mixer."""
SYNONYMS = {"embeddings": EMBEDDING}


def trained_parameters(network: nn.Module) -> dict[str, nn.Parameter]:
    """The weights that training moves, by name, in the order of `named_parameters`."""
    return {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}


def block_of(name: str) -> tuple[str, int] | None:
    """The stack and the number of the block, or recurrent layer, that a weight belongs to: `("encoder", 3)`. None: to no block."""
    path = recurrent_layer(name) or name
    stack, _, rest = path.partition(".")
    number = rest.partition(".")[0]
    return (stack, int(number)) if number.isdigit() else None


def freeze(network: nn.Module, parts: Sequence[str]) -> None:
    """Freeze these parts. A `ConfigError` refuses a part that the network has not, and a network of which nothing is left to train."""
    names = _names(network)
    in_norms = _in_norms(network)
    for part in parts:
        matching = [one for one, own in names.items() if _is_named(part, own, in_norms)]
        if not matching:
            raise ConfigError(_complaint(part, names, in_norms))
        for parameter in matching:
            parameter.requires_grad_(False)
    if parts and not trained_parameters(network):
        raise ConfigError(f"train.freeze = {list(parts)}: nothing is left to train; leave out a part")


def note_on_frozen(network: nn.Module) -> str | None:
    """A note for the user on how much is trained; None: everything."""
    every = sum(parameter.numel() for parameter in network.parameters())
    trained = sum(parameter.numel() for parameter in trained_parameters(network).values())
    return None if trained == every else f"train.freeze leaves {trained:,} of {every:,} weights to train"


def _names(network: nn.Module) -> dict[nn.Parameter, list[str]]:
    """Every weight with all its names."""
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in network.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    return names


def _in_norms(network: nn.Module) -> frozenset[str]:
    """The names of the weights of norms."""
    kinds = tuple(NORMS.values())
    return frozenset(
        f"{path}.{name}"
        for path, module in network.named_modules()
        if isinstance(module, kinds)
        for name, _ in module.named_parameters()
    )


def _is_named(part: str, names: Iterable[str], in_norms: frozenset[str]) -> bool:
    part = SYNONYMS.get(part, part)
    if part == NORM:
        return any(name in in_norms for name in names)
    paths = WIDER.get(part, (part,))
    shown = [path for name in names for path in (name, recurrent_layer(name)) if path is not None]
    return any(name == path or name.startswith(f"{path}.") for name in shown for path in paths)


def _complaint(part: str, names: dict[nn.Parameter, list[str]], in_norms: frozenset[str]) -> str:
    own = list(names.values())
    if part == HEAD and any(_is_named(EMBEDDING, one, in_norms) for one in own):
        return (
            "train.freeze names 'head', but the outputs of this network are its embedding (model.tie); "
            "name 'embedding', which freezes both, or leave it out"
        )
    blocks: dict[str, int] = {}
    for block in filter(None, (block_of(name) for one in own for name in one)):
        blocks[block[0]] = max(blocks.get(block[0], 0), block[1])
    known = []
    for name in (*WIDER, NORM):
        if any(_is_named(name, one, in_norms) for one in own):
            known.append(name)
            if name in blocks:
                known += [f"{name}.0"] if not blocks[name] else [f"{name}.0 to {name}.{blocks[name]}"]
    return f"train.freeze: this network has no part {part!r}; its parts are {', '.join(known)}"
