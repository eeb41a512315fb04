"""`StepBlock`: a causal block of plain attention, prepared for decoding steps. It computes what `Block.step` computes, up to rounding.

A step has few rows, so that calls of modules, views and small products take most of its time. Here queries, keys and values are one
product, the scale is part of the query's weights, and the cache is filled in place.

Shapes: R rows, L rows of all places, P places of sentences, k hypotheses each, S source, D width, H heads, d head width, N keys.
"""

from collections.abc import Callable
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.attention import CrossAttention, MultiHeadAttention, SelfAttention
from regard.layers.block import Block
from regard.layers.feed_forward import FeedForward
from regard.layers.linear import Linear
from regard.layers.norm import LayerNorm, RMSNorm
from regard.layers.packed import PackedLinear
from regard.layers.prefix_attention import PrefixAttention
from regard.layers.residual import Residual
from regard.layers.shared_cache import LayerCache, Past, SharedCaches
from regard.ops.attention import softmax_of_steps

SourceCache = tuple[Float[Tensor, "h d S"], Float[Tensor, "h S d"]]
"""The keys, as columns, and values of the source for all heads of all places, h = P H."""

Turn = tuple[Float[Tensor, " d"], Float[Tensor, " d"]]
"""The rotation of one position: cosines, and sines with the sign of each element's partner."""

Norm = Callable[[Tensor], Tensor]


def prepared_norm(norm: nn.Module) -> Norm | None:
    """A norm without calls of modules; None: it is another one than those of the table."""
    if type(norm) is nn.Identity:
        return lambda x: x
    weight = getattr(norm, "weight", None)
    if type(norm) is LayerNorm:
        shape, bias, epsilon = norm.normalized_shape, norm.bias, norm.eps
        return lambda x: torch.layer_norm(x, shape, weight, bias, epsilon)
    if type(norm) is RMSNorm:
        size, epsilon = list(norm.weight.shape), norm.epsilon
        return lambda x: F.rms_norm(x, size, weight, epsilon)
    return None


def can_prepare(block: Block) -> bool:
    """Whether the block is made of the layers of this house, with plain attention whose scores do not depend on the places of keys."""
    attentions = [(block.mixer, (SelfAttention, PrefixAttention)), (block.cross, (CrossAttention,))]
    residuals = [block.around_mixer, block.around_feed_forward, *([] if block.cross is None else [block.around_cross])]
    return (
        type(block) is Block
        and all(module is None or (type(module) in kinds and _is_plain(module)) for module, kinds in attentions)
        and type(block.feed_forward) is FeedForward
        and all(type(around) is Residual and prepared_norm(around.norm) is not None for around in residuals)
    )


def _is_plain(attention: object) -> bool:
    assert isinstance(attention, MultiHeadAttention)
    return attention.score is None and isinstance(attention.query, Linear) and isinstance(attention.key, Linear)


