"""Hugging Face's names beside ours: activations, and the tensors of the BART family (BART, mBART, Marian, Pegasus). One table serves export
and import.
"""

from collections.abc import Iterator

from regard.interop.foreign_config import ForeignConfig

_OURS = {
    "relu": "relu",
    "gelu": "gelu",
    "swish": "silu",
    "silu": "silu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}
"""Hugging Face's names of activations -> ours, for an import."""
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "swish"}
"""Our names of activations -> Hugging Face's, for an export."""

_PARTS = (("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value"), ("out_proj", "output"))


def foreign_activation(config: ForeignConfig, key: str, default: str) -> str:
    """Our name of the activation at a key of a config. Refused is one that regard's networks do not have."""
    name = config.get(key, str, default)
    if name not in _OURS:
        raise config.refused(key, f"not one of {', '.join(_OURS)}")
    return _OURS[name]


def block_names(side: str, number: int) -> Iterator[tuple[str, str]]:
    """(their name, our name) of each linear map and norm of a block, without `.weight` and `.bias`. side: encoder or decoder."""
    theirs, ours = f"model.{side}.layers.{number}", f"{side}.{number}"
    attentions = [("self_attn", "mixer")] + [("encoder_attn", "cross")] * (side == "decoder")
    for their_attention, our_attention in attentions:
        for their_part, our_part in _PARTS:
            yield f"{theirs}.{their_attention}.{their_part}", f"{ours}.{our_attention}.{our_part}"
        yield f"{theirs}.{their_attention}_layer_norm", f"{ours}.around_{our_attention}.norm"
    yield f"{theirs}.fc1", f"{ours}.feed_forward.up"
    yield f"{theirs}.fc2", f"{ours}.feed_forward.down"
    yield f"{theirs}.final_layer_norm", f"{ours}.around_feed_forward.norm"


def stack_names(side: str, depth: int, *, last_norm: bool) -> Iterator[tuple[str, str]]:
    """(their name, our name) of all blocks of a stack, and of its last norm, which pre-norm stacks have."""
    for number in range(depth):
        yield from block_names(side, number)
    if last_norm:
        yield f"model.{side}.layer_norm", f"{side}_norm"


def embedding_norm_names(side: str, *, there: bool) -> Iterator[tuple[str, str]]:
    """(their name, our name) of the norm after the embeddings, which BART and mBART have."""
    if there:
        yield f"model.{side}.layernorm_embedding", f"{'source' if side == 'encoder' else 'target'}.norm"