class StepBlock:
    """The weights of a block for single positions. They are copies where they are joined or scaled."""

    def __init__(self, block: Block) -> None:
        assert can_prepare(block)
        own = cast(SelfAttention, block.mixer)
        query, key = cast(Linear, own.query), cast(Linear, own.key)
        self._heads = own.heads
        scale = (own.value.out_features // own.heads) ** -0.5
        self._own = PackedLinear(
            torch.cat([query.weight * scale, key.weight, own.value.weight]),
            torch.cat([query.bias * scale, key.bias, own.value.bias]),
        )
        self._own_output = _packed(own.output)
        self._enter_own, self._join_own = _residual(block.around_mixer)
        self._looks_in_mixer = isinstance(own, PrefixAttention)
        cross, around = block.cross, block.around_cross
        if cross is not None and around is not None:
            self._look = PackedLinear(cross.query.weight * scale, cross.query.bias * scale)
            self._look_output = _packed(cross.output)
            self._enter_look, self._join_look = _residual(around)
        feed = block.feed_forward
        self._up, self._down = _packed(feed.up), _packed(feed.down)
        self._gate = None if feed.gate is None else _packed(feed.gate)
        self._activation = feed.activation
        self._enter_feed, self._join_feed = _residual(block.around_feed_forward)

    def step(
        self,
        x: Float[Tensor, "R D"],
        cache: LayerCache,
        caches: SharedCaches,
        turn: Turn | None,
        source: SourceCache | None = None,
        source_mask: Float[Tensor, "P 1 1 S"] | None = None,
    ) -> Float[Tensor, "R D"]:
        """The block for one new position of each hypothesis, whose keys and values go to the end of the cache."""
        past, beside = caches.past, source if self._looks_in_mixer else None
        x = self._join_own(x, self._attend(self._enter_own(x), cache, caches.filled, past, turn, beside, source_mask))
        if source is not None and beside is None:
            x = self._join_look(x, self._attend_source(self._enter_look(x), past, source, source_mask))
        entered = self._enter_feed(x)
        inner = self._activation((self._gate or self._up)(entered))
        if self._gate is not None:
            inner = inner * self._up(entered)
        return self._join_feed(x, self._down(inner))

    def _attend(
        self,
        x: Float[Tensor, "R D"],
        cache: LayerCache,
        filled: int,
        past: Past,
        turn: Turn | None,
        source: SourceCache | None,  # that is looked at under the same softmax
        source_mask: Float[Tensor, "P 1 1 S"] | None,
    ) -> Float[Tensor, "R D"]:
        places, hypotheses, heads = past.size, past.hypotheses, self._heads
        parts = past.spread(self._own(x)).view(places, hypotheses, 3, heads, -1)
        new = cache.pairs.narrow(3, filled - hypotheses, hypotheses)  # [2, P, H, k, d]
        if turn is None:
            query = parts[:, :, 0]  # [P, k, H, d]
            new.copy_(parts[:, :, 1:].permute(2, 0, 3, 1, 4))
        else:
            query, key = rotated(parts[:, :, :2], turn).unbind(2)
            new[0].copy_(key.transpose(1, 2))
            new[1].copy_(parts[:, :, 2].transpose(1, 2))
        query = query.transpose(1, 2).reshape(places * heads, hypotheses, -1)
        scores = torch.bmm(query, cache.keys.narrow(1, 0, filled).transpose(1, 2))
        if past.hidden is not None:
            scores.view(places, heads, hypotheses, filled).add_(past.hidden[:, None])
        values = cache.values.narrow(1, 0, filled)
        if source is None:
            context = torch.bmm(softmax_of_steps(scores), values)
        else:
            theirs = self._source_scores(query, source[0], past, source_mask)
            weights = softmax_of_steps(torch.cat([theirs, scores], dim=2))
            context = torch.bmm(weights[..., : theirs.shape[2]], source[1])
            context.baddbmm_(weights[..., theirs.shape[2] :], values)
        return self._own_output(past.collect(_joined(context, past, heads)))

    def _source_scores(
        self,
        query: Float[Tensor, "h k d"],
        keys: Float[Tensor, "h d S"],
        past: Past,
        mask: Float[Tensor, "P 1 1 S"] | None,
    ) -> Float[Tensor, "h k S"]:
        scores = torch.bmm(query, keys)
        if mask is not None:
            scores.view(past.size, self._heads, past.hypotheses, -1).add_(mask)
        return scores

    def _attend_source(
        self,
        x: Float[Tensor, "R D"],
        past: Past,
        source: SourceCache,
        mask: Float[Tensor, "P 1 1 S"] | None,
    ) -> Float[Tensor, "R D"]:
        places, hypotheses, heads = past.size, past.hypotheses, self._heads
        keys, values = source
        query = past.spread(self._look(x)).view(places, hypotheses, heads, -1).transpose(1, 2)
        scores = self._source_scores(query.reshape(places * heads, hypotheses, -1), keys, past, mask)
        context = torch.bmm(softmax_of_steps(scores), values)
        return self._look_output(past.collect(_joined(context, past, heads)))


def rotated(x: Float[Tensor, "... d"], turn: Turn) -> Float[Tensor, "... d"]:
    """`ops.positions.rotate` for one position."""
    cosines, sines = turn
    return torch.addcmul(x * cosines, x.roll(x.shape[-1] // 2, dims=-1), sines)


def _joined(context: Float[Tensor, "h k d"], past: Past, heads: int) -> Float[Tensor, "L D"]:
    """The contexts of all heads, one after the other."""
    if past.hypotheses == 1:
        return context.view(past.size, -1)
    by_head = context.view(past.size, heads, past.hypotheses, -1)
    return by_head.transpose(1, 2).reshape(past.size * past.hypotheses, -1)


def _packed(linear: nn.Linear) -> PackedLinear:
    return PackedLinear(linear.weight, linear.bias)


def _residual(around: Residual) -> tuple[Norm, Callable[[Tensor, Tensor], Tensor]]:
    """`enter` and `join` of a residual connection without dropout."""
    norm = prepared_norm(around.norm)
    assert norm is not None
    if around.pre_norm:
        return norm, torch.add
    return _unchanged, lambda x, output: norm(x + output)


def _unchanged(x: Tensor) -> Tensor:
    return x
